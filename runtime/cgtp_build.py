# SPDX-License-Identifier: MIT
"""Builds the products that cgtpgen wrote into a folder, with --emit=header,source,torch or jax, as a package of Python.

The folder's setup.py calls `setup`; `python3 cgtp_build.py FOLDER INTO` makes the package's folder INTO without pip, or
adds products to it; OBJECTS, a third argument, is a folder that keeps what is compiled.
A product is NAME.py for PyTorch, NAME_jax.py for JAX, and libraries: for CPUs from NAME_kernel.c, libNAME_cpu.so and
libNAME_cpu_jax.so, for CUDA from NAME_kernel.cu, libNAME_cuda.so and libNAME_cuda_jax.so. Sources of the second backend
lie in a folder of their own inside the first, such as FOLDER/cuda. Needed are a compiler for C and C++, or nvcc, and the
headers of PyTorch, 2.10 or later, or of JAX, 0.10 or later. The libraries know no version of Python.

Variables of the environment:

    CC, CXX, CFLAGS     compilers, and how to optimise: cc, c++, -O3 (-O3 -march=native for this machine alone)
    NVCC, NVCCFLAGS     nvcc, -O3
    CGTP_CUDA_ARCHS     what to compile for, as 80;90; without it for the GPU that is here, or 80;90
    CGTP_TORCH          the folder of PyTorch, where it is not importable
    CGTP_JAX            the folder of jaxlib, likewise
    CGTP_PACKAGE        the package's name, where it is not the folder's
    CGTP_SCRIPT         1: modules can be given to torch.jit.script (takes a minute; for the PyTorch that is here alone)
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
from typing import NamedTuple

RUNTIME = os.path.dirname(os.path.abspath(__file__))
MADE = '"""Products of cgtpgen'  # how a package begins that is made here, or by cgtpgen.models
KERNEL = {"cpu": ", portable C.", "cuda": ", CUDA."}  # how first lines of kernels' files end
DEVICE_RUNTIME = {"cpu": [], "cuda": [f"{RUNTIME}/cgtp_graph.cu", f"{RUNTIME}/cgtp_guard.cu"]}


class Framework(NamedTuple):
    words: str                       # what people call it
    package: str                     # which has its headers
    variable: str                    # of the environment, that says where that is
    source: str                      # NAME and this: what is compiled for it
    module: str                      # NAME and this
    library: str
    flags: tuple[str, ...]           # of the compiler
    link: dict[str, tuple[str, ...]]  # of the linker, by device
    runtime: tuple[str, ...]         # what modules import
    requires: str


FRAMEWORKS = {
    "torch": Framework("PyTorch", "torch", "CGTP_TORCH", "_torch.cpp", ".py", "lib{name}_{device}.so", (),
                       {"cpu": ("-ltorch_cpu",), "cuda": ("-ltorch_cpu", "-ltorch_cuda")},
                       ("cgtp_product.py", "cgtp_torch.py", "cgtp_torch_graph.py", "cgtp_torch_ops.py", "cgtp_torch_script.py",
                        "cgtp_scripted.py", "cgtp_wigner.py"), "torch>=2.10"),
    "jax": Framework("JAX", "jaxlib", "CGTP_JAX", "_jax.cpp", "_jax.py", "lib{name}_{device}_jax.so",
                     ("-fpermissive",),  # for which XLA's headers ask GCC
                     {"cpu": (), "cuda": ()},
                     ("cgtp_product.py", "cgtp_jax.py", "cgtp_jax_ops.py"), "jax>=0.10"),
}


def package_folder(framework: Framework) -> str:
    """Where a framework is installed: also in an isolated build, which hides it."""
    if framework.variable in os.environ:
        return os.environ[framework.variable]
    find = f"import importlib.util as u; s = u.find_spec('{framework.package}'); " \
           f"print(s.submodule_search_locations[0] if s else '')"
    spec = importlib.util.find_spec(framework.package)
    folder = spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else \
        subprocess.run([sys.executable, "-I", "-c", find], stdout=subprocess.PIPE, text=True).stdout.strip()
    if not folder:
        sys.exit(f"{framework.words} is not found: install it, build with --no-build-isolation, or set {framework.variable} "
                 f"to the folder of {framework.package}")
    return folder


def first_line(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.readline().rstrip()


def products(folder: str) -> dict[str, list[Framework]]:
    """Their names, and for which frameworks each is."""
    found: dict[str, list[Framework]] = {}
    for framework in FRAMEWORKS.values():
        for path in glob.glob(f"{glob.escape(folder)}/*{framework.source}"):
            found.setdefault(os.path.basename(path)[:-len(framework.source)], []).append(framework)
    if not found:
        sys.exit(f"{folder} has no product for PyTorch or JAX: write it with cgtpgen --emit=header,source,torch or jax")
    return dict(sorted(found.items()))


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
        self.temporary = temporary
        flags = shlex.split(os.environ.get("CFLAGS", "-O3"))
        self.cc = [*shlex.split(os.environ.get("CC", "cc")), *flags, "-fPIC"]
        self.cxx = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", *flags, "-fPIC"]
        self.nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        self.openmp = ["-fopenmp"] if self.has_openmp() else []
        self.objects: dict[str, concurrent.futures.Future[str]] = {}
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

    def object_of(self, source: str, command: list[str]) -> str:
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

    def compile(self, pool: concurrent.futures.Executor, framework: Framework, folder: str, name: str, device: str,
                defined: bool) -> list[concurrent.futures.Future[str]]:
        """Begins to compile a product's sources for a device; defined: the library of another one defines PyTorch's
        operators."""
        jobs = [(path, self.compiler(path, device)) for path in
                (*kernels(folder, name, device), f"{folder}/{name}.c", f"{RUNTIME}/cgtp.c", f"{RUNTIME}/cgtp_check.c", *DEVICE_RUNTIME[device])]
        macros = ["-DCGTP_TORCH_NO_DEF"] if defined and framework is FRAMEWORKS["torch"] else []
        jobs.append((f"{folder}/{name}{framework.source}",
                     [*self.cxx, *framework.flags, "-isystem", f"{package_folder(framework)}/include", *macros]))
        return [self.begun(pool, *job) for job in jobs]

    def begun(self, pool: concurrent.futures.Executor, source: str, command: list[str]) -> concurrent.futures.Future[str]:
        """The object of a source, which several libraries may have."""
        key = shlex.join([*command, source])
        if key not in self.objects:
            self.objects[key] = pool.submit(self.object_of, source, command)
        return self.objects[key]

    def link(self, framework: Framework, name: str, device: str, objects: list[str], into: str) -> None:
        made = f"{into}/{framework.library.format(name=name, device=device)}"
        flags = framework.link[device]
        libraries = [f"-L{package_folder(framework)}/lib", *flags] if flags else []
        if device == "cuda":
            self.run([self.nvcc, "-shared", "-Xlinker=-Bsymbolic", "-o", made, *objects, *libraries])
        else:
            self.run([*shlex.split(os.environ.get("CXX", "c++")), "-shared", "-Wl,-Bsymbolic", *self.openmp, "-o", made,
                      *objects, *libraries])


    def script(self, into: str) -> None:
        """The operators of scripted modules, which are for one PyTorch alone."""
        torch = package_folder(FRAMEWORKS["torch"])
        with open(f"{torch}/version.py", "rb") as file:
            version = hashlib.sha256(file.read()).hexdigest()[:16]  # another PyTorch in the same folder is another object
        made = self.object_of(f"{RUNTIME}/cgtp_script.cpp", [
            *("-std=c++20" if flag.startswith("-std") else flag for flag in self.cxx), f"-DCGTP_TORCH_VERSION={version}",
            "-isystem", f"{torch}/include", "-isystem", f"{torch}/include/torch/csrc/api/include"])
        self.run([*shlex.split(os.environ.get("CXX", "c++")), "-shared", "-o", f"{into}/libcgtp_script.so", made,
                  f"-L{torch}/lib", "-ltorch_cpu", "-lc10"])


def refuse_others(folder: str, into: str) -> None:
    """Ends where a file that is somebody's own would be written over: it has not the words of those that are generated."""
    names = ["__init__.py"] + [name + suffix for name, frameworks in products(folder).items()
                               for suffix in (".h", ".hpp", *(framework.module for framework in frameworks))]
    for path in (f"{into}/{name}" for name in names if os.path.exists(f"{into}/{name}")):
        with open(path, errors="replace") as file:
            head = file.read(1000)
        if head.strip() and "Generated by cgtpgen" not in head and not head.startswith(MADE):
            sys.exit(f"{path} was not made by cgtpgen, and would be lost: name another folder, or move it")


def build(folder: str, into: str, temporary: str) -> None:
    """Makes the folder of a package."""
    folder = os.path.abspath(folder)
    refuse_others(folder, into)
    os.makedirs(into, exist_ok=True)
    builder = Builder(temporary)
    places = [folder, *sorted(path[:-1] for path in glob.glob(f"{glob.escape(folder)}/*/"))]
    libraries: list[tuple[Framework, str, str, list[concurrent.futures.Future[str]]]] = []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("MAX_JOBS", os.cpu_count() or 1))) as pool:
        for name, frameworks in products(folder).items():
            for framework in frameworks:
                found = [(place, device) for device in KERNEL
                         for place in [p for p in places if kernels(p, name, device) and
                                       os.path.exists(f"{p}/{name}{framework.source}")][:1]]
                if not found:
                    sys.exit(f"{folder} has no kernels of {name}: write them with cgtpgen --emit=header,source,..")
                for number, (place, device) in enumerate(found):
                    libraries.append((framework, name, device,
                                      builder.compile(pool, framework, place, name, device, number > 0)))
            for suffix in (".h", ".hpp", *(framework.module for framework in frameworks)):
                if os.path.exists(f"{folder}/{name}{suffix}"):
                    shutil.copy(f"{folder}/{name}{suffix}", into)
        for framework, name, device, objects in libraries:
            builder.link(framework, name, device, [made.result() for made in objects], into)
    if FRAMEWORKS["torch"] in used(folder) and os.environ.get("CGTP_SCRIPT", "0") not in ("", "0"):
        builder.script(into)
    for name in sorted({"cgtp.h"}.union(*(framework.runtime for framework in used(folder)))):
        shutil.copy(f"{RUNTIME}/{name}", into)
    with open(f"{into}/py.typed", "w"):
        pass
    modules = sorted(name + framework.module[:-3] for name, its in products(folder).items() for framework in its)
    with open(f"{into}/__init__.py", "w") as file:
        words = " and ".join(framework.words for framework in used(folder))
        file.write(f'{MADE} for {words}: modules {", ".join(modules)}."""\n')
        file.write(registration(folder))


def registration(folder: str) -> str:
    """What makes `import PACKAGE` register the operators for PyTorch, by which programs that are exported name them."""
    names = [name for name, its in products(folder).items() if FRAMEWORKS["torch"] in its]
    if not names:
        return ""
    imports = "".join(f"from . import {name}  # noqa: F401\n" for name in names)
    if len(used(folder)) == 1:
        return imports
    return "import importlib.util\n\nif importlib.util.find_spec(\"torch\"):\n" + \
        "".join(f"    {line}\n" for line in imports.splitlines())


def used(folder: str) -> list[Framework]:
    """The frameworks of a folder's products."""
    return [framework for framework in FRAMEWORKS.values()
            if any(framework in its for its in products(folder).values())]


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

    first = next(iter(products(folder)))
    with open(f"{folder}/{first}.h") as file:
        version = re.search(r"Generated by cgtpgen (\S+)", file.read())
    setuptools.setup(name=name, version=version[1] if version else "0", packages=[name], package_dir={name: folder},
                     distclass=Binary, cmdclass={"build_py": Build, "bdist_wheel": Wheel},
                     description="Tensor products, generated by cgtpgen", python_requires=">=3.9",
                     install_requires=[framework.requires for framework in used(folder)])


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(f"usage: {sys.argv[0]} FOLDER INTO [OBJECTS]")
    build(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else os.path.join(sys.argv[1], "build", "objects"))
