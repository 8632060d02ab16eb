# SPDX-License-Identifier: MIT
# For Spack. make recipes fills in what stands between @.
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Cgtpgen(MakefilePackage):
    """Source code, CUDA or C, for O(3)-equivariant tensor products."""

    homepage = "@URL@"
    url = "@URL@"

    license("MIT")

    version("@VERSION@", sha256="@SHA256@")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("libyaml")

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}", "INSTALL_LIST=")
