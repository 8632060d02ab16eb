#!/usr/bin/env python3
"""Lists of edges on a CUDA device: rewritten in place by others than PyTorch, wrong numbers in programs, and what it costs to
compare. `make gpu-torch` builds FOLDER (gpu.py build) and runs this; by hand

    tests/torch/gpu_lists.py FOLDER/site/products

A list that was rewritten gives what is right or NaN, the next call says so, and the one after is right. The cost is that of
the kernels that compare and answer for outputs, by PyTorch's profiler, and the difference of a forward of
specs/mace_large.yaml at 158,000 edges with an edge_index and with a Graph, by CUDA's events in turn: at most 2 % of it.
"""
import ctypes
import ctypes.util
import os
import sys

os.environ['DEVICE'] = 'cuda'
import torch  # noqa: E402

sys.dont_write_bytecode = True
from common import fails, module, rows  # noqa: E402
from tap import done, ok, skip  # noqa: E402

NODES, EDGES = 50, 3000
MEASURED = 5000, 158000  # atoms and edges
SHARE_MOST = 0.02


def lists(n, nodes=NODES, edges=EDGES, ascending=False):
    torch.manual_seed(100 + n)
    made = torch.randint(0, nodes, (2, edges))
    return made[:, made[1].argsort(stable=True)].contiguous() if ascending else made


# ---- writers, none of which PyTorch knows of ----

def by_data(edges):
    return lambda new: edges.data.copy_(new)


def by_dlpack(edges):
    shared = torch.from_dlpack(edges.__dlpack__())
    return lambda new: shared.copy_(new)


def by_ctypes(edges):
    runtime = ctypes.CDLL(next(line.split()[-1] for line in open('/proc/self/maps') if 'libcudart' in line))

    def write(new):
        torch.cuda.synchronize()
        runtime.cudaMemcpy(ctypes.c_void_p(edges.data_ptr()), ctypes.c_void_p(new.contiguous().data_ptr()),
                           ctypes.c_size_t(8 * new.numel()), 3)
    return write


def by_cupy(edges):
    import cupy
    shared = cupy.from_dlpack(edges)
    return lambda new: shared.__setitem__(slice(None), cupy.from_dlpack(new.contiguous()))


def by_warp(edges):
    import warp
    shared = warp.from_torch(edges)
    return lambda new: warp.copy(shared, warp.from_torch(new.contiguous()))


def by_numba(edges):
    from numba import cuda
    shared = cuda.as_cuda_array(edges)
    return lambda new: shared.copy_to_device(cuda.as_cuda_array(new.contiguous()))


WRITERS = {name[3:]: writer for name, writer in globals().items() if name.startswith('by_')}


def outcome(call, wanted):
    """Of a call and, to have it told, a synchronisation: right, NaN, said or wrong."""
    try:
        found = call()
        torch.cuda.synchronize()
    except RuntimeError as error:
        return 'said' if 'rewritten in place' in str(error) else f'wrong: {error}'
    if torch.equal(found, wanted):
        return 'right'
    return 'NaN' if found.isnan().all() else 'wrong'


def check_writers():
    for name, writer in WRITERS.items():
        for product in 'edges', 'edges_any':
            m = module(product)
            x, y, w = rows(m.PRODUCT, EDGES, NODES)
            layer, edges = m.Convolution(), lists(0)
            try:
                write = writer(edges)
            except (ImportError, AttributeError) as error:  # a package that is not there, or does not import
                skip(f'{product}: {name} writes', str(error))
                continue
            seen = []
            for n in 0, 1, 2:
                write(lists(n))
                wanted = layer(x, y, w, lists(n))
                seen.append([outcome(lambda: layer(x, y, w, edges), wanted) for _ in range(4)])
            allowed = [['right'] * 4, ['NaN', 'said', 'right', 'right']]
            ok(all(some in allowed for some in seen), f'{product}: {name} writes into the list', *seen)
            write(lists(0))
            graph = m.prepare_graph(edges, NODES, sort=m.PRODUCT.edges == 'sorted', dtype=m.PRODUCT.index_dtype)
            ok(outcome(lambda: layer(x, y, w, graph), layer(x, y, w, lists(0))) == 'right',
               f'{product}: {name}: prepare_graph is of the list that is there')
    m = module('edges')
    layer, edges = m.Convolution(), lists(0)
    x, y, w = (a.requires_grad_() for a in rows(m.PRODUCT, EDGES, NODES))
    layer(x, y, w, edges)
    by_data(edges)(lists(1))
    z = layer(x, y, w, edges)
    try:
        gradients = torch.autograd.grad(z.sum(), (x, y, w))
        ok(all(g.isnan().all() for g in gradients), 'gradients of a result that is NaN are NaN')
    except RuntimeError as error:
        ok('rewritten in place' in str(error), 'gradients of a result that is NaN are NaN, or an error', error)
    for _ in range(2):
        try:
            layer(x, y, w, edges)
            torch.cuda.synchronize()
        except RuntimeError:
            pass
    ok(torch.equal(layer(x, y, w, edges), layer(x, y, w, lists(1))), 'and it goes on')


class Model(torch.nn.Module):
    def __init__(self, name, **options):
        super().__init__()
        self.layer = module(name).Convolution(**options)

    def forward(self, x, y, w, edge_index):
        return self.layer(x, y, w, edge_index)


def check_programs():
    for product in 'edges', 'edges_any':
        model, inputs = Model(product), rows(module(product).PRODUCT, EDGES, NODES)
        programs = {'torch.compile': torch.compile(model, fullgraph=True),
                    'torch.export': torch.export.export(model, (*inputs, lists(0))).module(),
                    'torch.jit.trace': torch.jit.trace(model, (*inputs, lists(0)), check_trace=False)}
        for name, program in programs.items():
            ok(torch.equal(program(*inputs, lists(1)), model(*inputs, lists(1))), f'{product}: {name}, another list')
            for at, value in ((0, 70), NODES), ((1, 2999), 2**40), ((0, 0), -1):
                edges = lists(0)
                edges[at] = value
                found = program(*inputs, edges)
                ok(found.isnan().all(), f'{product}: {name}: {value} makes the result NaN')
                torch.cuda.synchronize()
                fails(RuntimeError, f'a {("sender", "receiver")[at[0]]} at edge {at[1]} that is the number of no node',
                      lambda: program(*inputs, lists(0)), f'{product}: {name}: the next call')
                ok(torch.equal(program(*inputs, lists(2)), model(*inputs, lists(2))), f'{product}: {name}, and goes on')
    sorted_too = torch.compile(Model('edges', sorted=True), fullgraph=True)
    inputs = rows(module('edges').PRODUCT, EDGES, NODES)
    ok(torch.equal(sorted_too(*inputs, lists(1, ascending=True)), Model('edges')(*inputs, lists(1, ascending=True))), 'sorted')
    ok(sorted_too(*inputs, lists(1)).isnan().all(), 'said to be sorted, and not: NaN')
    torch.cuda.synchronize()
    fails(RuntimeError, 'does not ascend by receiver', lambda: sorted_too(*inputs, lists(1, ascending=True)), 'the next call')


def check_prepared():
    """What the operator makes on the device is what it makes on a CPU."""
    module('edges')  # which registers it
    for what in range(3):
        for size, dtype in (4, torch.int32), (8, torch.int64):
            for given in torch.int32, torch.int64:
                for n, edges in (1, 0), (50, 1), (300, 70000):
                    made = lists(edges, n, edges, ascending=what == 1).to(given)
                    op = torch.ops.cgtp_graph.edges_prepare
                    here = op(made[0].cpu(), made[1].cpu(), n, n, what, size)
                    there = op(made[0], made[1], n, n, what, size)
                    ok(all(torch.equal(a, b.cpu()) and a.dtype == b.dtype for a, b in zip(here, there)),
                       f'prepare {what}, {given} to {dtype}, {edges} edges: as on a CPU')


# ---- cost ----

def milliseconds(calls, rounds=30, each=10):
    """Of each, in turn: the median of rounds."""
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, mine in zip(calls, times):
            call(), call()  # the device has work while the host gets ahead of it: its time is not measured
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(each):
                call()
            end.record()
            torch.cuda.synchronize()
            mine.append(begin.elapsed_time(end) / each)
    return [sorted(mine)[rounds // 2] for mine in times]


def check_cost():
    m = module('mace_large')
    layer, (nodes, edges) = m.Convolution(), MEASURED
    x, y, w = rows(m.PRODUCT, edges, nodes)
    edge_index = lists(0, nodes, edges, ascending=True)
    graph = m.prepare_graph(edge_index, nodes)
    with torch.no_grad():
        by_graph, by_list = milliseconds([lambda: layer(x, y, w, graph), lambda: layer(x, y, w, edge_index)])
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
            for _ in range(20):
                layer(x, y, w, edge_index)
            torch.cuda.synchronize()
    kernels = {event.key.split('(')[0].split('::')[-1]: event.device_time_total / 20 for event in seen.key_averages() if 'cgtp_guard' in event.key}
    print(f'# mace_large forward, {edges} edges: with a Graph {by_graph:.4f} ms, with an edge_index {by_list:.4f} ms, '
          f'{100 * (by_list / by_graph - 1):.2f} % more; us of kernels: '
          + ', '.join(f'{name} {us:.2f}' for name, us in kernels.items()), flush=True)
    ok(len(kernels) == 2 and sum(kernels.values()) <= SHARE_MOST * by_graph * 1000,
       f'comparing takes at most {100 * SHARE_MOST} % of a forward', kernels, by_graph)


for part in check_prepared, check_writers, check_programs, check_cost:
    print(f'# {part.__name__}')
    part()
done()
