# SPDX-License-Identifier: MIT
"""Builds the products that cgtpgen wrote into a folder, with --emit=header,source,torch, as a package of Python.

The folder's setup.py calls `setup`; `python3 cgtp_build.py FOLDER INTO` makes the package's folder INTO without pip.
A product is NAME.py and, for CPUs, libNAME_cpu.so from NAME_kernel.c, for CUDA libNAME_cuda.so from NAME_kernel.cu.
Sources of the second backend lie in a folder of their own inside the first, such as FOLDER/cuda. Needed are a compiler
for C and C++, or nvcc, and the headers of PyTorch, 2.10 or later. The libraries work with every later PyTorch.

Variables of the environment:

    CC, CXX, CFLAGS     compilers, and how to optimise: cc, c++, -O3 (-O3 -march=native for this machine alone)
    NVCC, NVCCFLAGS     nvcc, -O3
    CGTP_CUDA_ARCHS     what to compile for, as 80;90; without it for the GPU that is here, or 80;90
    CGTP_TORCH          the folder of PyTorch, where it is not importable
    CGTP_PACKAGE        the package's name, where it is not the folder's
    MAX_JOBS            compilers at a time: as many as there are cores
"""
from __future__ import annotations

import concurrent.futures
import glob
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys

RUNTIME = os.path.dirname(os.path.abspath(__file__))
PYTHON_RUNTIME = ("cgtp_torch.py", "cgtp_torch_ops.py")
KERNEL = {"cpu": ", portable C.", "cuda": ", CUDA."}  # how first lines of kernels' files end


def torch_folder() -> str:
    """Where PyTorch is installed: also in an isolated build, which hides it."""
    if "CGTP_TORCH" in os.environ:
        return os.environ["CGTP_TORCH"]
    find = "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    spec = importlib.util.find_spec("torch")
    folder = spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else \
        subprocess.run([sys.executable, "-I", "-c", find], stdout=subprocess.PIPE, text=True).stdout.strip()
    if not folder:
        sys.exit("PyTorch is not found: install it, build with --no-build-isolation, or set CGTP_TORCH to its folder")
    return folder


def first_line(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.readline().rstrip()


def products(folder: str) -> list[str]:
    """Their names."""
    names = sorted(os.path.basename(path)[:-len("_torch.cpp")] for path in glob.glob(f"{folder}/*_torch.cpp"))
    if not names:
        sys.exit(f"{folder} has no product for PyTorch: write it with cgtpgen --emit=header,source,torch")
    return names


def kernels(folder: str, name: str, device: str) -> list[str]:
    """The sources of a product's kernels, known by their first lines."""
    suffix = ".cu" if device == "cuda" else ".c"
    return sorted(path for path in glob.glob(f"{glob.escape(folder)}/{name}_*{suffix}")
                  if re.fullmatch(rf"/\* {name}: \w+{re.escape(KERNEL[device])}", first_line(path)))


def cuda_targets() -> list[str]:
    archs = os.environ.get("CGTP_CUDA_ARCHS")
    if not archs:
        try:
            here = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        except OSError:
            here = ""
        archs = ";".join(sorted(set(here.replace(".", "").split()))) or "80;90"
    return [f"-gencode=arch=compute_{a},code=sm_{a}" for a in re.split("[;, ]+", archs)]


class Builder:
    """Compiles; objects are kept by what they are made of."""

    def __init__(self, temporary: str):
        os.makedirs(temporary, exist_ok=True)
        self.temporary, self.torch = temporary, torch_folder()
        flags = shlex.split(os.environ.get("CFLAGS", "-O3"))
        self.cc = [*shlex.split(os.environ.get("CC", "cc")), *flags, "-fPIC"]
        self.cxx = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", *flags, "-fPIC",
                    "-isystem", f"{self.torch}/include"]
        self.nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        self.openmp = ["-fopenmp"] if self.has_openmp() else []
        self.runtime = hashlib.sha256()
        for path in sorted(glob.glob(f"{RUNTIME}/*.[hc]")):
            with open(path, "rb") as file:
                self.runtime.update(file.read())

    def has_openmp(self) -> bool:
        test = subprocess.run([*self.cc, "-fopenmp", "-shared", "-x", "c", "-o", f"{self.temporary}/openmp.so", "-"],
                              input="#include <omp.h>\nint cgtp(void) { return omp_get_max_threads(); }\n", text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return test.returncode == 0

    def run(self, command: list[str]) -> None:
        print(shlex.join(command) + "\n", end="", flush=True)
        subprocess.run(command, check=True)

    def compiler(self, source: str, device: str) -> list[str]:
        if source.endswith(".cu"):
            return [self.nvcc, "-std=c++17", *shlex.split(os.environ.get("NVCCFLAGS", "-O3")), *cuda_targets(),
                    "-Xcompiler=-fPIC"]
        return self.cxx if source.endswith(".cpp") else [*self.cc, *(self.openmp if device == "cpu" else [])]

    def object_of(self, job: tuple[str, list[str]]) -> str:
        source, command = job
        state = self.runtime.copy()
        state.update(shlex.join(command).encode())
        for path in (source, *sorted(glob.glob(f"{glob.escape(os.path.dirname(source))}/*.h"))):
            with open(path, "rb") as file:
                state.update(file.read())
        made = f"{self.temporary}/{os.path.basename(source)}.{state.hexdigest()[:16]}.o"
        if not os.path.exists(made):
            self.run([*command, f"-I{os.path.dirname(source)}", f"-I{RUNTIME}", "-c", "-o", f"{made}.new", source])
            os.replace(f"{made}.new", made)
        return made

    def library(self, pool: concurrent.futures.Executor, folder: str, name: str, device: str, defined: bool,
                into: str) -> str:
        """Builds a product's library for a device; defined: that of another device defines the operators."""
        jobs = [(path, self.compiler(path, device)) for path in
                (*kernels(folder, name, device), f"{folder}/{name}.c", f"{RUNTIME}/cgtp.c")]
        jobs.append((f"{folder}/{name}_torch.cpp", [*self.cxx, *["-DCGTP_TORCH_NO_DEF"] * defined]))
        objects = list(pool.map(self.object_of, jobs))
        made, libraries = f"{into}/lib{name}_{device}.so", [f"-L{self.torch}/lib", "-ltorch_cpu"]
        if device == "cuda":
            self.run([self.nvcc, "-shared", "-Xlinker=-Bsymbolic", "-o", made, *objects, *libraries, "-ltorch_cuda"])
        else:
            self.run([*shlex.split(os.environ.get("CXX", "c++")), "-shared", "-Wl,-Bsymbolic", *self.openmp, "-o", made,
                      *objects, *libraries])
        return made


def build(folder: str, into: str, temporary: str) -> None:
    """Makes the folder of a package."""
    folder = os.path.abspath(folder)
    os.makedirs(into, exist_ok=True)
    builder = Builder(temporary)
    places = [folder, *sorted(path[:-1] for path in glob.glob(f"{glob.escape(folder)}/*/"))]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("MAX_JOBS", os.cpu_count() or 1))) as pool:
        for name in products(folder):
            found = [(place, device) for device in KERNEL
                     for place in [p for p in places if kernels(p, name, device)][:1]]
            if not found:
                sys.exit(f"{folder} has no kernels of {name}: write them with cgtpgen --emit=header,source,torch")
            for number, (place, device) in enumerate(found):
                builder.library(pool, place, name, device, number > 0, into)
            for path in (f"{folder}/{name}{suffix}" for suffix in (".py", ".h", ".hpp")):
                if os.path.exists(path):
                    shutil.copy(path, into)
    for path in (f"{RUNTIME}/{name}" for name in (*PYTHON_RUNTIME, "cgtp.h")):
        shutil.copy(path, into)
    with open(f"{into}/py.typed", "w"):
        pass
    with open(f"{into}/__init__.py", "w") as file:
        file.write(f'"""Products of cgtpgen for PyTorch: modules {", ".join(products(folder))}."""\n')


def package_name(folder: str) -> str:
    name = os.environ.get("CGTP_PACKAGE") or os.path.basename(os.path.abspath(folder))
    return re.sub(r"\W", "_", name)


def setup(folder: str) -> None:
    """What the setup.py of a folder does."""
    import setuptools
    from setuptools.command.bdist_wheel import bdist_wheel
    from setuptools.command.build_py import build_py

    name = package_name(folder)

    class Build(build_py):
        def run(self) -> None:
            build(folder, os.path.join(self.build_lib, name), os.path.join(folder, "build", "objects"))

    class Wheel(bdist_wheel):
        """The libraries know nothing of Python: one wheel is for all its versions."""

        def get_tag(self) -> tuple[str, str, str]:
            return "py3", "none", super().get_tag()[2]

    class Binary(setuptools.Distribution):
        def has_ext_modules(self) -> bool:
            return True

    with open(f"{folder}/{products(folder)[0]}.py") as file:
        version = re.search(r"Generated by cgtpgen (\S+)", file.read())
    setuptools.setup(name=name, version=version[1] if version else "0", packages=[name], package_dir={name: folder},
                     distclass=Binary, cmdclass={"build_py": Build, "bdist_wheel": Wheel},
                     description="Tensor products, generated by cgtpgen", python_requires=">=3.9",
                     install_requires=["torch>=2.10"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} FOLDER INTO")
    build(sys.argv[1], sys.argv[2], os.path.join(sys.argv[1], "build", "objects"))
