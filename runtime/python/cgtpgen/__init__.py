# SPDX-License-Identifier: MIT
"""cgtpgen from Python: where its generator and its runtime are.

This folder stands in runtime/python of a checkout, in share/cgtpgen/python of an installation, or in a wheel. CGTPGEN and
CGTP_RUNTIME name others.
"""
from __future__ import annotations

import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))


def runtime() -> str:
    """The folder that has cgtp.h and cgtp_build.py."""
    places = [os.environ.get("CGTP_RUNTIME"), f"{HERE}/runtime", f"{HERE}/../..", f"{HERE}/share/cgtpgen"]
    for place in filter(None, places):
        if os.path.exists(f"{place}/cgtp_build.py"):
            return os.path.normpath(place)
    raise FileNotFoundError("cgtpgen's runtime is not found: set CGTP_RUNTIME to the folder that has cgtp_build.py")


def generator() -> str:
    """The program cgtpgen."""
    named = os.environ.get("CGTPGEN")
    places = [named] if named else [f"{HERE}/bin/cgtpgen", f"{HERE}/../../../build/cgtpgen",
                                    f"{HERE}/../../../../bin/cgtpgen", shutil.which("cgtpgen")]
    for place in filter(None, places):
        if os.access(place, os.X_OK):
            return os.path.normpath(place)
    raise FileNotFoundError(f"cgtpgen is not found{f' at {named}' if named else ''}: build it (make), install it, or set "
                            f"CGTPGEN to the program")
