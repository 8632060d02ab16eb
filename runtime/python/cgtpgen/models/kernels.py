# SPDX-License-Identifier: MIT
"""The folder of a model's kernels: specs, which may be committed, and what is generated and built from them.

    FOLDER/specs/NAME.yaml      a product; its name ends with a digest of what it is, so that equal layers share one
    FOLDER/build                what the generator wrote, objects, and a log of the last build
    FOLDER/site/FOLDER'S NAME   the package of Python

A product is built once. Another model, another layer or another type adds to the folder what it has not.
"""
from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import importlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple, Optional

from .. import generator, runtime

DEVICES = {"cpu": "c", "cuda": "cuda"}  # and their backends


class Spec(NamedTuple):
    """kind, text: the beginning of a product's name, and its spec, given that."""

    kind: str
    text: Callable[[str], str]

    @property
    def name(self) -> str:
        return f"{self.kind}_{hashlib.sha256(self.text(self.kind).encode()).hexdigest()[:10]}"


class BuildError(RuntimeError):
    """Kernels cannot be built, or not be used, and what to do about it."""


class Kernels:
    """A folder, which need not be there yet, and its package for a framework.

    suffix: of modules' names; record: the file of the package that says what is built."""

    framework, suffix, record = "torch", "", "built.json"

    def __init__(self, folder: str):
        self.folder = os.path.abspath(folder)
        there = glob.glob(f"{glob.escape(self.folder)}/site/*/{self.record}")  # a folder may be moved, and be called otherwise
        self.name = os.path.basename(os.path.dirname(there[0])) if there else \
            re.sub(r"\W", "_", os.path.basename(self.folder)) + self.suffix
        self.package = f"{self.folder}/site/{self.name}"

    # ---- what there is ----

    def write(self, specs: Iterable[Spec]) -> list[str]:
        """Writes specs that are not there; names of all."""
        os.makedirs(f"{self.folder}/specs", exist_ok=True)
        found = {spec.name: spec for spec in specs}
        for name, spec in found.items():
            path = f"{self.folder}/specs/{name}.yaml"
            if not os.path.exists(path):
                _write(path, spec.text(name))
        if not os.path.exists(f"{self.folder}/.gitignore"):
            _write(f"{self.folder}/.gitignore", "/build/\n/site/\n")
        return list(found)

    def specs(self) -> list[str]:
        return sorted(os.path.basename(path)[:-5] for path in glob.glob(f"{glob.escape(self.folder)}/specs/*.yaml"))

    def built(self) -> dict[str, Any]:
        """What is known of each product that is built."""
        try:
            with open(f"{self.package}/{self.record}") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def missing(self, names: Iterable[str], devices: Iterable[str]) -> list[str]:
        """Which of them are not built for all the devices, or by another generator, runtime or for another machine."""
        there = self.built()
        try:
            wanted = facts()
        except FileNotFoundError:  # no generator here: what is built is taken
            wanted = None

        if self.is_scripted() and not (os.path.exists(f"{self.package}/libcgtp_script.so") and
                               _read(f"{self.package}/script_torch") == torch_version()):
            there = {}  # none can be scripted

        def lacks(has: dict[str, Any]) -> bool:
            return any(device not in has or wanted is not None and has[device] != wanted[device] for device in devices)
        devices = list(devices)
        return [name for name in names if lacks(there.get(name, {}).get("devices", {}))]

    def stale(self, devices: Iterable[str]) -> list[str]:
        """What is built, but by another generator or runtime, or with other flags. The package imports all of it: who builds
        one product builds these too, as long as none is in use."""
        there, wanted = self.built(), facts()
        return [name for name in self.specs() if any(
            there.get(name, {}).get("devices", {}).get(device, wanted[device]) != wanted[device] for device in devices)]

    def is_scripted(self) -> bool:
        """Is the library asked for that TorchScript needs?"""
        return self.framework == "torch" and os.environ.get("CGTP_SCRIPT", "0") not in ("", "0")

    # ---- building ----

    def build(self, names: Iterable[str], devices: Iterable[str], say: Callable[[str], None]) -> None:
        """Generates and compiles what is missing; other processes wait for the one that does."""
        names, devices = list(dict.fromkeys(names)), list(devices)
        if not self.missing(names, devices):
            return
        os.makedirs(f"{self.folder}/build", exist_ok=True)
        with _locked(f"{self.folder}/build/lock", say):
            missing = list(dict.fromkeys((*self.missing(names, devices), *self.stale(devices))))
            loaded = [name for name in missing if f"{self.name}.{name}{self.suffix}" in sys.modules]
            if loaded:
                raise BuildError(f"{loaded[0]} is in use in this process, and was built for other devices, with other flags or by "
                                 f"another cgtpgen: begin a new process to build it again")
            if missing:
                self._build(missing, devices, say)

    def _build(self, names: list[str], devices: list[str], say: Callable[[str], None]) -> None:
        check_compilers(devices)
        start = time.monotonic()
        say(f"building {len(names)} products for {' and '.join(devices)} in {self.folder}, once")
        sources = f"{self.folder}/build/sources"
        shutil.rmtree(sources, ignore_errors=True)
        for number, device in enumerate(devices):
            into = sources if number == 0 else f"{sources}/{device}"
            _run([generator(), f"--backend={DEVICES[device]}", f"--emit=header,source,{self.framework}", "-o", into, *(f"{self.folder}/specs/{name}.yaml" for name in names)], "generating")
        steps = len(glob.glob(f"{sources}/**/*.c*", recursive=True)) + len(names) * len(devices) + 1
        environment = {"CFLAGS": flags()} | os.environ | {"PYTHONUNBUFFERED": "1"}
        log = f"{self.folder}/build/log"
        with open(log, "w") as file, subprocess.Popen(
                [sys.executable, f"{runtime()}/cgtp_build.py", sources, self.package, f"{self.folder}/build/objects"],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            told = start
            for done, line in enumerate(process.stdout or ()):
                file.write(line)
                if time.monotonic() - told > 5:
                    told = time.monotonic()
                    say(f"building: step {done} of about {steps}, {told - start:.0f} s")
        if process.returncode:
            raise BuildError(f"compiling failed: {_last_error(log)} (all of it is in {log})")
        there, new = self.built(), facts()
        for name in names:
            there[name] = {"devices": {device: new[device] for device in devices}}
        _write(f"{self.package}/__init__.py", '"""Products of cgtpgen: to import them registers their operators."""\n' +
               f"from . import {', '.join(name + self.suffix for name in sorted(there))}  # noqa: F401\n")
        _write(f"{self.package}/{self.record}", json.dumps(there, indent=1, sort_keys=True) + "\n")
        if self.is_scripted():
            _write(f"{self.package}/script_torch", torch_version())  # for which alone libcgtp_script.so is
        say(f"built in {time.monotonic() - start:.0f} s")

    # ---- using ----

    def importable(self) -> None:
        """Makes the package one that can be imported."""
        there = sys.modules.get(self.name)
        if there is not None and os.path.dirname(there.__file__ or "") != self.package:
            raise BuildError(f"kernels of {os.path.dirname(there.__file__ or '?')} are in use in this process: a second folder "
                             f"needs another name than {self.name}")
        if f"{self.folder}/site" not in sys.path:
            sys.path.insert(0, f"{self.folder}/site")
        importlib.invalidate_caches()

    def load(self, names: Iterable[str]) -> list[ModuleType]:
        self.importable()
        names = list(names)
        there = self.built()
        absent = [name for name in names if name not in there]
        if absent:
            raise BuildError(f"there is no {absent[0]} in {self.package}: build it (python3 -m cgtpgen.models build), or set "
                             f"CGTP_KERNELS to the folder that has it")
        for name in names:
            here = there[name]["devices"].get("cpu")
            if here and here["machine"] != machine(here["flags"]):
                raise BuildError(f"{name} in {self.package} was built for another processor: build it here again, or "
                                 f"anywhere with CFLAGS=-O3")
        return [importlib.import_module(f"{self.name}.{name}{self.suffix}") for name in names]

    def check_device(self, names: Iterable[str], device: Any) -> None:
        """Are they built for a device of PyTorch?"""
        import torch
        there = self.built()
        for name in names:
            has = there.get(name, {}).get("devices", {})
            if device.type in DEVICES and device.type not in has:
                raise BuildError(f"{name} in {self.package} is built for {', '.join(has)} alone: accelerate(.., "
                                 f"devices=('cpu', 'cuda')) builds it for both")
            if device.type == "cuda" and torch.cuda.is_available():
                major, minor = torch.cuda.get_device_capability(device)
                fit = [a for a in has["cuda"]["architectures"] if int(a[:-1]) == major and int(a[-1]) <= minor]
                if not fit:
                    raise BuildError(f"{name} in {self.package} is built for sm_{', sm_'.join(has['cuda']['architectures'])}, "
                                     f"the GPU is sm_{major}{minor}: build it with CGTP_CUDA_ARCHS={major}{minor}")


def where(folder: Optional[str]) -> str:
    """The folder that is meant: the one that is named, that of CGTP_KERNELS, or cgtp_kernels here."""
    return os.path.abspath(folder or os.environ.get("CGTP_KERNELS") or "cgtp_kernels")


def flags() -> str:
    return os.environ.get("CFLAGS", "-O3 -march=native")


def machine(flags: str) -> str:
    """What code for this processor alone depends on."""
    if "native" not in flags:
        return platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            features = re.search(r"^(?:flags|Features)\s*:(.*)$", file.read(), re.M)
    except OSError:
        features = None
    return f"{platform.machine()} {hashlib.sha256((features[1] if features else '').encode()).hexdigest()[:12]}"


def architectures() -> list[str]:
    """Of the GPUs that are here, or that CGTP_CUDA_ARCHS names."""
    named = re.split("[;, ]+", os.environ.get("CGTP_CUDA_ARCHS", ""))
    try:
        here = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout.replace(".", "").split()
    except OSError:
        here = []
    return sorted(filter(None, named)) or sorted(set(here)) or ["80", "90"]


def torch_version() -> str:
    import torch
    return torch.__version__


_facts: dict[str, Any] = {}


def facts() -> dict[str, Any]:
    """What a build depends on, by device."""
    key = f"{generator()} {runtime()} {flags()} {os.environ.get('CGTP_CUDA_ARCHS')}"
    if key not in _facts:
        state = hashlib.sha256()
        for path in (generator(), *sorted(glob.glob(f"{glob.escape(runtime())}/cgtp*.[hc]*")),
                     *sorted(glob.glob(f"{glob.escape(runtime())}/cgtp_*.py"))):
            with open(path, "rb") as file:
                state.update(file.read())
        made = state.hexdigest()[:16]
        _facts[key] = {"cpu": {"made_by": made, "flags": flags(), "machine": machine(flags())},
                       "cuda": {"made_by": made, "architectures": architectures()}}
    return _facts[key]


def check_compilers(devices: Iterable[str]) -> None:
    for variable, usual in ("CC", "cc"), ("CXX", "c++"):
        program = shlex.split(os.environ.get(variable, usual))[0]
        if not shutil.which(program):
            raise BuildError(f"there is no compiler {program}: install one (on Debian apt-get install build-essential), or name "
                             f"it by {variable}")
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if "cuda" in devices and not shutil.which(nvcc):
        raise BuildError(f"there is no {nvcc}, which compiles for GPUs: install CUDA 13's, name it by NVCC, or ask for "
                         f"devices=('cpu',)")


def _run(command: list[str], what: str) -> None:
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise BuildError(f"{what} failed: {result.stdout.strip()}")


def _last_error(log: str) -> str:
    with open(log) as file:
        lines = file.read().splitlines()
    errors = [line for line in lines if re.search(r"error[: ]", line)]
    return (errors or lines or ["no output"])[-1 if not errors else 0].strip()


def _read(path: str) -> str:
    """Empty where there is none."""
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _write(path: str, text: str) -> None:
    """A file that is there is whole."""
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


@contextlib.contextmanager
def _locked(path: str, say: Callable[[str], None]) -> Iterator[None]:
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process builds in the same folder: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
