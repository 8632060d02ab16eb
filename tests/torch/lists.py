#!/usr/bin/env python3
"""Lists of edges that somebody else rewrites in place, and lists with wrong numbers: no result is of edges that were there
before, and no program reads or writes beyond an array. Programs that make_fx makes hold no list either; states that are
e3nn's. PACKAGE as of check.py.

    tests/torch/lists.py PACKAGE PART...
"""
import copy
import ctypes
import gc
import io
import os
import sys

import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx

sys.dont_write_bytecode = True
from common import FOLDER, fails, module, near, rows  # noqa: E402
from tap import done, ok, skip  # noqa: E402

NODES, EDGES = 5, 40
OWN = {'environment': {'internal_weights': False}}


def layer_of(name, **options):
    """Its module, and inputs with one row of weights where the product has one."""
    m = module(name)
    x, y, w = rows(m.PRODUCT, EDGES, NODES)
    return m.Convolution(**OWN.get(name, {}), **options), (x, y, w[0] if m.PRODUCT.index['w'] == 'shared' else w)


def lists(n, ascending=False):
    torch.manual_seed(100 + n)
    made = torch.randint(0, NODES, (2, EDGES))
    return made[:, made[1].argsort(stable=True)] if ascending else made


def fresh(layer, inputs, edge_index):
    """What is right: of a list that nobody has seen."""
    return layer(*inputs, edge_index.clone(), NODES)


# ---- writers ----

def by_numpy(edges):
    shared = edges.numpy()
    return lambda new: shared.__setitem__(slice(None), new.numpy())


def by_dlpack(edges):
    shared = np.from_dlpack(edges)
    if not shared.flags.writeable:
        shared = np.ctypeslib.as_array(ctypes.cast(edges.data_ptr(), ctypes.POINTER(ctypes.c_int64)), edges.shape)
    return lambda new: shared.__setitem__(slice(None), new.numpy())


def by_data(edges):
    return lambda new: edges.data.copy_(new)


def by_ctypes(edges):
    return lambda new: ctypes.memmove(edges.data_ptr(), new.contiguous().data_ptr(), 8 * new.numel())


def by_storage(edges):
    return lambda new: edges.untyped_storage().copy_(new.contiguous().untyped_storage())


def by_torch(edges):
    return lambda new: edges.copy_(new)


def by_numba(edges):
    sys.modules.setdefault('coverage', None)  # tests/coverage.py is not the one that it would ask
    import numba

    @numba.njit
    def write(to, new):
        for i in range(to.shape[0]):
            for j in range(to.shape[1]):
                to[i, j] = new[i, j]
    return lambda new: write(edges.numpy(), new.numpy())


def by_warp(edges):
    import warp
    shared = warp.from_torch(edges)
    return lambda new: shared.assign(new.numpy())


WRITERS = {name[3:]: writer for name, writer in globals().items() if name.startswith('by_')}


def check_writers():
    for name, writer in WRITERS.items():
        for product in 'edges', 'edges_any', 'environment':
            layer, inputs = layer_of(product)
            edges = lists(0, ascending=True)
            try:
                write = writer(edges)
                write(lists(0, ascending=True))
            except ImportError as error:
                skip(f'{name} writes, {product}', str(error))
                continue
            right = [torch.equal(layer(*inputs, edges, NODES), fresh(layer, inputs, edges))]
            for n, ascending in (1, True), (2, False), (0, True), (3, False):
                write(lists(n, ascending))
                right.append(torch.equal(layer(*inputs, edges, NODES), fresh(layer, inputs, edges)))
                pair = layer(*inputs, (edges[0], edges[1]), NODES)
                right.append(torch.equal(pair, fresh(layer, inputs, edges)))
                graph = module(product).prepare_graph(edges, NODES, sort=module(product).PRODUCT.edges == 'sorted',
                                                      dtype=module(product).PRODUCT.index_dtype)
                right.append(torch.equal(layer(*inputs, graph), fresh(layer, inputs, edges)))
            with torch.inference_mode():
                write(lists(1))
                right.append(torch.equal(layer(*inputs, edges, NODES), fresh(layer, inputs, edges)))
            ok(all(right), f'{product}: {name} writes into the list, and results are of what is there', right)
            write(lists(0) + NODES * (torch.arange(EDGES) == 7))
            fails(IndexError, 'the number of no node', lambda: layer(*inputs, edges, NODES), f'{product}, {name}')
    layer, inputs = layer_of('edges')
    x = inputs[0].clone().requires_grad_()
    edges = lists(0)
    first = layer(x, *inputs[1:], edges).square().sum()
    by_ctypes(edges)(lists(1))
    second = layer(x, *inputs[1:], edges).square().sum()
    for z, n in (second, 1), (first, 0):
        wanted, = torch.autograd.grad(layer(x, *inputs[1:], lists(n)).square().sum(), x)
        found, = torch.autograd.grad(z, x)
        ok(torch.equal(found, wanted), f'gradients are of the list that their result was of: {n}')
    right, seen = [], set()
    for n in range(20):  # other lists, where lists were before
        edges = lists(n)
        seen.add(edges.data_ptr())
        right.append(torch.equal(layer(*inputs, edges), fresh(layer, inputs, lists(n))))
        del edges
        gc.collect()
    ok(all(right), f'20 lists at {len(seen)} addresses')
    edges = lists(0)
    graph = module('edges').prepare_graph(edges, NODES)
    before = layer(*inputs, graph)
    by_ctypes(edges)(lists(1))
    ok(torch.equal(layer(*inputs, graph), before), 'a Graph is what it was made of: it has none of the memory of others')
    kept = lists(0, ascending=True).int()
    graph = module('edges').prepare_graph(kept, NODES)
    before = graph.receiver.clone()
    kept.fill_(0)
    ok(torch.equal(graph.receiver, before), 'nor where the list had its type and order')


# ---- wrong numbers, in programs ----

class Model(torch.nn.Module):
    def __init__(self, name, **options):
        super().__init__()
        self.layer = layer_of(name, **options)[0]

    def forward(self, x, y, w, edge_index):
        return self.layer(x, y, w, edge_index, x.shape[0] if self.layer.product.index['x'] == 'sender' else NODES)


def wrong_lists():
    right = lists(0)
    for at, value in ((0, 7), NODES), ((1, 9), NODES + 1000000), ((0, 0), -1), ((1, EDGES - 1), -(2**40)):
        edges = right.clone()
        edges[at] = value
        yield f'a {("sender", "receiver")[at[0]]} {value} at edge {at[1]}', edges


def check_programs():
    """Compiled, exported, traced: the error names the number."""
    for product in 'edges', 'edges_any', 'environment':
        model, inputs = Model(product), layer_of(product)[1]
        export = torch.export.export(model, (*inputs, lists(0)))
        stored = io.BytesIO()
        torch.export.save(export, stored)
        stored.seek(0)
        torch._dynamo.reset()
        programs = {
            'torch.compile': torch.compile(model, fullgraph=True),
            'torch.export': torch.export.load(stored).module(),
            'torch.jit.trace': torch.jit.trace(model, (*inputs, lists(0)), check_trace=False),
            'make_fx': make_fx(model, tracing_mode='symbolic')(*inputs, lists(0))}
        if product == 'edges':
            path = torch._inductor.aoti_compile_and_package(export, package_path=f'{FOLDER}/wrong.pt2')
            programs['AOTInductor'] = torch._inductor.aoti_load_package(path)
        ok(f'cgtp_graph.{product}_prepare' in str(export.graph), f'{product}: a program needs the library of no other product')
        for name, program in programs.items():
            ok(torch.equal(program(*inputs, lists(1)), fresh(model.layer, inputs, lists(1))), f'{product}: {name}, another list')
            for words, edges in wrong_lists():
                fails(RuntimeError, '' if name == 'AOTInductor' else f'edge_index has {words}',
                      lambda: program(*inputs, edges), f'{product}: {name}')
            ok(torch.equal(program(*inputs, lists(2)), fresh(model.layer, inputs, lists(2))), f'{product}: {name}, and goes on')
    sorted_too = torch.compile(Model('edges', sorted=True), fullgraph=True)
    inputs = layer_of('edges')[1]
    ok(torch.equal(sorted_too(*inputs, lists(1, True)), layer_of('edges')[0](*inputs, lists(1, True))), 'sorted=True, compiled')
    fails(RuntimeError, 'said to be sorted, does not ascend by receiver', lambda: sorted_too(*inputs, lists(1)), 'compiled')
    fails(ValueError, 'said to be sorted, does not ascend by receiver',
          lambda: layer_of('edges', sorted=True)[0](*inputs, lists(1)), 'not compiled')


def check_forged():
    """A Graph is taken as it is: what is wrong with one is named where it is used."""
    m = module('edges')
    (layer, inputs), graph = layer_of('edges'), m.prepare_graph(lists(0), NODES)
    for part, at, value in ('sender', 3, NODES), ('receiver', EDGES - 1, NODES), ('by_sender', 5, EDGES), \
            ('receiver_row', 2, -1), ('receiver_row', NODES, EDGES + 1), ('sender_row', 1, 10**9), ('sender', 0, -5):
        array = getattr(graph, part).clone()
        array[at] = value
        fails(RuntimeError, f'{part}[{at}] is {value}', lambda: layer(*inputs, graph._replace(**{part: array})), 'a Graph')


def check_fx():
    """make_fx in its three modes: right for other edges and, where sizes are symbols, for other numbers of them."""
    for product in 'edges', 'edges_any', 'environment':
        layer, inputs = layer_of(product)
        x = inputs[0]

        def energy(x, y, w, edge_index):
            nodes = x.shape[0] if layer.product.index['x'] == 'sender' else NODES
            return layer(x, y, w, edge_index, nodes).square().sum()

        def forces(x, y, w, edge_index):
            x = x.detach().requires_grad_()
            return torch.autograd.grad(energy(x, y, w, edge_index), x)[0]

        for mode in 'real', 'fake', 'symbolic':
            for what in energy, forces:
                program = make_fx(what, tracing_mode=mode)(*inputs, lists(0))
                for n in 0, 1, 2:
                    near(program(*inputs, lists(n)), what(*inputs, lists(n)), f'{product}: make_fx, {mode}: {what.__name__}, {n}')
        if product == 'edges':
            layer(*inputs, lists(0))
            program = make_fx(forces, tracing_mode='symbolic')(*inputs, lists(0))
            more = rows(module(product).PRODUCT, 17, 3)
            edges = torch.randint(0, 3, (2, 17))
            near(program(*more, edges), forces(*more, edges), 'make_fx, symbolic: other sizes')
            ok('cgtp_graph' in program.code, 'the list is prepared in the program', program.code)
    layer, inputs = layer_of('edges')
    ends = torch.stack([lists(0), lists(1), lists(2)])
    near(torch.func.vmap(lambda e: layer(*inputs, e))(ends), torch.stack([layer(*inputs, e) for e in ends]), 'vmap over lists')
    for product in 'edges', 'edges_any':
        traced = torch.jit.trace(Model(product), (*layer_of(product)[1], lists(0)), check_trace=False)
        more, edges = rows(module(product).PRODUCT, 17, 3), torch.randint(0, 3, (2, 17))
        near(traced(*more, edges), Model(product)(*more, edges), f'{product}: a trace takes other numbers of nodes and edges')
    traced = torch.jit.trace(module('modes').TensorProduct(), rows(module('modes').PRODUCT, 4, 0), check_trace=False)
    more = rows(module('modes').PRODUCT, 7, 0)
    near(traced(*more), module('modes').TensorProduct()(*more), 'and other numbers of items')
    fails(ValueError, 'y has shape [5, 4]: it is to have a row for each edge, of which there are 40',
          lambda: layer(inputs[0], inputs[1][:5], inputs[2], lists(0)), 'rows')
    fails(ValueError, 'weight has shape [5, 6]: it is to have a row for each edge',
          lambda: layer(*inputs[:2], inputs[2][:5], lists(0)), 'rows')
    fails(RuntimeError, 'y has shape [5, 4], not [40, 4]',
          lambda: layer(inputs[0], inputs[1][:5], inputs[2], lists(0, ascending=True)), 'rows')
    fails(ValueError, 'x has shape [1, 5, 8]: it is to have a row for each sender, [senders, 8]',
          lambda: layer(inputs[0][None], *inputs[1:], lists(0)), 'dimensions')
    fails(RuntimeError, 'is on cpu, not on meta', lambda: layer(inputs[0].to('meta'), *inputs[1:], lists(0)), 'devices')


# ---- states ----

def check_states():
    """e3nn's modules load ours strictly, and ours theirs, in each mode and with weights of either kind."""
    try:
        from e3nn import o3
    except ImportError:
        return skip('states of e3nn', 'no e3nn')
    for name in 'edges', 'environment', 'modes', 'shared', 'edges_any':
        m = module(name)
        p = m.PRODUCT
        ours = (m.Convolution if p.edges else m.TensorProduct)()
        theirs = o3.TensorProduct(p.irreps['x'], p.irreps['y'], p.irreps['z'],
                                  [(i.i_in1, i.i_in2, i.i_out, i.connection_mode, i.has_weight) for i in p.instructions],
                                  shared_weights=ours.shared_weights, internal_weights=ours.internal_weights).to(p.dtype['z'])
        state, given = ours.state_dict(), theirs.state_dict()
        ok(state.keys() == given.keys(), f'{name}: the same keys', sorted(state), sorted(given))
        constants = [key for key in state if '_compiled' in key]
        ok(all(state[key].shape == given[key].shape and (state[key] - given[key]).abs().max() < 1e-6 for key in constants),
           f'{name}: and constants: {len(constants)}')
        theirs.load_state_dict(state, strict=True)
        ours.load_state_dict(given, strict=True)
        again = type(ours)()
        again.load_state_dict(state, strict=True)
        again.load_state_dict({key: value for key, value in state.items() if key not in constants}, strict=True)
        ok(torch.equal(again.weight, state['weight']), f'{name}: loaded strictly, both ways, and a state without constants')
    outer = torch.nn.Sequential(module('edges').Convolution(), torch.nn.Linear(2, 2))
    state = outer.state_dict()
    outer.load_state_dict(state | {'0._compiled_main_right._w3j_1_1_1': torch.zeros(3, 3, 3)}, strict=True)
    fails(RuntimeError, 'Unexpected key(s)', lambda: outer.load_state_dict(state | {'0.other': torch.zeros(1)}), 'strict')


# ---- types ----

class Layers(torch.nn.Module):
    """A batch with weights of its own, and a convolution."""

    def __init__(self, batch, edges):
        super().__init__()
        self.batch, self.edges = module(batch).TensorProduct(internal_weights=True), module(edges).Convolution()

    def forward(self, u, v, x, y, w, edge_index):
        return self.batch(u, v).square().sum() + self.edges(x, y, w, edge_index).square().sum()


def check_types():
    """Products of float32 and float64 in one package: the type of what is given decides, also compiled and scripted."""
    torch.manual_seed(1)
    model, wide = Layers('modes_single', 'edges_single'), Layers('modes', 'edges')
    wide.load_state_dict(model.state_dict(), strict=True)
    inputs = [*rows(module('modes').PRODUCT, 3, 0)[:2], *rows(module('edges').PRODUCT, EDGES, NODES)]
    edges = lists(0)
    single = [a.float() for a in inputs]

    def derivatives(model, arrays):
        arrays = [a.detach().requires_grad_() for a in arrays]
        value = model(*arrays, edges)
        return [value, *torch.autograd.grad(value, arrays)]
    before = derivatives(model, single)
    ok(all(a.dtype == torch.float32 for a in before), 'float32 as it is')
    model.double()
    for number, (a, b) in enumerate(zip(derivatives(model, inputs), derivatives(wide, inputs))):
        ok(a.dtype == torch.float64 and torch.equal(a, b), f'model.double(): array {number} is that of a model of float64')
    compiled = torch.compile(model, fullgraph=True)
    near(compiled(*inputs, edges), wide(*inputs, edges), 'compiled')
    near(make_fx(model)(*inputs, edges)(*inputs, edges), wide(*inputs, edges), 'by make_fx')
    near(torch.jit.script(copy.deepcopy(model))(*inputs, edges), wide(*inputs, edges), 'scripted')
    near(torch.export.export(model, (*inputs, edges)).module()(*inputs, edges), wide(*inputs, edges), 'exported')
    model.float()
    ok(all(torch.equal(a, b) for a, b in zip(derivatives(model, single), before)), 'model.float(): and back, the same bits')
    wide.float()
    ok(torch.equal(wide(*single, edges), model(*single, edges)), 'a model of float64 in float32')
    fails(RuntimeError, 'x is of float16, not float64', lambda: wide.batch(single[0].half(), single[1].half()), 'a type that there is none of')
    fails(RuntimeError, 'y is of float64, not float32', lambda: model.batch(single[0], inputs[1]), 'two types')
    with torch.autocast('cpu', dtype=torch.bfloat16):
        ok(model.batch(single[0].bfloat16(), single[1].bfloat16()).dtype == torch.float32, 'autocast: the module\'s own type')


PARTS = {name[6:]: part for name, part in globals().items() if name.startswith('check_')}
for chosen in sys.argv[2:] or PARTS:
    print(f'# {chosen}')
    PARTS[chosen]()
done()
