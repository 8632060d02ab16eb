# SPDX-License-Identifier: MIT
"""python3 -m cgtpgen.models: kernels ahead of time, for a model in a file."""
from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

import torch

from .torch_models import BuildError, accelerate, models_of, report, sites, specs
from .fast import Left, Site


def load(path: str) -> torch.nn.Module:
    """A whole model that torch.save wrote, or a checkpoint or a name of sevenn's or NequIP's."""
    with contextlib.redirect_stdout(sys.stderr):  # which packages write to when they are imported
        try:
            found = torch.load(path, map_location="cpu", weights_only=False)
        except FileNotFoundError:
            found = None
        if isinstance(found, torch.nn.Module):
            return found
        try:
            return load_checkpoint(path, found)
        except (ImportError, ValueError) as error:
            what = "there is no such file, and no model of that name" if found is None else "it is no whole model, and no file"
            raise FileNotFoundError(f"{path}: {what} that sevenn or NequIP reads here ({str(error).splitlines()[0]})") from error


def load_checkpoint(path: str, found: Any) -> torch.nn.Module:
    if found is None or "model_state_dict" in found and "config" in found:
        from sevenn.util import load_checkpoint
        return load_checkpoint(path).build_model()
    from nequip.model.saved_models.load_utils import load_saved_model
    return load_saved_model(path, "eager")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m cgtpgen.models", description=__doc__.partition(": ")[2])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in {"specs": "write the model's specs", "build": "write and build them, and save a model with the kernels",
                        "check": "say what would be replaced, and what is built", "run": "run another program with the kernels "
                        "as modifiers and switches of its package, as `run nequip-compile ..`"}.items():
        command = commands.add_parser(name, help=words)
        if name == "run":
            command.add_argument("program")
            command.add_argument("arguments", nargs=argparse.REMAINDER)
            continue
        command.add_argument("model", help="a file that torch.save wrote, a checkpoint, or a name that sevenn knows")
        command.add_argument("--folder", help="of specs and kernels: cgtp_kernels")
        command.add_argument("--dtypes", nargs="+", default=["float32", "float64"])
        if name != "specs":
            command.add_argument("--devices", nargs="+")
        if name == "build":
            command.add_argument("-o", dest="output", help="where to save the model with its kernels")
            command.add_argument("--strict", action="store_true", help="an error where a product stays slow")
    words = parser.parse_args()
    try:
        COMMANDS[words.command](words)
    except (BuildError, FileNotFoundError) as error:
        sys.exit(f"cgtpgen: {error}")


def command_specs(words: argparse.Namespace) -> None:
    print(*specs(load(words.model), words.folder, dtypes=words.dtypes), sep="\n")


def command_build(words: argparse.Namespace) -> None:
    model = accelerate(load(words.model), words.folder, dtypes=words.dtypes, devices=words.devices, strict=words.strict)
    if words.output:
        torch.save(model, words.output)


def command_check(words: argparse.Namespace) -> None:
    from .kernels import Kernels, where
    from .torch_models import devices_of
    model = load(words.model)
    kernels, absent = Kernels(where(words.folder)), 0
    for site in sites(model).values():
        if isinstance(site, Left):
            print(f"{site.path}: left: {site.why}")
        elif isinstance(site, Site) and site.what:
            names = [spec.name for dtype in words.dtypes for spec in site.specs(dtype)]
            missing = kernels.missing(names, devices_of(model, words.devices))
            absent += len(missing)
            print(f"{site.path}: {site.what}" + (f": not built: {' '.join(missing)}" if missing else ""))
    print(report(model)) if any(hasattr(m, "cgtp_made") for part in models_of(model) for m in part.modules()) else None
    if absent:
        sys.exit(1)


def command_run(words: argparse.Namespace) -> None:
    from . import hooks
    hooks.install()
    sys.argv = [words.program, *words.arguments]
    hooks.program(words.program)()


COMMANDS = {"specs": command_specs, "build": command_build, "check": command_check, "run": command_run}

if __name__ == "__main__":
    main()
