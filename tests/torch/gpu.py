#!/usr/bin/env python3
"""On a CUDA device: operators against e3nn and against the same product on the CPU, streams, CUDA graphs, what a call
costs beside its launch. `make gpu-torch` builds the package and runs this, then check.py on the device.

    tests/torch/gpu.py build GENERATOR FOLDER     generates and builds FOLDER/site/products, for CPUs and CUDA, and, where
                                                  there is a device, a program of AOTInductor with them, and calls.cpp
    tests/torch/gpu.py run FOLDER
"""
import ctypes
import importlib
import os
import re
import subprocess
import sys
import time

import torch

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from cases import GOLDEN, OTHERS  # noqa: E402
from tap import done, ok, skip  # noqa: E402
from wheel import Wheel  # noqa: E402

FOLDER = os.path.abspath(f'{sys.argv[-1]}/site/products')
CUDA = torch.device('cuda', 0)
CALLS = 20           # kernels of one program of AOTInductor
OVERHEAD_MOST = 2    # calls of x + x, since hosts differ: 15 us where that takes 7.5
# A program of kernels alone has no vectors of the CPU; trying compilers for them takes PyTorch longer than all else.
SETTINGS = {'cpp.vec_isa_ok': False, 'aot_inductor.precompile_headers': False}


def module(name):
    return importlib.import_module(f'products.{name}')


def build(generator, folder):
    wheel = Wheel('torch', folder, sys.executable)
    wheel.build(generator, wheel.specs(GOLDEN, OTHERS, 'specs/nequip_water.yaml', 'specs/mace_large.yaml'))
    if torch.cuda.is_available():
        subprocess.run([sys.executable, __file__, 'compile', folder], check=True)
        compile_calls()


def random_graph(nodes, edges, columns, dtype=torch.float32, device=CUDA):
    torch.manual_seed(edges)
    made = [torch.randn(rows, c, dtype=dtype, device=device) for rows, c in zip((nodes, edges, edges), columns)]
    return *made, torch.randint(0, nodes, (2, edges), device=device)


def derivatives(layer, arrays, *more):
    """z, first and second derivatives."""
    arrays = [a.detach().clone().requires_grad_() for a in arrays]
    z = layer(*arrays, *more)
    torch.manual_seed(1)
    first = torch.autograd.grad(z, arrays, torch.randn(z.shape, dtype=z.dtype).to(z.device), create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in first), arrays)
    return [z.detach(), *(g.detach() for g in first), *second]


def close(found, wanted, name, units):
    """Errors in units of the type's roundoff, relative to the largest element."""
    for number, (a, b) in enumerate(zip(found, wanted)):
        a, b = a.cpu(), b.cpu()
        bound = units * torch.finfo(a.dtype).eps * max(b.abs().max().item(), 1e-30)
        error = (a - b).abs().max().item()
        ok(a.shape == b.shape and error <= bound, f'{name}: array {number}', f'error {error}, bound {bound}')


def check_numbers():
    water, edges, modes = module('nequip_water'), module('edges'), module('modes')
    for n, product, dtype, sizes in ((water, water.PRODUCT, torch.float32, (97, 1777)),
                                     (edges, edges.PRODUCT, torch.float64, (20, 131))):
        x, y, w, edge_index = random_graph(*sizes, [product.dim[s] for s in 'xyw'], dtype)
        found = derivatives(n.Convolution(), (x, y, w), edge_index)
        wanted = derivatives(n.Convolution(), (x.cpu(), y.cpu(), w.cpu()), edge_index.cpu())
        close(found, wanted, f'{product.name}: as on the CPU', 100)
    p = modes.PRODUCT
    x, y, w = (torch.randn(33, p.dim[s], dtype=torch.float64, device=CUDA) for s in 'xyw')
    close(derivatives(modes.TensorProduct(), (x, y, w)),
          derivatives(modes.TensorProduct(), (x.cpu(), y.cpu(), w.cpu())), 'modes: as on the CPU', 100)
    try:
        from e3nn import o3
    except ImportError:
        return skip('e3nn', 'no e3nn')
    p = water.PRODUCT
    theirs = o3.TensorProduct(p.irreps['x'], p.irreps['y'], p.irreps['z'],
                              [(i.i_in1, i.i_in2, i.i_out, i.connection_mode, i.has_weight, i.path_weight**2)
                               for i in p.instructions], irrep_normalization='none', path_normalization='none',
                              shared_weights=False, internal_weights=False).to(CUDA)

    def sums(x, y, w, edge_index):
        return x.new_zeros(x.shape[0], p.dim['z']).index_add(0, edge_index[1], theirs(x[edge_index[0]], y, w))

    x, y, w, edge_index = random_graph(97, 1777, [p.dim[s] for s in 'xyw'])
    close(derivatives(water.Convolution(), (x, y, w), edge_index), derivatives(sums, (x, y, w), edge_index),
          'nequip_water: as e3nn', 200)


def check_streams():
    water = module('nequip_water')
    layer, p = water.Convolution(), water.PRODUCT
    x, y, w, edge_index = random_graph(1000, 30000, [p.dim[s] for s in 'xyw'])
    graph = water.prepare_graph(edge_index, 1000)
    y, w = graph.sort(y), graph.sort(w)
    graph = graph._replace(order=None)
    wanted = layer(x, y, w, graph)
    torch.cuda.synchronize()
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        torch.cuda._sleep(50_000_000)
        late = torch.zeros_like(x).copy_(x)  # zero until the stream has come by
        found = layer(late, y, w, graph)
    other.synchronize()
    ok(torch.equal(found, wanted), 'a call runs on the current stream, after what is on it')
    captured = torch.cuda.CUDAGraph()
    still = x.clone()
    with torch.cuda.graph(captured):
        result = layer(still, y, w, graph)
    for scale in (1, 2):
        still.copy_(x * scale)
        captured.replay()
        torch.cuda.synchronize()
        ok(torch.equal(result, layer(x * scale, y, w, graph)), f'a CUDA graph, replayed with {scale} x')
    x.requires_grad_()
    y.requires_grad_()
    w.requires_grad_()
    step = torch.compile(lambda *a: layer(*a, graph).square().sum(), fullgraph=True, mode='reduce-overhead')
    for _ in range(3):
        found = torch.autograd.grad(step(x, y, w), (x, y, w))
    wanted = torch.autograd.grad(layer(x, y, w, graph).square().sum(), (x, y, w))
    close(found, wanted, 'compiled into CUDA graphs', 100)
    with torch.autocast('cuda', dtype=torch.bfloat16):
        z = layer(x.bfloat16(), y, w, graph)
    ok(z.dtype == torch.float32, 'autocast: computed in float32')
    if torch.cuda.device_count() > 1:
        with torch.no_grad():
            z = layer(x.to('cuda:1'), y.to('cuda:1'), w.to('cuda:1'), graph.to('cuda:1'))
            ok(torch.equal(z.cpu(), layer(x, y, w, graph).cpu()), 'a device that is not the current one')
    try:
        layer(x, y.cpu(), w, graph)
        ok(False, 'arrays on two devices are refused')
    except RuntimeError as error:
        ok('not on cuda' in str(error) or 'y is on cpu' in str(error), 'arrays on two devices are refused', error)


def microseconds(call, calls=2000):
    """The host's time of a call, launches and no waiting: the least of five rounds."""
    best = float('inf')
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls // 5):
            call()
        best = min(best, (time.perf_counter() - start) / (calls // 5))
    torch.cuda.synchronize()
    return best * 1e6


def few_edges():
    """A graph where the host is what takes time."""
    water = module('nequip_water')
    x, y, w, edge_index = random_graph(4, 8, [water.PRODUCT.dim[s] for s in 'xyw'])
    return x, y, w, water.prepare_graph(edge_index, 4)._replace(order=None)


def program():
    """AOTInductor's of so many convolutions, which wait for nothing but each other."""
    layer, (x, y, w, graph) = module('nequip_water').Convolution(), few_edges()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, xs, y, w, *ends):
            return [self.layer(x, y, w, type(graph)(*ends[:2], len(x), len(x), *ends[2:], None)) for x in xs]

    inputs = ([x + n for n in range(CALLS)], y, w, graph.sender, graph.receiver, graph.receiver_row, graph.by_sender,
              graph.sender_row)
    path = f'{FOLDER}/calls.pt2'
    if not os.path.exists(path):
        torch._inductor.aoti_compile_and_package(torch.export.export(Model(), inputs), package_path=path,
                                                 inductor_configs=SETTINGS)


def compile_calls():
    """calls.cpp, with the libraries of this PyTorch."""
    of = os.path.dirname(torch.__file__)
    include = [word for folder in ('include', 'include/torch/csrc/api/include') for word in ('-isystem', f'{of}/{folder}')]
    subprocess.run(['c++', '-std=c++20', '-O1', '-Iruntime', *include, '-o', f'{FOLDER}/calls', 'tests/torch/calls.cpp',
                    f'-L{of}/lib', '-Wl,--no-as-needed', '-ltorch', '-ltorch_cpu', '-ltorch_cuda',
                    '-lc10', '-ldl', f'-Wl,-rpath,{of}/lib'], check=True)


def check_program():
    """AOTInductor's, run without Python."""
    libraries = [f'{FOLDER}/libnequip_water_{backend}.so' for backend in ('cpu', 'cuda')]
    result = subprocess.run([f'{FOLDER}/calls', f'{FOLDER}/calls.pt2', str(CALLS), str(CUDA), 'nequip_water', *libraries],
                            capture_output=True, text=True, env=os.environ | {'OMP_NUM_THREADS': '1'})
    found = re.match(r'bare launch (.*), call of AOTInductor (.*), x \+ x (.*)', result.stdout)
    if ok(found, 'a program of AOTInductor computes what the C function does', result.returncode, result.stdout,
          result.stderr[-2000:]):
        bare, call, add = map(float, found.groups())
        print(f'# us a call without Python: {result.stdout}', end='')
        ok(call - bare < add, "a call of AOTInductor's costs less than x + x more than the launch", (call - bare) / add)


def check_overhead():
    """A kernel on a graph of a few edges: the C function through ctypes, with all arguments made, and the operator, the
    module without and with gradients."""
    water = module('nequip_water')
    p, layer = water.PRODUCT, water.Convolution()
    x, y, w, graph = few_edges()
    operator = p.forward()
    arguments = (graph.sender, graph.receiver, graph.receiver_row, graph.by_sender, graph.sender_row)
    library = ctypes.CDLL(f'{FOLDER}/libnequip_water_cuda.so')

    class CGraph(ctypes.Structure):
        _fields_ = [(n, ctypes.c_int64) for n in ('items', 'senders', 'receivers')] + \
                   [(n, ctypes.c_void_p) for n in ('sender', 'receiver', 'receiver_row', 'by_sender', 'sender_row', 'order')]

    c_graph = CGraph(8, 4, 4, *(a.data_ptr() for a in (graph.sender, graph.receiver, graph.receiver_row, graph.by_sender,
                                                       graph.sender_row)))
    library.nequip_water_forward_workspace.restype = ctypes.c_size_t
    size = library.nequip_water_forward_workspace(ctypes.byref(c_graph))
    z, room = torch.empty(4, p.dim['z'], device=CUDA), torch.empty(size, dtype=torch.uint8, device=CUDA)
    pointers = [ctypes.c_void_p(a.data_ptr()) for a in (x, y, w, z, room)]
    given = (ctypes.byref(c_graph), *pointers, ctypes.c_size_t(size),
             ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    none = (*given[:-2], ctypes.c_size_t(0), given[-1])  # refused for want of a workspace: ctypes' own time
    bare = microseconds(lambda: library.nequip_water_forward(*given))
    ctypes_own = microseconds(lambda: library.nequip_water_forward(*none))
    ok(library.nequip_water_forward(*none) != 0, 'a workspace that is too small is refused')
    with torch.no_grad():
        op = microseconds(lambda: operator([x, y, w], arguments))
        mine = microseconds(lambda: layer(x, y, w, graph))
        add = microseconds(lambda: x + x)
    recorded = microseconds(lambda: layer(x.requires_grad_(), y, w, graph))
    print(f'# us a call: bare launch {bare:.1f}, of which ctypes {ctypes_own:.1f}, operator {op:.1f}, module {mine:.1f}, '
          f'module recording {recorded:.1f}, x + x {add:.1f}', flush=True)
    for name, took in ('an operator', op), ('a module', mine):
        ok(took - bare < OVERHEAD_MOST * add, f'{name} costs less than {OVERHEAD_MOST} x + x more than the launch',
           (took - bare) / add)


def main():
    if sys.argv[1] == 'build':
        return build(*sys.argv[2:])
    sys.path.insert(0, os.path.dirname(FOLDER))
    if sys.argv[1] == 'compile':
        return program()
    print(f'# PyTorch {torch.__version__}, {torch.cuda.get_device_name()}')
    check_numbers()
    check_streams()
    check_overhead()
    check_program()
    done()


if __name__ == '__main__':
    main()
