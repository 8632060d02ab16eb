#!/usr/bin/env python3
"""What PyTorch does with the package that tests/torch.t built: numbers, derivatives, transforms, compiled programs,
errors. PACKAGE has the products of tests/torch/specs and some of tests/golden.

    tests/torch/check.py PACKAGE PART...

DEVICE=cuda: golden, gradients and closure on a GPU.
"""
import copy
import ctypes
import gc
import importlib
import io
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import torch

sys.dont_write_bytecode = True
from common import FOLDER, fails, module, near, rows  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402
from wheel import golden_arrays  # noqa: E402

# ---- numbers ----

def golden(name):
    """The arrays of a golden case."""
    return {key: torch.tensor(numbers, dtype=torch.float64).reshape(n, columns)
            for key, (n, columns, numbers) in golden_arrays(name).items()}


def check_golden():
    names = sorted(path[:-3] for path in os.listdir(FOLDER) if path.startswith('g_') and path.endswith('.py'))
    ok(len(names) > 4, f'{len(names)} cases of e3nn')
    for name in names:
        m, a = module(name), golden(name)
        p = m.PRODUCT
        x, y, gz = (a[k].clone().requires_grad_() for k in ('x', 'y', 'gz'))
        w = a['w'].clone().requires_grad_() if p.weight_numel else None
        if p.edges:
            more = (torch.stack([a['sender'][0], a['receiver'][0]]).long(), len(a['gz']))
            layer = m.Convolution()
        else:
            more, layer = (), m.TensorProduct(internal_weights=False)
        if 'coefficients' in a:
            near(torch.tensor([i.path_weight for i in p.instructions], dtype=torch.float64), a['coefficients'][0],
                 f'{name}: path weights')
        z = layer(x, y, w, *more)
        near(z, a['z'], f'{name}: z')
        inputs = [x, y] + [w] * (w is not None)
        first = torch.autograd.grad(z, inputs, gz, create_graph=True)
        for found, key in zip(first, ('gx', 'gy', 'gw')):
            near(found, a[key], f'{name}: {key}')
        if 'ax' in a:
            # e3nn's differentiates all of gx, gy and gw along their cotangents.
            second = torch.autograd.grad(first, [*inputs, gz], [a[k] for k in ('ax', 'by', 'cw')[:len(inputs)]],
                                         create_graph=True)
            for found, key in zip(second, ['d_x', 'd_y', 'd_w'][:len(inputs)] + ['d_gz']):
                near(found, a[key], f'{name}: {key}')
            if 'a2x' in a:
                third = torch.autograd.grad(second, [*inputs, gz],
                                            [a[k] for k in ['a2x', 'b2y', 'c2w'][:len(inputs)] + ['e2gz']])
                for found, key in zip(third, ['t_x', 't_y', 't_w'][:len(inputs)] + ['t_gz']):
                    near(found, a[key], f'{name}: {key}')


def c_call(name, kernel, arrays, outputs):
    """The same kernel by its C function."""
    p = module(name).PRODUCT
    library = ctypes.CDLL(f'{FOLDER}/lib{name}_cpu.so')
    items = ctypes.c_int64(len(arrays[0]))
    size = getattr(library, f'{name}_{kernel}_workspace')
    size.restype = ctypes.c_size_t
    room = torch.empty(size(items) + 16, dtype=torch.uint8)
    made = [torch.empty(len(arrays[0]), p.dim[slot], dtype=p.dtype[slot]) for slot in outputs]
    status = getattr(library, f'{name}_{kernel}')(
        items, *(ctypes.c_void_p(a.data_ptr()) for a in [*arrays, *made, room]), ctypes.c_size_t(room.numel()), None)
    assert status == 0, status
    return made


def check_c():
    """Bit for bit what the C functions return."""
    p = module('modes').PRODUCT
    for kernel in p.kernels:
        torch.manual_seed(3)
        arrays = [torch.randn(5, p.dim[slot[-1]], dtype=p.dtype[slot[-1]]) for slot in kernel.inputs.values()]
        found = p.operators[kernel.name](arrays, (5,))
        wanted = c_call('modes', kernel.name, arrays, kernel.outputs.values())
        ok(len(found) == len(wanted) and all(torch.equal(a, b) for a, b in zip(found, wanted)),
           f'modes, {kernel.name}: as the C function')


# ---- derivatives ----

def check_gradients():
    """Against finite differences: every mode, reverse, forward and mixed mode, up to second order; with all kernels and
    with two. A graph too."""
    for name in 'modes', 'modes_two':
        m = module(name)
        layer = m.TensorProduct()
        arrays = [a.requires_grad_() for a in rows(m.PRODUCT, 2, 0, scale=0.5)]
        ok(torch.autograd.gradcheck(layer, arrays, check_forward_ad=True, check_batched_grad=True,
                                    check_batched_forward_grad=True), f'{name}: gradcheck')
        arrays = [a.requires_grad_() for a in rows(m.PRODUCT, 1, 0, scale=0.5)]
        ok(torch.autograd.gradgradcheck(layer, arrays, check_fwd_over_rev=True), f'{name}: gradgradcheck')
    for name, nodes in ('edges', 3), ('edges_any', 3), ('environment', 3):
        m = module(name)
        edge_index = torch.tensor([[0, 2, 1, 1], [2, 0, 2, 0]])
        arrays = [a.requires_grad_() for a in rows(m.PRODUCT, 4, nodes, scale=0.5)]

        layer, shared = m.Convolution(internal_weights=False), m.PRODUCT.index['w'] == 'shared'

        def call(x, y, w):
            return layer(x, y, w[0] if shared else w, edge_index)
        ok(torch.autograd.gradcheck(call, arrays, check_forward_ad=True), f'{name}: gradcheck')
        ok(torch.autograd.gradgradcheck(call, arrays, check_fwd_over_rev=True), f'{name}: gradgradcheck')


def check_closure():
    """Orders beyond the kernels that there are: composed of forward and backward they equal the kernels made for it."""
    every, two = module('modes'), module('modes_two')
    arrays = [a.requires_grad_() for a in rows(every.PRODUCT, 3, 0)]

    def derivatives(layer, order):
        found = [layer(*arrays)]
        for n in range(order):
            torch.manual_seed(n)
            scalar = sum((f * torch.randn_like(f)).sum() for f in found) + sum((f**3).sum() for f in found)
            found = torch.autograd.grad(scalar, arrays, create_graph=True)
        return found

    for order in 1, 2, 3, 4:
        for a, b, s in zip(derivatives(every.TensorProduct(), order), derivatives(two.TensorProduct(), order), 'xyw'):
            near(a, b, f'derivatives of order {order} by {s}, with all kernels and with two')
    m = module('modes_one')
    fails(NotImplementedError, 'add backward to `kernels`',
          lambda: m.TensorProduct()(*(a.detach().requires_grad_() for a in arrays)).sum().backward(), 'forward alone')
    m = module('modes_none')
    fails(NotImplementedError, 'has no kernel forward', m.TensorProduct, 'a product without forward')
    m = module('shared')
    calls = []
    for operator in m.PRODUCT.operators.values():
        operator.__class__ = type('Counted', (type(operator),), {
            '__call__': lambda self, a, g: calls.append(self.kernel.name) or super(type(self), self).__call__(a, g)})
    x, y, _ = rows(m.PRODUCT, 4, 0)
    layer = m.TensorProduct()
    layer.weight.requires_grad_(False)
    layer(x.requires_grad_(), y).sum().backward()
    equal(calls, ['lambda', 'gx_alone'], 'of the kernels that have a gradient, the one with the fewest others is called')


def check_transforms():
    """torch.func: each equals a loop, or the other way to the same."""
    func = torch.func
    for name in 'modes', 'modes_two':
        m = module(name)
        layer = m.TensorProduct()
        x, y, w = rows(m.PRODUCT, 3, 0)
        xs = torch.stack([x, 2 * x, x - y])
        near(func.vmap(layer, (0, None, None))(xs, y, w), torch.stack([layer(v, y, w) for v in xs]), f'{name}: vmap over x')
        near(func.vmap(layer, (0, 0, None), out_dims=1)(xs, xs, w), torch.stack([layer(v, v, w) for v in xs], 1),
             f'{name}: vmap over x and y')
        near(func.vmap(func.vmap(layer, (0, None, None)), (None, 0, None))(xs, xs, w),
             torch.stack([torch.stack([layer(v, u, w) for v in xs]) for u in xs]), f'{name}: vmap of vmap')
        one = func.vmap(lambda x, y, w: layer(x, y, w))(x, y, w)
        near(one, layer(x, y, w), f'{name}: vmap over items')
        tangents = [torch.randn_like(a) for a in (x, y, w)]
        z, dz = func.jvp(layer, (x, y, w), tuple(tangents))
        jacobians = func.jacrev(layer, (0, 1, 2))(x, y, w)
        near(dz, sum(torch.tensordot(j, t, 2) for j, t in zip(jacobians, tangents)), f'{name}: jvp is jacrev times tangents')
        for a, b, s in zip(func.jacfwd(layer, (0, 1, 2))(x, y, w), jacobians, 'xyw'):
            near(a, b, f'{name}: jacfwd by {s} is jacrev')

        def number(x, y, w):
            return layer(x, y, w).square().sum()
        near(func.vmap(func.grad(number), (0, None, None))(xs, y, w), torch.stack([func.grad(number)(v, y, w) for v in xs]),
             f'{name}: vmap of grad')
        near(func.hessian(number)(x, y, w), func.jacrev(func.jacrev(number))(x, y, w), f'{name}: hessian')
    m = module('edges')
    layer, edge_index = m.Convolution(), torch.tensor([[0, 2, 1, 1], [2, 0, 2, 0]])
    x, y, w = rows(m.PRODUCT, 4, 3)
    graph = m.prepare_graph(edge_index, 3)
    xs, ws = torch.stack([x, -x]), torch.stack([w, w + 1])
    near(func.vmap(lambda x, w: layer(x, y, w, graph))(xs, ws), torch.stack([layer(a, y, b, graph) for a, b in zip(xs, ws)]),
         'edges: vmap is a graph of copies')
    m = module('environment')
    layer, (x, y, w) = m.Convolution(internal_weights=False), rows(m.PRODUCT, 4, 3)
    near(func.vmap(lambda w: layer(x, y, w, edge_index))(torch.stack([w[0], -w[0]])),
         torch.stack([layer(x, y, w[0], edge_index), layer(x, y, -w[0], edge_index)]), 'environment: vmap over shared weights')
    near(func.vmap(lambda x: layer(x, y, w[0], edge_index))(torch.stack([x, -x])),
         torch.stack([layer(x, y, w[0], edge_index), layer(-x, y, w[0], edge_index)]), 'environment: vmap over rows of edges')


def check_opcheck():
    for name, size in ('modes', 3), ('edges', 4), ('edges_any', 4), ('shared', 3):
        m = module(name)
        p = m.PRODUCT
        graph = (3,)
        if p.edges:
            g = m.prepare_graph(torch.tensor([[0, 2, 1, 1], [2, 0, 2, 0]]), 3, sort=p.edges == 'sorted', dtype=p.index_dtype)
            graph = m.Convolution()._arguments(g)
        for kernel in p.kernels[:4]:
            count = {'item': size, 'sender': 3, 'receiver': 3, 'shared': 1}
            arrays = [torch.randn(count[p.index[s[-1]]], p.dim[s[-1]], dtype=p.dtype[s[-1]], requires_grad=True)
                      for s in kernel.inputs.values()]
            result = torch.library.opcheck(p.operators[kernel.name].op, (*arrays, *graph), raise_exception=False)
            ok(all(said == 'SUCCESS' for said in result.values()), f'opcheck: {name}, {kernel.name}', result)


# ---- compiled programs ----

def check_compiled():
    batch, edges = module('modes'), module('edges')
    tensor_product, convolution = batch.TensorProduct(), edges.Convolution()

    def model(x, y, w, graph):
        return convolution(tensor_product(x, y, w)[:, :8].contiguous(), y[:, :4], w[:, :6], graph).square().sum()

    torch.manual_seed(0)
    nodes = 5
    compiled = torch.compile(model, fullgraph=True, dynamic=True)
    for seed in 1, 2:  # other sizes, the same code
        x, y, w = (a.requires_grad_() for a in rows(batch.PRODUCT, nodes + seed, 0, seed))
        count = nodes + seed
        graph = edges.prepare_graph(torch.randint(0, count, (2, count)), count)
        for a, b, s in zip(torch.autograd.grad(compiled(x, y, w, graph), (x, y, w)),
                           torch.autograd.grad(model(x, y, w, graph), (x, y, w)), 'xyw'):
            near(a, b, f'torch.compile(fullgraph=True): gradient by {s}, {count} nodes')
    edge_index = torch.randint(0, count, (2, count))
    fresh = torch.compile(lambda x, y, w, e: convolution(x, y, w, e), fullgraph=True)
    x, y, w = rows(edges.PRODUCT, count, count)
    near(fresh(x, y, w, edge_index), convolution(x, y, w, edge_index), 'an edge_index is prepared inside of what is compiled')


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = module('edges').Convolution()
        self.dense = torch.nn.Linear(8, 8, dtype=torch.float64)

    def forward(self, x, y, w, edge_index):
        return self.dense(self.layer(self.dense(x), y, w, edge_index))


def check_exported():
    torch.manual_seed(0)
    model = Model().eval().requires_grad_(False)
    x, y, w = rows(module('edges').PRODUCT, 9, 5)
    inputs = (x, y, w, torch.randint(0, 5, (2, 9)))
    nodes, edges = torch.export.Dim('nodes', min=2), torch.export.Dim('edges', min=2)
    program = torch.export.export(model, inputs, dynamic_shapes=({0: nodes}, {0: edges}, {0: edges}, {1: edges}))
    ok('cgtp.edges_forward' in str(program.graph), 'torch.export: the operator is in the graph')
    stored = io.BytesIO()
    torch.export.save(program, stored)
    stored.seek(0)
    loaded = torch.export.load(stored).module()
    x, y, w = rows(module('edges').PRODUCT, 17, 6, seed=7)
    others = (x, y, w, torch.randint(0, 6, (2, 17)))
    for given, what in (inputs, 'as exported'), (others, 'other sizes'):
        near(loaded(*given), model(*given), f'torch.export, saved and loaded: {what}')
    path = os.path.join(FOLDER, 'model.pt2')
    torch._inductor.aoti_compile_and_package(program, package_path=path)
    runner = torch._inductor.aoti_load_package(path)
    for given, what in (inputs, 'as exported'), (others, 'other sizes'):
        near(runner(*given), model(*given), f'AOTInductor: {what}')
    with open(f'{FOLDER}/model.in', 'wb') as file:  # for aoti.cpp
        for value in (*others, model(*others)):
            file.write(value.contiguous().numpy().tobytes())


# ---- graphs ----

def check_graphs():
    for name in 'edges', 'edges_any', 'environment':
        m = module(name)
        p = m.PRODUCT
        layer = m.Convolution(**({'internal_weights': False} if name == 'environment' else {}))
        x, y, w = rows(p, 40, 7)
        w = w[0] if p.index['w'] == 'shared' else w
        torch.manual_seed(5)
        edge_index = torch.randint(0, 6, (2, 40))
        z = layer(x, y, w, edge_index, 7)
        order = torch.sort(edge_index[1], stable=True).indices

        def moved(slot, value):
            return value[order] if p.index[slot] == 'item' else value
        in_order = layer(moved('x', x), moved('y', y), moved('w', w), edge_index[:, order], 7)
        ok(torch.equal(in_order, moved('z', z)), f'{name}: edges in any order are as sorted ones')
        ok(torch.equal(z, layer(x, y, w, edge_index.clone(), 7)), f'{name}: the same bits again')
        swapped = type(layer)(sender_row=1, **({'internal_weights': False} if name == 'environment' else {}))
        ok(torch.equal(z, swapped(x, y, w, edge_index.flip(0), 7)), f'{name}: senders in row 1')
        ok(torch.equal(z, layer(x, y, w, edge_index.int(), 7)), f'{name}: an edge_index of int32')
        ok(torch.equal(z, layer(x, y, w, (edge_index[0], edge_index[1].clone()), 7)), f'{name}: senders and receivers as a pair')
        for nodes, edges in (0, 0), (3, 0):
            a = rows(p, edges, nodes)
            a[2] = a[2][0] if p.index['w'] == 'shared' else a[2]
            empty = layer(*(v.requires_grad_() for v in a), torch.empty(2, edges, dtype=torch.long), nodes)
            count = {'item': edges, 'sender': nodes, 'receiver': nodes}[p.index['z']]
            ok(empty.shape == (count, p.dim['z']) and not empty.any(), f'{name}: {nodes} nodes, no edges', empty.shape)
            ok(all(not g.any() for g in torch.autograd.grad(empty.sum(), a)), f'{name}: and their gradients')
    m = module('edges')
    x, y, w = rows(m.PRODUCT, 3, 4)
    layer, before = m.Convolution(), torch.tensor([[0, 1, 2], [2, 1, 0]])
    layer(x, y, w, before)
    traced, after = torch.jit.trace(layer, (x, y, w, before), check_trace=False), torch.tensor([[3, 3, 2], [1, 2, 0]])
    ok(torch.equal(traced(x, y, w, after), layer(x, y, w, after)), 'a trace holds no graph that it has seen')
    from_package = importlib.import_module(f'{os.path.basename(FOLDER)}.cgtp_torch_graph')
    edge_index = torch.tensor([[0, 1, 2], [2, 1, 0]])
    graph = m.prepare_graph(edge_index, 3)
    ok(m.prepare_graph(edge_index, 3) is graph, 'a graph is prepared once')
    edge_index[0, 0] = 1
    ok(m.prepare_graph(edge_index, 3) is not graph, 'and again when the edge_index has changed')
    equal(graph.order.tolist(), [2, 1, 0], 'order of edges')
    senders, receivers = edge_index[0].clone(), edge_index[1].clone()
    graph = m.prepare_graph((edge_index[0], edge_index[1]), 3)
    ok(m.prepare_graph((edge_index[0], edge_index[1]), 3) is graph, 'a graph of rows is prepared once, though views are new')
    ok(m.prepare_graph((edge_index[1], edge_index[0]), 3) is not graph, 'and again for the rows the other way round')
    graph = m.prepare_graph((senders, receivers), 3)
    receivers[0] = 0
    ok(m.prepare_graph((senders, receivers), 3).receiver.tolist() == sorted(receivers.tolist()),
       'and again when one of two arrays has changed')
    ok(torch.equal(graph.unsort(graph.sort(edge_index[0])), edge_index[0]), 'unsort undoes sort')
    equal(m.prepare_graph(torch.tensor([[2, 0], [0, 1]]), 3).order, None, 'a sorted list is left as it is')
    before = len(from_package._prepared)
    ascending = torch.tensor([[2, 0], [0, 1]], dtype=torch.int32)
    m.prepare_graph(ascending, 3)
    del ascending, edge_index, senders
    gc.collect()
    ok(len(from_package._prepared) < before + 1, 'a graph is forgotten with its edge_index')
    with torch.inference_mode():
        x, y, w = rows(m.PRODUCT, 2, 3)
        ok(m.Convolution()(x, y, w, torch.tensor([[2, 0], [1, 0]])).shape == (3, m.PRODUCT.dim['z']), 'inference mode')


# ---- what modules accept, and say ----

def check_modules():
    m = module('shared')
    p = m.PRODUCT
    torch.manual_seed(0)
    layer = m.TensorProduct()
    equal([layer.irreps_in1, layer.irreps_in2, layer.irreps_out, layer.weight_numel, layer.internal_weights,
           layer.shared_weights], ['3x0e+2x1o', '2x0e+1x1o', '2x0e+3x1o', 37, True, True], 'facts, by e3nn\'s names')
    equal(layer.instructions[1], (0, 1, 1, 'uvw', True, 0.6546536707079772, (3, 1, 3)), 'an instruction, sqrt(3/7)')
    equal([tuple(view.shape) for view in layer.weight_views()], [i.path_shape for i in layer.instructions], 'weight_views')
    ok(torch.equal(layer.weight_view_for_instruction(3).reshape(-1), layer.weight[33:]), 'weight_view_for_instruction')
    equal(sorted(layer.state_dict()), ['output_mask', 'weight'], 'what a state_dict has, as e3nn\'s')
    equal(layer.output_mask.tolist(), [1.0] * 11, 'output_mask')
    other = m.TensorProduct()
    x, y, _ = rows(p, 6, 0)
    ok(not torch.equal(layer(x, y), other(x, y)), 'modules have weights of their own')
    stored = io.BytesIO()
    torch.save(layer.state_dict(), stored)
    stored.seek(0)
    other.load_state_dict(torch.load(stored))
    ok(torch.equal(layer(x, y), other(x, y)), 'a state_dict, saved and loaded')
    stored = io.BytesIO()
    torch.save(layer, stored)
    stored.seek(0)
    ok(torch.equal(torch.load(stored, weights_only=False)(x, y), layer(x, y)), 'a module, saved and loaded')
    ok(torch.equal(copy.deepcopy(layer)(x, y), layer(x, y)), 'deepcopy')
    ok('3x0e+2x1o x 2x0e+1x1o -> 2x0e+3x1o | 4 paths | 37 weights' in repr(layer), 'repr', layer)
    near(layer(x.view(2, 3, -1), y.view(2, 3, -1)).double(), layer(x, y).view(2, 3, -1).double(), 'more dimensions')
    ok(torch.equal(layer(x, y[:1]), layer(x, y[:1].expand(6, -1))), 'operands broadcast')
    ok(torch.equal(layer(x[0], y[0]), layer(x[:1], y[:1])[0]), 'one item, without a dimension for it')
    ok(torch.equal(layer(x, y, layer.weight), layer(x, y)), 'weights may be passed')
    wide = torch.randn(6, 20)
    ok(torch.equal(layer(wide[:, 3:12], y), layer(wide[:, 3:12].clone(), y)), 'strides: a slice of columns')
    ok(torch.equal(layer(wide.view(-1)[1:55].view(6, 9), y), layer(wide.view(-1)[1:55].view(6, 9).clone(), y)),
       'a row that begins anywhere')
    with torch.autocast('cpu', dtype=torch.bfloat16):
        z = layer(x.bfloat16(), y)
    ok(z.dtype == torch.float32 and torch.equal(z, layer(x.bfloat16().float(), y)), 'autocast: computed in float32')
    layer(x, y).sum().backward()
    ok(layer.weight.grad is not None and layer.weight.grad.shape == (37,), 'the parameter has a gradient')
    batch = module('modes')
    row = torch.randn(batch.PRODUCT.dim['w'], dtype=torch.float64, requires_grad=True)
    u, v, _ = rows(batch.PRODUCT, 3, 0)
    z = batch.TensorProduct(shared_weights=True, internal_weights=False)(u, v, row)
    ok(torch.equal(z, batch.TensorProduct()(u, v, row.expand(3, -1))), 'one row of weights for a product of rows of them')
    own = batch.TensorProduct(internal_weights=True)
    ok(own.shared_weights and own(u, v).shape == z.shape, 'or weights of its own')


def copies(call):
    """How many copies of tensors are made meanwhile, and what is returned."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        found = call()
    return sum(event.count for event in seen.key_averages() if event.key in ('aten::copy_', 'aten::clone')), found


def check_slices():
    """rows: strided. Columns of wider tensors are read where they are, also by derivatives."""
    m = module('slices')
    layer, p = m.Convolution(), m.PRODUCT
    graph = m.prepare_graph(torch.tensor([[1, 2, 0, 2, 0], [0, 0, 1, 3, 3]]), 4)
    torch.manual_seed(0)
    wide = [torch.randn(rows, p.dim[slot] + 6, dtype=torch.float64) for rows, slot in ((4, 'x'), (5, 'y'), (5, 'w'))]
    sliced = [array[:, 2:-4] for array in wide]
    op = p.operators['forward']
    number, found = copies(lambda: op.op(*sliced, *graph[:2], *graph[4:7]))
    wanted = layer(*(array.contiguous() for array in sliced), graph)
    ok(number == 0 and torch.equal(found, wanted), 'slices are read in place', number)
    number, found = copies(lambda: layer(*sliced, graph))
    ok(number == 0 and torch.equal(found, wanted), 'by the module, too', number)
    number, found = copies(lambda: layer(wide[0][:, 1:-5], *sliced[1:], graph))
    ok(number > 0 and torch.equal(found, layer(wide[0][:, 1:-5].clone(), *sliced[1:], graph)),
       'one that begins elsewhere is copied', number)
    odd = torch.randn(4, p.dim['x'] + 1, dtype=torch.float64)[:, :-1]
    ok(torch.equal(layer(odd, *sliced[1:], graph), layer(odd.clone(), *sliced[1:], graph)), 'and one of odd strides')
    row = torch.randn(1, p.dim['x'], dtype=torch.float64).expand(4, -1)
    ok(torch.equal(layer(row, *sliced[1:], graph), layer(row.clone(), *sliced[1:], graph)), 'rows that are one row')
    inputs = [array.detach().requires_grad_() for array in wide]
    torch.autograd.gradcheck(lambda x, y, w: layer(x[:, 2:-4], y[:, 2:-4], w[:, 2:-4], graph), inputs)
    torch.autograd.gradgradcheck(lambda x, y, w: layer(x[:, 2:-4], y[:, 2:-4], w[:, 2:-4], graph), inputs)
    ok(True, 'gradcheck and gradgradcheck of slices')
    fails(RuntimeError, 'x has strides', lambda: op.op(sliced[0].t().contiguous().t(), *sliced[1:], *graph[:2], *graph[4:7]),
          'columns')


def check_e3nn():
    """A module of e3nn and ours exchange their states, and compute the same."""
    try:
        from e3nn import o3
    except ImportError:
        return skip('modules of e3nn', 'no e3nn')
    m = module('shared')
    x, y, _ = rows(m.PRODUCT, 6, 0)
    theirs = o3.FullyConnectedTensorProduct('3x0e + 2x1o', '2x0e + 1x1o', '2x0e + 3x1o')
    ours = m.TensorProduct()
    ours.load_state_dict(theirs.state_dict())
    wanted = theirs(x, y)
    ok((ours(x, y) - wanted).abs().max() <= 100 * torch.finfo(x.dtype).eps * wanted.abs().max(), 'e3nn: its state_dict')
    theirs.load_state_dict(m.TensorProduct().state_dict())
    for ours_is, theirs_is in zip(ours.instructions, theirs.instructions):
        ok(ours_is[:5] == tuple(theirs_is)[:5] and abs(ours_is.path_weight - theirs_is.path_weight) < 1e-7 and
           ours_is.path_shape == tuple(theirs_is.path_shape), 'e3nn: an instruction', ours_is, theirs_is)
    for name in 'weight_numel', 'internal_weights', 'shared_weights':
        equal(getattr(ours, name), getattr(theirs, name), f'e3nn: {name}')
    ok(torch.equal(ours.output_mask, theirs.output_mask), 'e3nn: output_mask')
    for a, b in zip(ours.weight_views(), theirs.weight_views()):
        ok(a.shape == b.shape, 'e3nn: shape of a weight view')


def check_errors():
    m = module('shared')
    layer, (x, y, w) = m.TensorProduct(), rows(m.PRODUCT, 4, 0)
    op = m.PRODUCT.forward().op
    fails(ValueError, 'x has shape [4, 8]: its rows are to have 9', lambda: layer(x[:, 1:], y), 'columns')
    fails(RuntimeError, 'y is of float64, not float32', lambda: layer(x, y.double()), 'type')
    fails(RuntimeError, 'x has strides [1, 4]: it is not contiguous', lambda: op(x.t().contiguous().t(), y, w, 4), 'strides')
    fails(RuntimeError, 'y has shape [3, 5], not [4, 5]', lambda: op(x, y[:3], w, 4), 'rows')
    fails(RuntimeError, 'x has shape [36], not [4, 9]', lambda: op(x.view(-1), y, w, 4), 'dimensions')
    fails(RuntimeError, 'number of items is negative', lambda: op(x, y, w, -1), 'items')
    fails(ValueError, 'it is to have 37', lambda: layer(x, y, torch.randn(4, 37)), 'a row of shared weights for each item')
    fails(ValueError, 'shared_weights=False needs a product with w: item', lambda: m.TensorProduct(shared_weights=False),
          'a shared row')
    fails(RuntimeError, 'pass them to forward', lambda: module('modes').TensorProduct()(
        *rows(module('modes').PRODUCT, 2, 0)[:2]), 'no weights')
    with torch._subclasses.FakeTensorMode():
        a, b, c = (torch.empty(*v.shape) for v in (x, y, w))
        fails(RuntimeError, 'y has shape [3, 5], not [4, 5]', lambda: op(a, b[:3], c, 4), 'a fake tensor')
    m = module('edges')
    layer, (x, y, w) = m.Convolution(), rows(m.PRODUCT, 3, 2)
    edge_index = torch.tensor([[0, 1, 1], [1, 0, 0]])
    fails(IndexError, 'edge_index has a sender 2', lambda: layer(x, y, w, edge_index + torch.tensor([[1], [0]])), 'an edge')
    fails(IndexError, 'edge_index has a receiver -1', lambda: layer(x, y, w, edge_index - torch.tensor([[0], [1]])), 'an edge')
    fails(ValueError, 'edge_index has shape [3, 2], not [2, edges]', lambda: layer(x, y, w, edge_index.T), 'edges')
    fails(ValueError, 'sender and receiver have shapes [3] and [2], not [edges]',
          lambda: layer(x, y, w, (edge_index[0], edge_index[1, :2])), 'edges')
    fails(TypeError, 'edge_index is of torch.float32', lambda: layer(x, y, w, edge_index.float()), 'edges')
    fails(TypeError, 'pass prepare_graph that dtype',
          lambda: layer(x, y, w, m.prepare_graph(edge_index, 2, dtype=torch.int64)), 'node numbers')
    fails(ValueError, 'needs sorted edges', lambda: layer(x, y, w, m.prepare_graph(edge_index, 2, sort=False)), 'a graph')
    copied = os.path.join(tempfile.mkdtemp(), 'again')
    shutil.copytree(FOLDER, copied)
    sys.path.insert(0, os.path.dirname(copied))
    fails(ImportError, 'are there already, of another library', lambda: importlib.import_module('again.edges'), 'a second package')
    with open(f'{copied}/__init__.py', 'w'):  # imports no product
        pass
    sys.modules.pop('again', None)
    with open(f'{copied}/modes_two.py') as file:
        text = file.read()
    with open(f'{copied}/stale.py', 'w') as file:
        file.write(re.sub('digest="[^"]*"', 'digest="0"', text.replace('modes_two', 'stale')))
    fails(ImportError, 'there is no library of stale', lambda: importlib.import_module('again.stale'), 'not built')
    shutil.rmtree(os.path.dirname(copied))
    fails(RuntimeError, 'x has shape [2, 8], not [4, 8]', lambda: layer(x, y, w, m.prepare_graph(edge_index, 4)), 'nodes')
    fails(RuntimeError, 'y has shape [3, 4], not [2, 4]', lambda: layer(x, y, w, m.prepare_graph(edge_index[:, :2], 2)._replace(
        order=None)), 'edges')


def check_memory():
    """What there is no memory for is said by PyTorch's own type, also where autograd records the call."""
    m = module('shared')
    layer, (x, y, _) = m.TensorProduct(), rows(m.PRODUCT, 1 << 21, 0)
    layer(x[:64], y[:64])
    with open('/proc/self/statm') as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 24), before[1]))
    try:
        with torch.no_grad():
            fails(torch.OutOfMemoryError, 'cgtp::shared_lambda: out of memory', lambda: layer(x, y), 'a call')
        fails(torch.OutOfMemoryError, 'cgtp::shared_lambda: out of memory', lambda: layer(x, y), 'a call that is recorded')
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    ok(layer(x[:64], y[:64]).isfinite().all(), 'and the next one works')


THREADS = """
import os, re, sys, torch
from {package} import shared
torch.set_num_threads(int(sys.argv[1]))
x, y, w = (torch.ones(1024 if shared.PRODUCT.index[s] == 'item' else 1, shared.PRODUCT.dim[s]) for s in 'xyw')
with open('/proc/self/maps') as file:
    libraries = set(re.findall(r'/\\S*lib(?:gomp|omp|iomp5)[-.]\\S*', file.read()))
before = len(os.listdir('/proc/self/task'))
shared.TensorProduct(internal_weights=False)(x, y, w)
print(len(libraries), len(os.listdir('/proc/self/task')) - before)
"""
SPAWNED = """
import torch
from {package} import shared
def call(number):
    x, y, w = (torch.ones(1024 if shared.PRODUCT.index[s] == 'item' else 1, shared.PRODUCT.dim[s]) for s in 'xyw')
    return shared.TensorProduct(internal_weights=False)(x, y, w).sum().item()
if __name__ == '__main__':
    here = call(0)
    with torch.multiprocessing.get_context('spawn').Pool(2) as pool:
        print(set(pool.map(call, range(4))) == {{here}})
"""


def check_threads():
    """Kernels have the threads that PyTorch is told to have, where both have one library of OpenMP; workers that are spawned work,
    after calls here."""
    def told(text, *words):
        with tempfile.TemporaryDirectory() as folder:
            with open(f'{folder}/program.py', 'w') as file:
                file.write(text.format(package=os.path.basename(FOLDER)))
            environment = {key: value for key, value in os.environ.items() if key != 'OMP_NUM_THREADS'}
            environment['PYTHONPATH'] = os.path.dirname(FOLDER)
            return subprocess.run([sys.executable, '-W', 'ignore', f'{folder}/program.py', *words], text=True, timeout=300,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    found = {n: told(THREADS, str(n)) for n in (1, 3)}
    if found[1].startswith('1 '):
        equal(found, {1: '1 0\n', 3: '1 2\n'}, 'torch.set_num_threads: kernels start as many threads')
    else:
        skip('torch.set_num_threads', f'there are several libraries of OpenMP: {found[1]}')
    equal(told(SPAWNED), 'True\n', 'workers that are spawned after a call')


PARTS = {name[6:]: part for name, part in globals().items() if name.startswith('check_')}
for chosen in sys.argv[2:] or PARTS:
    print(f'# {chosen}')
    PARTS[chosen]()
done()
