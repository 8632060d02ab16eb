# SPDX-License-Identifier: MIT
"""Specs of e3nn's tensor products, which cgtp_e3nn.py of the runtime writes, for models of every framework."""
from __future__ import annotations

import importlib.util
from typing import Any

from .. import runtime
from .kernels import Spec


def _reader() -> Any:
    """cgtp_e3nn.py, which lies beside the runtime."""
    spec = importlib.util.spec_from_file_location("cgtp_e3nn", f"{runtime()}/cgtp_e3nn.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


reader = _reader()


def product_spec(product: Any, kind: str, dtype: str, **keys: Any) -> Spec:
    return Spec(kind, lambda name: reader.spec_of(product, name, precision=dtype, **keys))
