# SPDX-License-Identifier: MIT
"""A force step of a model as a CUDA graph: `accelerate(.., graphs=True)`.

A step is a thousand kernels and more, which the host starts one by one, often slower than a GPU ends them. Here the second
of two steps of the same shapes is recorded, and those that follow are replayed: one call of the host, the same kernels on
the same numbers, the same bits. Before its results are given out a step is compared with what was recorded: shapes, options,
parameters' places, and whatever kernels were chosen by, as species and heads are. Where they are others it is computed as
without graphs. A list of edges may change as long as it is as long: it is prepared, and its indices looked at, as ever.
"""
from __future__ import annotations

import contextlib
import copy
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Optional

import torch
from torch import Tensor

from .fast import Looks, Site, looking, names_of
from .kernels import BuildError
from .products import is_eager

DEVICES = {"cuda"}
EDGES = "edge_index"


@contextlib.contextmanager
def given(convolutions: list[Any], graph: Any) -> Iterator[None]:
    """While it is open, convolutions take a graph, and not the list that they are called with."""
    for convolution in convolutions:
        convolution.__dict__["cgtp_graph"] = graph
    try:
        yield
    finally:
        for convolution in convolutions:
            convolution.__dict__.pop("cgtp_graph", None)


def record(call: Callable[[], Any]) -> Callable[[], None]:
    """What repeats a call, with its results where they were."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        call()
    return graph.replay


class Step:
    """How steps of a model are computed. call: of a batch and a graph of its edges, the results by name. convolutions: those
    that take the graph, of which one prepares it. same: numbers with a point by which kernels are chosen, as whole ones are."""

    def __init__(self, model: Any, convolutions: list[Any], call: Callable[[Any, Any], Any], same: tuple[str, ...] = (),
                 options: Any = None):
        self.model, self.convolutions, self.call, self.same, self.options = model, convolutions, call, same, options

    def graph_of(self, data: Any) -> Any:
        """Of the list of edges, whose indices are looked at."""
        nodes = data[next(name for name in ("positions", "pos", "x") if name in data)]
        rows = nodes.new_empty(nodes.shape[0], 1)
        one = self.convolutions[0]
        return one.cgtp._graph(one.cgtp_ends(data[EDGES]), rows, rows, None, None, wait=True)

    def run(self, data: Any, graph: Any) -> Any:
        with given(self.convolutions, graph):
            return self.call(data, graph)


def items_of(data: Any) -> dict[str, Any]:
    """Of a dict, or of what is like one."""
    return {name: data[name] for name in (data.keys() if callable(data.keys) else data.keys)}


def can_be_recorded(data: Any) -> bool:
    """Is it a batch of numbers on a GPU, of which forces are computed now?"""
    values = items_of(data).values()
    tensors = [value for value in values if isinstance(value, Tensor)]
    if not all(value is None or isinstance(value, (Tensor, str, bool, int, float, dict)) for value in values):
        return False
    return torch.is_grad_enabled() and is_eager(*tensors[:1]) and {t.device.type for t in tensors} <= DEVICES and \
        not any(t.is_inference() or t.grad_fn is not None for t in tensors)


def key_of(step: Step, data: Any) -> Any:
    """What a record is for, beside numbers and the model."""
    def of(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return repr(value)
        return value.shape, value.stride(), value.dtype, value.device, value.requires_grad
    return {name: of(value) for name, value in items_of(data).items()}, repr(step.options), torch.get_default_dtype(), \
        torch.backends.cuda.matmul.allow_tf32


def parts_of(model: Any) -> tuple[list[Any], list[Tensor]]:
    """What a model is: its modules and their modes, and its tensors."""
    modules: list[Any] = []
    tensors: list[Tensor] = []
    stack = [model]
    while stack:
        module = stack.pop()
        modules += [module, module.training]
        for of_kind in module._parameters, module._buffers:
            tensors += [tensor for tensor in of_kind.values() if tensor is not None]
        stack += [part for part in module._modules.values() if part is not None]
    return modules, tensors


class Record:
    """A step that was recorded, its inputs, and its results."""

    def __init__(self, step: Step, data: Any, key: Any):
        self.key = key
        self.inputs = {name: value.detach().clone().requires_grad_(value.requires_grad)
                       for name, value in items_of(data).items() if isinstance(value, Tensor)}
        self.same = [name for name, value in self.inputs.items() if name in step.same or not value.is_floating_point()]
        self.moved = [name for name in self.inputs if name not in self.same]
        on_gpu = self.inputs[EDGES].device.type == "cuda"
        self.others = torch.zeros(len(self.same), dtype=torch.bool, pin_memory=on_gpu)
        self.known = torch.cuda.Event() if on_gpu else None
        self.beside = torch.cuda.Stream(priority=-1) if on_gpu else None
        self.graph = copied(step.graph_of(data))
        self.modules, tensors = parts_of(step.model)
        self.tensors = [(tensor, tensor.data_ptr(), tensor.detach()) for tensor in tensors]  # whose memory stays theirs
        self.looks = Looks()

        def call() -> None:
            batch = copy.copy(data)
            for name, value in self.inputs.items():
                batch[name] = value
            self.made = {name: value.detach() if isinstance(value, Tensor) else value
                         for name, value in items_of(step.run(batch, self.graph)).items()}
        with looking(self.looks):
            call()
            self.looks.again = iter(self.looks.found)
            self.replay = record(call)

    def is_of(self, model: Any) -> bool:
        """Has the model the parts that it had?"""
        modules, tensors = parts_of(model)
        return len(modules) == len(self.modules) and all(a is b for a, b in zip(modules, self.modules)) and \
            len(tensors) == len(self.tensors) and \
            all(a is b and a.data_ptr() == place for a, (b, place, _) in zip(tensors, self.tensors))

    def take(self, data: Any) -> None:
        """Brings a step's numbers to where the record has them."""
        with torch.no_grad():
            torch._foreach_copy_([self.inputs[name] for name in self.moved], [data[name] for name in self.moved])

    def compare(self, data: Any) -> None:
        """Asks which of the numbers that it was made for are others."""
        if self.same:
            with torch.no_grad():
                found = torch.stack([(self.inputs[name] != data[name]).any() for name in self.same])
                self.others.copy_(found, non_blocking=True)

    def run(self, step: Step, data: Any) -> Optional[dict[str, Any]]:
        """The results of the step; None where it is another than the one that was recorded."""
        self.take(data)
        if self.beside is not None:
            self.beside.wait_stream(torch.cuda.current_stream())
        self.replay()  # looked at meanwhile, beside it, is whether it was of use
        with torch.cuda.stream(self.beside):
            self.compare(data)
            if self.beside is not None:
                self.known.record()
        is_same = self.is_of(step.model)
        if self.beside is not None:
            self.known.synchronize()
        others = {name for name, other in zip(self.same, self.others.tolist()) if other}
        if not is_same or others - {EDGES}:
            return None
        if others:
            graph = step.graph_of(data)
            if [kind_of(value) for value in graph] != [kind_of(value) for value in self.graph]:
                return None
            with torch.no_grad():
                for into, value in [(self.inputs[EDGES], data[EDGES]), *zip(self.graph, graph)]:
                    if isinstance(value, Tensor):
                        into.copy_(value)
            self.replay()
        return {name: value.clone() if isinstance(value, Tensor) else data[name] if name in data else value
                for name, value in self.made.items()}


def kind_of(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def copied(graph: Any) -> Any:
    return graph._replace(**{name: value.clone() for name, value in graph._asdict().items() if isinstance(value, Tensor)})


class Kept:
    """Of a model: what its last step was, and the record of such."""

    def __init__(self) -> None:
        self.key: Any = None
        self.record: Optional[Record] = None


_kept: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # outside of models, whose copies and files have none


def replayed(step: Step, data: Any) -> Any:
    """The results of a step, by name; None where it is to be computed as without graphs: the first of its kind is."""
    kept, key = _kept.setdefault(step.model, Kept()), key_of(step, data)
    if kept.key == key:
        kept.record = kept.record or Record(step, data, key)
        made = kept.record.run(step, data)
        if made is not None:
            return made
    kept.key, kept.record = key, None
    return None


def forget(model: Any) -> None:
    _kept.pop(model, None)


def sites(model: Any, kinds: dict[str, type]) -> list[Site]:
    """The modules whose calls are force steps. kinds: the class that they get, by their own."""
    found = [Site(path, module, kinds[name], lambda dtype: [], {"graphs": True})
             for path, module in model.named_modules() for name in names_of(module) & kinds.keys()]
    if not found:
        raise BuildError(f"graphs=True records force steps of models of MACE, NequIP, Allegro and SevenNet: "
                         f"{type(model).__name__} is none")
    devices = {p.device.type for p in model.parameters()}
    if not devices <= DEVICES:
        raise BuildError(f"graphs=True is for GPUs, and the model is on {' and '.join(sorted(devices))}: model.to('cuda') first")
    return found
