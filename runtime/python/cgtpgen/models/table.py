# SPDX-License-Identifier: MIT
"""What was done to a model, as a table, and how long a step takes."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Optional

import torch


class Table:
    """Printed as text. rows: (module, class, what became of it), replaced ones first."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        self.times: Optional[tuple[float, float, Optional[float]]] = None  # before, after, difference

    def replaced(self, path: str, module: Any) -> None:
        names = [name for of in module.cgtp_made.products.values() for name in of]
        if module.cgtp_made.options.get("graphs"):
            self.rows.append((path or "the model", type(module).__name__, "force steps as CUDA graphs"))
        elif names or module.says:
            self.rows.append((path, type(module).__name__, " ".join(names) or module.says))

    def left(self, path: str, module: Any, why: str) -> None:
        self.rows.append((path, type(module).__name__, f"left: {why}"))

    def __str__(self) -> str:
        rows = [("module", "class", "computed by"), *self.rows]
        wide = [max(len(row[n]) for row in rows) for n in range(2)]
        lines = [f"{path:{wide[0]}}  {name:{wide[1]}}  {what}" for path, name, what in rows]
        if self.times:
            before, after, error = self.times
            lines.append(f"a step took {before * 1e3:.1f} ms and takes {after * 1e3:.1f} ms: {before / after:.2f} times as fast" +
                         (f"; numbers differ by {error:.1e} of the largest" if error is not None else ""))
        return "\n".join(lines)


def timed(step: Callable[[], Any], least: float = 0.5) -> tuple[float, Any]:
    """The median of some runs, after two that warm up, and what the step returns."""
    for _ in range(2):
        made = step()
    times: list[float] = []
    while len(times) < 3 or sum(times) < least and len(times) < 20:
        wait()
        start = time.perf_counter()
        made = step()
        wait()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2], made


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def difference(a: Any, b: Any) -> Optional[float]:
    """Of the largest element; None where steps return no numbers."""
    if isinstance(a, (tuple, list)) and len(a) == len(b):
        found = [d for d in map(difference, a, b) if d is not None]
        return max(found) if found else None
    try:
        a, b = (torch.as_tensor(value).detach().double().cpu() for value in (a, b))
        return ((a - b).abs().max() / b.abs().max().clamp_min(1e-300)).item()
    except (TypeError, ValueError, RuntimeError):
        return None
