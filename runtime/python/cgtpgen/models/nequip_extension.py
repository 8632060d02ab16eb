# SPDX-License-Identifier: MIT
"""What an installed wheel has NequIP import with itself (its entry point nequip.extension): models know the modifier
enable_cgtpgen then. NequIP is not all there yet, so its module of modifiers is looked at when somebody imports it."""
from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, Optional

MODIFIERS = "nequip.model.modify_utils"


class Finder(MetaPathFinder):
    """Finds that module as others do, once, and registers the modifier when it has been executed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Optional[ModuleSpec]:
        if name != MODIFIERS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        own = spec.loader.exec_module

        def executed(module: Any) -> None:
            own(module)
            from .nequip import register
            register(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


if MODIFIERS not in sys.modules and not any(isinstance(finder, Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, Finder())
