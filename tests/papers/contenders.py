"""The libraries that are compared: each makes of a row a function of x, y and w.

`CONTENDERS[name](row, place)` is that function, for tensors as the row's index says: of nodes, of edges, of items, or one row of
weights for all. Its z is laid out as e3nn lays it out, but for cuEquivariance's, which has a layout of its own (ir_mul) and is
timed in it. What compiles is made once for a row, in all places where it is computed.
"""
import importlib
import os
import sys
import types
from typing import NamedTuple

import torch
import torch.utils.cpp_extension

import rows as layers

DEVICE = os.environ.get("DEVICE", "cuda")
PAPERS = os.path.abspath(os.environ.get("PAPERS", "build/papers"))
# What names of kernels have that are a contender's own. A library that falls back to PyTorch without a word has none of them.
OWN = {"cgtpgen": r"(forward|backward)_(convolution|batch|staged|tiled|nodal|lanes|paired|gemm|general|direct)",
       "OpenEquivariance": r"^(void )?(forward|backward|double_backward_[AB]|fixup_\w+)(\(|<|$)|ConvData",
       "cuEquivariance": "segmented_polynomial|kernelcatcher",
       "FlashTP": "sptp", "e3nn compiled": "triton_"}


MADE = {}


def once(row, what, make):
    """What a library makes of a row, wherever it is computed."""
    key = (row.name, bool(row.place), what)
    if key not in MADE:
        MADE[key] = make()
    return MADE[key]


def ours():
    """The package of our products, whose own __init__ imports all of them, were they built or not: one by one instead."""
    package = types.ModuleType("ours")
    package.__path__ = [f"{PAPERS}/ours"]
    return sys.modules.setdefault("ours", package).__name__


def cgtpgen(variant):
    def make(row, place):
        name = row.spec(variant)[0]
        module = importlib.import_module(f"{ours()}.{name}")
        if not row.place:
            product = module.TensorProduct().to(DEVICE)
            return lambda x, y, w: product(x, y, w)
        if not hasattr(module, "Convolution"):
            product = module.TensorProduct().to(DEVICE)
            return gathered(product, place)
        product = module.Convolution(internal_weights=False) if row.product()["index"]["w"] == "shared" else module.Convolution()
        graph = module.prepare_graph((place.sender, place.receiver), place.nodes, sorted=True)
        return lambda x, y, w: product(x, y, w, graph)
    return make


def gathered(product, place):
    """A convolution of a product of items: gather, product, sum."""
    def call(x, y, w):
        messages = product(x.index_select(0, place.sender), y, w)
        return torch.zeros(place.nodes, messages.shape[1], dtype=messages.dtype, device=messages.device) \
            .index_add_(0, place.receiver, messages)
    return call


def instructions(row):
    return [(path["x"], path["y"], path["z"], path["mode"], path["weighted"]) for path in row.product()["paths"]]


def of_e3nn(row, jit="script", dtype=torch.float32):
    return once(row, (jit, dtype), lambda: make_e3nn(row, jit, dtype))


def make_e3nn(row, jit, dtype):
    import e3nn
    from e3nn import o3
    e3nn.set_optimization_defaults(jit_mode=jit)
    irreps, shared = row.product()["irreps"], row.product()["index"]["w"] == "shared"
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    made = o3.TensorProduct(irreps["x"], irreps["y"], irreps["z"], instructions(row), shared_weights=shared, internal_weights=False)
    torch.set_default_dtype(before)
    return made.to(DEVICE)


def placed(row, product, place):
    """As the row's index says."""
    index = row.product()["index"]
    if not row.place:
        return product
    if index["y"] == "sender":
        return lambda x, y, w: product(x, y.index_select(0, place.sender), w)
    return gathered(product, place)


def e3nn(row, place):
    return placed(row, of_e3nn(row), place)


def e3nn_float64(row, place):
    return placed(row, of_e3nn(row, dtype=torch.float64), place)


def e3nn_compiled(row, place):
    import torch._dynamo
    from torch._functorch import config
    config.donated_buffer = False
    torch._dynamo.config.cache_size_limit = 64

    def call(x, y, w, *ends):  # of a place they are arguments: it is compiled once
        if not row.place:
            return product(x, y, w)
        return placed(row, product, At(*ends, x.shape[0]))(x, y, w)
    product = of_e3nn(row, "eager")
    compiled = once(row, "compiled", lambda: torch.compile(call, fullgraph=True, dynamic=True))
    return lambda x, y, w: compiled(x, y, w, *((place.sender, place.receiver) if row.place else ()))


class At(NamedTuple):
    sender: torch.Tensor
    receiver: torch.Tensor
    nodes: int


COMPILE = torch.utils.cpp_extension.load


def load(name, *sources, **flags):
    """What run.sh compiled; without that OpenEquivariance compiles it itself."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return COMPILE(name, *sources, **flags)


def openequivariance(deterministic):
    def make(row, place):
        torch.utils.cpp_extension.load = load
        import openequivariance as oeq

        def compiled():
            irreps = [oeq.Irreps(row.product()["irreps"][slot]) for slot in "xyz"]
            problem = oeq.TPProblem(*irreps, instructions(row), shared_weights=False, internal_weights=False)
            if not row.place:
                return oeq.TensorProduct(problem, torch_op=True)
            return oeq.TensorProductConv(problem, torch_op=True, deterministic=deterministic)
        product = once(row, ("oeq", deterministic), compiled)
        if not row.place:
            return with_weights(product, product)
        receiver, sender = place.receiver.long(), place.sender.long()
        turned = torch.argsort(sender * place.nodes + receiver, stable=True) if deterministic else None
        return with_weights(product, lambda x, y, w: product(x, y, w, receiver, sender, turned))
    return make


def with_weights(product, call):
    """Its weights have another order than e3nn's."""
    call.from_e3nn, call.to_e3nn = product.reorder_weights_from_e3nn, product.reorder_weights_to_e3nn
    return call


def flashtp(row, place):
    from e3nn.o3 import Irreps
    sys.setdlopenflags(os.RTLD_LAZY)  # its kernels for float64 are not compiled
    from flashTP_e3nn import uvu_TP
    irreps = row.product()["irreps"]
    hopper = torch.cuda.get_device_capability()[0] == 9  # it knows an H100 by name, and takes an H200 for a GPU of 48 KiB
    product = once(row, "flashtp", lambda: uvu_TP(*(Irreps(irreps[slot]) for slot in "xyz"), instructions(row), device="cuda",
                                                  dtype=torch.float32, smem_size=227 if hopper else None))
    sender, receiver = place.sender.int(), place.receiver.int()
    return lambda x, y, w: product(x, y, w, sender, receiver)


def cue_polynomial(row):
    """In cuEquivariance's words; SevenNet splits segments of several numbers of channels like this."""
    import cuequivariance as cue
    import numpy as np
    from cuequivariance.group_theory.experimental.e3nn import O3_e3nn
    irreps = [cue.Irreps(O3_e3nn, row.product()["irreps"][slot]) for slot in "xyz"]
    if row.product()["paths"][0]["mode"] == "uuu":
        from itertools import product as pairs
        made = cue.SegmentedTensorProduct.from_subscripts("u,iu,ju,ku+ijk")
        for slot, of in enumerate(irreps):
            for mul, ir in of:
                made.add_segment(slot + 1, (ir.dim, mul))
        for (k, (_, c)), (i, (_, a)), (j, (_, b)) in pairs(*(enumerate(irreps[slot]) for slot in (2, 0, 1))):
            if c in a * b:
                for cg in cue.clebsch_gordan(a, b, c):
                    made.add_path(None, i, j, k, c=cg)
        return cue.SegmentedPolynomial.eval_last_operand(made).flatten_coefficient_modes()
    made = cue.descriptors.channelwise_tensor_product(irreps[0], irreps[1], sorted({ir for _, ir in irreps[2]}))
    muls = [mul for mul, _ in irreps[0]]
    if len(set(muls)) == 1:
        return made.flatten_coefficient_modes().squeeze_modes().polynomial
    polynomial = made.polynomial.flatten_modes("ijk").squeeze_modes("v")
    return polynomial.apply_fn(lambda operation, d: (operation, d.split_mode("u", int(np.gcd.reduce(muls)))))


def cuequivariance(fused):
    def make(row, place):
        import cuequivariance_ops_torch  # noqa: F401  without it all is done by PyTorch, without a word
        import cuequivariance_torch as cuet
        polynomial = once(row, "polynomial", lambda: cue_polynomial(row))
        product = once(row, "cue", lambda: cuet.SegmentedPolynomial(polynomial, method="uniform_1d", math_dtype=torch.float32).to(DEVICE))
        dims = row.product()["dim"]
        found = [operand.size for operand in polynomial.inputs]
        if found != [dims["w"], dims["x"], dims["y"]] or polynomial.outputs[0].size != dims["z"]:
            raise ValueError(f"cuEquivariance has rows of {found}, {polynomial.outputs[0].size} elements, not {dims}")
        if not row.place:
            return lambda x, y, w: product([w, x, y])[0]
        sender, receiver = place.sender.long(), place.receiver.long()
        if row.product()["index"]["y"] == "sender":
            return lambda x, y, w: product([w[None] if w.dim() == 1 else w, x, y], {2: sender})[0]
        if not fused:
            return gathered(lambda x, y, w: product([w, x, y])[0], place)

        def call(x, y, w):
            rows = torch.empty(place.nodes, 1, dtype=x.dtype, device=x.device)
            return product([w, x, y], {1: sender}, {0: rows}, {0: receiver})[0]
        return call
    return make


CONTENDERS = {**{variant: cgtpgen(variant) for variant in layers.VARIANTS},
              "OpenEquivariance": openequivariance(False), "OpenEquivariance deterministic": openequivariance(True),
              "FlashTP": flashtp, "cuEquivariance": cuequivariance(True), "cuEquivariance, scatter": cuequivariance(False),
              "e3nn": e3nn, "e3nn compiled": e3nn_compiled, "e3nn float64": e3nn_float64}
