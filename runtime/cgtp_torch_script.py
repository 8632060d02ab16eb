# SPDX-License-Identifier: MIT
"""What modules of a product are to torch.jit.script, which compiles their text: modules that call the operators of
libcgtp_script.so (cgtp_script.cpp), a library of packages that are built with CGTP_SCRIPT=1."""
from __future__ import annotations

import os
from typing import Any

import torch

from .cgtp_torch_ops import twins
from .cgtp_scripted import ScriptedConvolution, ScriptedTensorProduct


def scripted(module: Any, sort: int) -> torch.nn.Module:
    """Stands for a module, with its weights; sort: what is done with a list of edges (cgtp_torch_graph.h)."""
    p = module.product
    load(p.name)
    slots = ["x", "y", "w"] if p.weight_numel else ["x", "y"]
    takes = {"forward": (slots, ["z"]), "backward": ([*slots, "z"], slots),
             "double_backward": ([*slots, "z", *(f"d {slot}" for slot in slots)], ["z", *slots])}
    kernels = {kernel.name: (list(kernel.inputs.values()), list(kernel.outputs.values())) for kernel in p.kernels}
    for name, arrays in takes.items():
        if kernels.get(name, arrays if name != "forward" else None) != arrays:
            raise NotImplementedError(f"{p.name} cannot be scripted: its kernel {name} is not the one that a scripted module "
                                      f"calls, with all gradients of the kernel before it")
    by_type = twins(p)
    options = (p.name, *(by_type.get(dtype, p).name for dtype in (torch.float32, torch.float64)), p.dim["x"], p.dim["y"], p.dim["z"], module.weight_numel, module.shared_weights,
               module.internal_weights, [p.index[slot] for slot in "xywz"])
    made = ScriptedConvolution(*options, module.sender_row, sort, p.index_dtype.itemsize) if p.edges else \
        ScriptedTensorProduct(*options)
    for name, buffer in module.named_buffers(recurse=False):
        made.register_buffer(name, buffer)
    for name, parameter in module.named_parameters(recurse=False):
        made.register_parameter(name, parameter)
    for name, child in module.named_children():
        made.add_module(name, child)
    return made.train(module.training)


def load(product: str) -> None:
    if hasattr(torch.ops.cgtp_script, "convolve"):
        return
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libcgtp_script.so")
    if not os.path.exists(path):
        raise ImportError(f"{product} cannot be scripted: its package has no libcgtp_script.so. Build it again with "
                          f"CGTP_SCRIPT=1 in the environment (pip install --force-reinstall ..)")
    try:
        torch.ops.load_library(path)
    except OSError as error:
        raise ImportError(f"{path} is for another PyTorch than this, {torch.__version__}: build the package again") from error
