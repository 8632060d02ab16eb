#!/usr/bin/env python3
"""On a CUDA device: kernels against the same product on the CPU, what is done while others compute, what a call costs beside
its launch. `make gpu-jax` builds the package and runs this, then check.py on the device.

    tests/jax/gpu.py build GENERATOR FOLDER     generates and builds FOLDER/site/products, for CPUs and CUDA
    tests/jax/gpu.py run FOLDER
"""
import ctypes
import functools
import importlib
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from cases import GOLDEN, OTHERS  # noqa: E402
from tap import done, ok  # noqa: E402
from wheel import Wheel  # noqa: E402

CALLS = 100           # kernels of one compiled function
OVERHEAD_MOST = 15    # us a kernel in a compiled function, beside its launch


def build(generator, folder):
    wheel = Wheel('jax', folder, sys.executable)
    wheel.build(generator, wheel.specs(GOLDEN, OTHERS, 'specs/nequip_water.yaml'))


def derivatives(call, arrays):
    """z, first and second derivatives, a derivative along tangents."""
    import jax

    def first(*a):
        z, pull = jax.vjp(call, *a)
        return z, pull(z)

    def second(*a):
        return jax.grad(lambda *b: sum((g * g).sum() for g in first(*b)[1]), (0, 1, 2))(*a)
    along = jax.jvp(call, tuple(arrays), tuple(arrays))[1]
    return jax.tree.leaves((jax.jit(first)(*arrays), jax.jit(second)(*arrays), along))


def check_numbers(module):
    import jax
    import numpy as np
    for name, nodes, edges in ('nequip_water', 97, 1777), ('edges', 20, 131), ('edges_any', 20, 131), ('modes', 0, 33):
        m = module(name)
        p, numbers = m.PRODUCT, np.random.default_rng(edges)
        count = {'item': edges, 'sender': nodes, 'receiver': nodes, 'shared': 1}
        arrays = [numbers.normal(size=(count[p.index[s]], p.dim[s])).astype(p.dtype[s]) for s in 'xyw']
        if p.edges:
            call = functools.partial(m.convolve, graph=m.prepare_graph(
                numbers.integers(0, nodes, (2, edges)), nodes, sort=p.edges == 'sorted', dtype=p.index_dtype))
        else:
            call = m.tensor_product
        results = []
        for platform in 'cuda', 'cpu':
            with jax.default_device(jax.devices(platform)[0]):
                results.append([np.asarray(a) for a in derivatives(call, [jax.numpy.asarray(a) for a in arrays])])
        for number, (a, b) in enumerate(zip(*results)):
            bound = 200 * np.finfo(p.dtype['x']).eps * np.abs(b).max()
            ok(a.shape == b.shape and np.abs(a - b).max() <= bound, f'{name}: as on the CPU: array {number}',
               np.abs(a - b).max(), bound)


def check_order(module):
    """A call waits for what makes its operands, and what uses its results waits for it; the same bits each time."""
    import jax
    import numpy as np
    m = module('nequip_water')
    p, numbers = m.PRODUCT, np.random.default_rng(0)
    x, y, w = (jax.numpy.asarray(numbers.normal(size=(n, p.dim[s])).astype(np.float32))
               for n, s in ((1000, 'x'), (30000, 'y'), (30000, 'w')))
    graph = m.prepare_graph(numbers.integers(0, 1000, (2, 30000)), 1000)
    big = jax.numpy.ones((6000, 6000), np.float32)

    @jax.jit
    def step(x, big):
        late = x + 0 * (big @ big @ big)[:1000, :256]
        return m.convolve(late, y, w, graph) * 2

    wanted = np.asarray(m.convolve(x, y, w, graph)) * 2
    ok(all(np.array_equal(np.asarray(step(x, big)), wanted) for _ in range(10)), 'a call runs on the stream of its computation')


def microseconds(call, per_call=1):
    """The least of ten rounds, waited for at the end of each."""
    import jax
    jax.block_until_ready(call())
    best = float('inf')
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(20):
            last = call()
        jax.block_until_ready(last)
        best = min(best, (time.perf_counter() - start) / 20 / per_call)
    return best * 1e6


def check_lists(module):
    """Compiled programs that are given wrong lists: NaN, which the next call says; then they go on."""
    import jax
    import numpy as np
    for name in 'edges', 'edges_any':
        m = module(name)
        numbers = np.random.default_rng(0)
        x, y, w = (jax.numpy.asarray(numbers.normal(size=(n, m.PRODUCT.dim[s]))) for n, s in ((5, 'x'), (40, 'y'), (40, 'w')))
        right = numbers.integers(0, 5, (2, 40))
        compiled = jax.jit(m.convolve)
        wanted = m.convolve(x, y, w, right)
        for at, value in ((0, 7), 5), ((1, 9), 2**40), ((0, 0), -1):
            edges = right.copy()
            edges[at] = value
            found = jax.block_until_ready(compiled(x, y, w, edges))
            ok(jax.numpy.isnan(found).all(), f'{name}: a list with {value} at edge {at[1]} gives NaN')
            try:
                jax.block_until_ready(compiled(x, y, w, right))
                ok(False, f'{name}: the next call says why', 'nothing was said')
            except Exception as error:  # noqa: BLE001
                ok(f'at edge {at[1]} that is the number of no node' in str(error), f'{name}: the next call says why', error)
            ok(jax.numpy.array_equal(compiled(x, y, w, right), wanted), f'{name}: and the one after is right')


def bare_launch(folder, m, x, y, w, graph):
    """The C function through ctypes, with all arguments made; it launches on the default stream."""
    import jax
    p = m.PRODUCT
    library = ctypes.CDLL(f'{folder}/libnequip_water_cuda_jax.so')

    class CGraph(ctypes.Structure):
        _fields_ = [(n, ctypes.c_int64) for n in ('items', 'senders', 'receivers')] + \
                   [(n, ctypes.c_void_p) for n in ('sender', 'receiver', 'receiver_row', 'by_sender', 'sender_row', 'order')]

    c_graph = CGraph(len(y), len(x), len(x), *(a.unsafe_buffer_pointer() for a in (
        graph.sender, graph.receiver, graph.receiver_row, graph.by_sender, graph.sender_row)))
    library.nequip_water_forward_workspace.restype = ctypes.c_size_t
    size = library.nequip_water_forward_workspace(ctypes.byref(c_graph))
    z, room = jax.numpy.zeros((len(x), p.dim['z']), jax.numpy.float32), jax.numpy.zeros(size, jax.numpy.uint8)
    jax.block_until_ready((z, room))
    given = (ctypes.byref(c_graph), *(ctypes.c_void_p(a.unsafe_buffer_pointer()) for a in (x, y, w, z, room)),
             ctypes.c_size_t(size), None)
    status = library.nequip_water_forward(*given)
    ok(status == 0, 'the C function launches', status)
    return (lambda: library.nequip_water_forward(*given)), (z, room)


def check_overhead(module, folder):
    """A kernel on a graph of a few edges, where the host is what takes time."""
    import jax
    import numpy as np
    m = module('nequip_water')
    p, numbers = m.PRODUCT, np.random.default_rng(0)
    x, y, w = (jax.numpy.asarray(numbers.normal(size=(n, p.dim[s])).astype(np.float32)) for n, s in ((4, 'x'), (8, 'y'), (8, 'w')))
    graph = m.prepare_graph(np.sort(numbers.integers(0, 4, (2, 8))), 4)
    launch, alive = bare_launch(folder, m, x, y, w, graph)
    xs = [x + n for n in range(CALLS)]
    one = jax.jit(lambda x: m.convolve(x, y, w, graph))
    many = jax.jit(lambda xs: [m.convolve(x, y, w, graph) for x in xs])
    copies = jax.jit(lambda xs: [x + n for n, x in enumerate(xs)])
    add = jax.jit(lambda x: x + x)
    took = {'x + x, compiled': microseconds(lambda: add(x)), 'the C function, through ctypes': microseconds(launch),
            'a compiled function of one kernel': microseconds(lambda: one(x)),
            'not compiled': microseconds(lambda: m.convolve(x, y, w, graph)),
            f'each of {CALLS} kernels of a compiled function': microseconds(lambda: many(xs), CALLS),
            f'each of {CALLS} additions of a compiled function': microseconds(lambda: copies(xs), CALLS)}
    for words, us in took.items():
        print(f'# {words}: {us:.1f} us')
    del alive
    more = took[f'each of {CALLS} kernels of a compiled function'] - took['the C function, through ctypes']
    ok(more < OVERHEAD_MOST, f'a kernel of a compiled function costs less than {OVERHEAD_MOST} us more than its launch', more)


def main():
    if sys.argv[1] == 'build':
        return build(*sys.argv[2:])
    folder = os.path.abspath(f'{sys.argv[2]}/site/products')
    sys.path.insert(0, os.path.dirname(folder))
    import jax
    jax.config.update('jax_enable_x64', True)
    print(f'# JAX {jax.__version__}, {jax.devices()[0].device_kind}')

    def module(name):
        return importlib.import_module(f'products.{name}_jax')
    check_numbers(module)
    check_order(module)
    check_lists(module)
    check_overhead(module, folder)
    done()


main()
