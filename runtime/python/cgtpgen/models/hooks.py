# SPDX-License-Identifier: MIT
"""The commands of other packages with generated kernels: `python3 -m cgtpgen.models run nequip-compile ..`.

NequIP's take the modifier enable_cgtpgen, which an installed wheel registers by itself. sevenn's build models from
checkpoints where nothing can be put in: the function that builds them is wrapped. Commands of MACE take models that
`python3 -m cgtpgen.models build -o` saved, and need nothing.
"""
from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable
from typing import Any


def install() -> None:
    """Hooks of the packages that are here."""
    if importlib.util.find_spec("nequip"):
        from .nequip import register
        register()
    if importlib.util.find_spec("sevenn"):
        from .sevenn import register as register_sevenn
        register_sevenn()


def program(name: str) -> Callable[[], Any]:
    """The function that a console script calls."""
    for entry in importlib.metadata.entry_points(group="console_scripts"):
        if entry.name == name:
            return entry.load()
    raise FileNotFoundError(f"no package here has a command {name}")
