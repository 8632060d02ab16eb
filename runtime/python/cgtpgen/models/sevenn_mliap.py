# SPDX-License-Identifier: MIT
"""SevenNet's class for LAMMPS's ML-IAP. It is a checkpoint in a file, of which the model is built in LAMMPS when it is first
called: kernels have to be put in then. What is to be built for that is built when the file is written."""
from __future__ import annotations

import os
from typing import Any

from sevenn import mliap

from .kernels import where
from .torch_models import accelerate


class SevenNetMLIAPWrapper(mliap.SevenNetMLIAPWrapper):
    def __init__(self, *arguments: Any, **more: Any):
        super().__init__(*arguments, **more)
        self.cgtp_folder = where(None)
        accelerate(self.cp.build_model(), self.cgtp_folder)

    def _ensure_model_initialized(self) -> None:
        if self.model is None:
            super()._ensure_model_initialized()
            accelerate(self.model, os.environ.get("CGTP_KERNELS") or self.cgtp_folder, quiet=True)


def register() -> None:
    mliap.SevenNetMLIAPWrapper = SevenNetMLIAPWrapper
