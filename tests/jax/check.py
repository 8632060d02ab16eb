#!/usr/bin/env python3
"""What JAX does with the package that tests/jax.t built: numbers, derivatives, transforms, several devices, errors. On the
device that JAX takes, or with JAX_PLATFORMS on another. PACKAGE has the products of tests/torch/specs and some of
tests/golden.

    tests/jax/check.py PACKAGE PART...
"""
import ctypes
import dataclasses
import functools
import importlib
import itertools
import os
import re
import shutil
import sys
import tempfile

os.environ.setdefault('XLA_FLAGS', '--xla_force_host_platform_device_count=4')
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from tap import done, equal, ok, skip  # noqa: E402
from wheel import golden_arrays  # noqa: E402

jax.config.update('jax_enable_x64', sys.argv[2:] != ['single'])
FOLDER = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(FOLDER))
EPSILON = np.finfo(np.float64).eps
EDGES = np.array([[0, 2, 1, 1], [2, 0, 2, 0]])  # of 3 nodes, out of order


def module(name):
    return importlib.import_module(f'{os.path.basename(FOLDER)}.{name}_jax')


def function(name):
    """The product's function of x, y, w alone."""
    m = module(name)
    return functools.partial(m.convolve, graph=m.prepare_graph(
        EDGES, 3, sort=m.PRODUCT.edges == 'sorted', dtype=m.PRODUCT.index_dtype)) if m.PRODUCT.edges else m.tensor_product


def rows(product, items, nodes=0, seed=0, scale=1):
    """Random x, y, w."""
    count = {'item': items, 'sender': nodes, 'receiver': nodes, 'shared': 1}
    numbers = np.random.default_rng(seed)
    return [jnp.asarray(numbers.normal(size=(count[product.index[s]], product.dim[s])) * scale, product.dtype[s]) for s in 'xyw']


def fails(kind, words, call, name):
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return ok(isinstance(error, kind) and words in str(error), f'{name}: {words}', type(error), error)
    return ok(False, f'{name}: {words}', 'nothing was said')


def near(found, wanted, name, units=500, epsilon=EPSILON):
    """Errors relative to the largest of the array."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    bound = units * epsilon * max(np.abs(wanted).max() if wanted.size else 0, 1e-300)
    error = np.abs(found - wanted).max() if wanted.size and found.shape == wanted.shape else 0
    return ok(found.shape == wanted.shape and error <= bound, name, found.shape, wanted.shape, error, bound)


def all_near(found, wanted, name):
    found, wanted = jax.tree.leaves(found), jax.tree.leaves(wanted)
    return ok(len(found) == len(wanted), name) and [near(a, b, f'{name}: {i}') for i, (a, b) in enumerate(zip(found, wanted))]


def same(a, b):
    return np.array_equal(np.asarray(a), np.asarray(b))


# ---- numbers ----

def check_golden():
    names = sorted(path[:-7] for path in os.listdir(FOLDER) if path.startswith('g_') and path.endswith('_jax.py'))
    ok(len(names) > 4, f'{len(names)} cases of e3nn')
    for name in names:
        m = module(name)
        a = {key: np.array(numbers).reshape(n, columns) for key, (n, columns, numbers) in golden_arrays(name).items()}
        p = m.PRODUCT
        count = 3 if p.weight_numel else 2
        inputs = tuple(a[key] for key in 'xyw'[:count])
        if 'coefficients' in a:
            near([i.path_weight for i in p.instructions], a['coefficients'][0], f'{name}: path weights')
        if p.edges:
            graph = m.prepare_graph(np.stack([a['sender'][0], a['receiver'][0]]).astype(np.int64), len(a['x']), len(a['gz']))
            call = functools.partial(m.convolve, graph=graph) if count == 3 else \
                functools.partial(m.convolve, weight=None, graph=graph)
        else:
            call = m.tensor_product
        z, first = jax.vjp(jax.jit(call), *inputs)
        near(z, a['z'], f'{name}: z')
        for found, key in zip(first(a['gz']), ('gx', 'gy', 'gw')):
            near(found, a[key], f'{name}: {key}')
        if 'ax' not in a:
            continue

        def gradients(*arguments):
            return jax.vjp(call, *arguments[:-1])[1](arguments[-1])
        second = jax.vjp(jax.jit(gradients), *inputs, a['gz'])[1]
        cotangents = tuple(a[key] for key in ('ax', 'by', 'cw')[:count])
        keys = [*('d_x', 'd_y', 'd_w')[:count], 'd_gz']
        for found, key in zip(second(cotangents), keys):
            near(found, a[key], f'{name}: {key}')
        if 'a2x' in a:
            third = jax.vjp(lambda *arguments: jax.vjp(gradients, *arguments)[1](cotangents), *inputs, a['gz'])[1]
            for found, key in zip(third(tuple(a[key] for key in [*('a2x', 'b2y', 'c2w')[:count], 'e2gz'])),
                                  [*('t_x', 't_y', 't_w')[:count], 't_gz']):
                near(found, a[key], f'{name}: {key}')


def check_c():
    """Bit for bit what the C functions of the library return, called without XLA."""
    p = module('modes').PRODUCT
    library = ctypes.CDLL(f'{FOLDER}/libmodes_cpu_jax.so')
    for kernel in p.kernels:
        numbers = np.random.default_rng(3)
        arrays = [numbers.normal(size=(5, p.dim[slot[-1]])) for slot in kernel.inputs.values()]
        found = p.operators[kernel.name](arrays, (5,))
        size = getattr(library, f'modes_{kernel.name}_workspace')
        size.restype = ctypes.c_size_t
        room = np.empty(size(ctypes.c_int64(5)) + 64, np.uint8)
        wanted = [np.empty((5, p.dim[slot])) for slot in kernel.outputs.values()]
        status = getattr(library, f'modes_{kernel.name}')(
            ctypes.c_int64(5), *(ctypes.c_void_p(a.ctypes.data) for a in [*arrays, *wanted, room]),
            ctypes.c_size_t(room.size), None)
        ok(status == 0 and len(found) == len(wanted) and all(map(same, found, wanted)), f'modes, {kernel.name}: as the C function')


# ---- derivatives ----

def check_gradients():
    """Against finite differences: forward and reverse mode and each of the other, to second order and once to third; with
    all kernels and with two; graphs."""
    for name, order in ('modes', 2), ('modes_two', 3), ('edges', 2), ('edges_any', 2), ('environment', 2):
        call, arrays = function(name), rows(module(name).PRODUCT, 4 if module(name).PRODUCT.edges else 2, 3, scale=0.5)
        for wrap, how in (lambda f: f, 'as it is'), (jax.jit, 'compiled'):
            try:
                check_grads(wrap(call), arrays, order=order)
                wrong = ''
            except AssertionError as error:
                wrong = error
            ok(not wrong, f'{name}: check_grads to order {order}, {how}', wrong)


def derivatives(call, arrays, order):
    """Of a polynomial of z; each order of one of the gradients before."""
    def scalar(*values, n):
        found = call(*values) if n == 0 else jax.grad(functools.partial(scalar, n=n - 1), (0, 1, 2))(*values)
        return sum((v**3).sum() + (v * jnp.cos(jnp.arange(v.size, dtype=v.dtype).reshape(v.shape))).sum()
                   for v in jax.tree.leaves(found))
    return jax.jit(jax.grad(functools.partial(scalar, n=order - 1), (0, 1, 2)))(*arrays)


def kernels_of(call, *arguments):
    """The kernels that a function calls, tangents among them."""
    return re.findall(r'cgtp_(\w+)\[', str(jax.make_jaxpr(call)(*arguments)))


def check_closure():
    """Orders beyond the kernels that there are: composed of forward and backward they equal the kernels made for it."""
    every, two = module('modes'), module('modes_two')
    arrays = rows(every.PRODUCT, 3)
    for order in 1, 2, 3, 4:
        for a, b, s in zip(derivatives(every.tensor_product, arrays, order), derivatives(two.tensor_product, arrays, order), 'xyw'):
            near(a, b, f'derivatives of order {order} by {s}, with all kernels and with two', units=2000)
    fails(NotImplementedError, 'add backward to `kernels`', lambda: jax.grad(
        lambda x: module('modes_one').tensor_product(x, *arrays[1:]).sum())(arrays[0]), 'forward alone')
    fails(NotImplementedError, 'has no kernel forward', lambda: module('modes_none').tensor_product(*arrays),
          'a product without forward')
    call = every.tensor_product
    equal(kernels_of(jax.grad(lambda *a: call(*a).sum(), (0, 1, 2)), *arrays), ['modes_forward', 'modes_backward'],
          'a gradient takes forward and backward')

    def forces(*a):
        return sum(g.sum() for g in jax.grad(lambda *b: (call(*b)**2).sum(), (0, 1, 2))(*a))
    equal(set(kernels_of(jax.grad(forces, (0, 1, 2)), *arrays)), {'modes_forward', 'modes_backward', 'modes_double_backward'},
          'and its gradient double_backward')
    m = module('shared')
    x, y, w = rows(m.PRODUCT, 4)
    equal(kernels_of(jax.grad(lambda x: m.tensor_product(x, y, w).sum()), x), ['shared_lambda', 'shared_gx_alone'],
          'of the kernels that have a gradient, the one with the fewest others is called')


# ---- transforms ----

def loop(call, axes, arguments):
    """What vmap does, one copy after the other."""
    copies = next(a.shape[axis] for a, axis in zip(arguments, axes) if axis is not None)
    one = [call(*(a if axis is None else jnp.take(a, i, axis) for a, axis in zip(arguments, axes))) for i in range(copies)]
    return jax.tree.map(lambda *values: jnp.stack(values), *one)


def check_transforms():
    """Each equals a loop, or the other way to the same."""
    for name in 'modes', 'modes_two', 'shared', 'edges', 'edges_any', 'environment':
        p, call = module(name).PRODUCT, function(name)
        arrays = rows(p, 4, 3)
        units = 500 * (np.finfo(p.dtype['x']).eps / EPSILON)
        near(jax.jit(call)(*arrays), call(*arrays), f'{name}: compiled', units)
        for axes in [*itertools.product((None, 0), repeat=3), (None, 2, 1), (1, None, 2), (2, 1, None), (1, 2, 0)]:
            if axes != (None, None, None):
                given = [a if axis is None else jnp.stack([a, 2 * a, a + 1], axis) for a, axis in zip(arrays, axes)]
                near(jax.jit(jax.vmap(call, axes))(*given), loop(call, axes, given), f'{name}: vmap, axes {axes}', units)
        x = jnp.stack([arrays[0], arrays[0] - 1])

        def gradient(*a):
            return jax.grad(lambda *b: (call(*b)**2).sum(), (0, 1, 2))(*a)
        for axes in (0, None, None), (0, None, 0):
            given = [x, arrays[1], arrays[2] if axes[2] is None else jnp.stack([arrays[2], -arrays[2]])]
            found, wanted = jax.vmap(gradient, axes)(*given), loop(gradient, axes, given)
            for a, b, s in zip(found, wanted, 'xyw'):
                near(a, b, f'{name}: vmap of a gradient by {s}, axes {axes}', units)
    call, (x, y, w) = function('modes'), rows(module('modes').PRODUCT, 3)
    xs = jnp.stack([x, 2 * x])
    near(jax.vmap(jax.vmap(call, (0, None, None)), (None, 0, None))(xs, xs, w),
         jnp.stack([jnp.stack([call(a, b, w) for a in xs]) for b in xs]), 'vmap of vmap')
    square = functools.partial(lambda x, y, w: (call(x, y, w)**2).sum(), y=y, w=w)
    near(jax.grad(lambda x: jax.vmap(square)(jnp.stack([x, 2 * x])).sum())(x), 5 * jax.grad(square)(x), 'grad of vmap')
    near(jax.jacfwd(lambda x: call(x, y, w))(x), jax.jacrev(lambda x: call(x, y, w))(x), 'jacfwd and jacrev')
    hessians = [how(jax.grad(square))(x) for how in (jax.jacfwd, jax.jacrev)] + [jax.jacfwd(jax.jacfwd(square))(x)]
    for n in 1, 2:
        near(hessians[n], hessians[0], f'hessian, way {n}')
    tangents = (x - 1, y + 2, w * 3)
    z, slope = jax.jvp(call, (x, y, w), tangents)
    pulled = jax.vjp(call, x, y, w)[1](jnp.ones_like(z))
    near(slope.sum(), sum((a * b).sum() for a, b in zip(pulled, tangents)), 'jvp and vjp agree', units=2000)
    near(jax.linearize(call, x, y, w)[1](*tangents), slope, 'linearize')
    near(jax.linear_transpose(lambda y: call(x, y, w), y)(z)[0], jax.vjp(lambda y: call(x, y, w), y)[1](z)[0], 'linear_transpose')
    folded = jax.jit(jax.grad(lambda x: jax.lax.scan(lambda c, b: (c + (call(x, b, w)**2).sum(), None), 0., jnp.stack([y, -y]))[0]))
    near(folded(x), 2 * jax.grad(square)(x), 'grad of scan')
    near(jax.grad(jax.checkpoint(square))(x), jax.grad(square)(x), 'checkpoint')
    with jax.disable_jit():
        near(jax.grad(square)(x), jax.jit(jax.grad(square))(x), 'disable_jit')
    m = module('edges')
    x, y, w = rows(m.PRODUCT, 4, 3)
    lists = np.stack([EDGES, EDGES[:, ::-1], 2 - EDGES])
    wanted = jnp.stack([m.convolve(x, y, w, one) for one in lists])
    near(jax.jit(jax.vmap(lambda one: m.convolve(x, y, w, one)))(lists), wanted, 'vmap over edge_index')
    graphs = [m.prepare_graph(one, 3) for one in lists[:2]]
    stacked = jax.tree.map(lambda *a: jnp.stack(a), *graphs)
    near(jax.vmap(m.convolve, (None, None, None, 0))(x, y, w, stacked), wanted[:2], 'vmap over graphs')


# ---- several devices ----

def text_of(call, *arguments):
    return jax.jit(call).lower(*arguments).compile().as_text()


def check_sharding():
    """Batches are divided among devices without moving items; in jax.shard_map anything is."""
    devices = np.array(jax.devices())
    if len(devices) < 4:
        return skip('sharding', 'fewer than 4 devices')
    mesh = Mesh(devices[:4], ('d',))
    for name in 'modes', 'shared':
        p, call = module(name).PRODUCT, module(name).tensor_product
        units = 500 * (np.finfo(p.dtype['x']).eps / EPSILON)

        def loss(x, y, w):
            return (call(x, y, w)**2).sum()

        def second(*a):
            return sum((g**2).sum() for g in jax.grad(loss, (0, 1, 2))(*a))
        arrays = rows(p, 8)
        there = [jax.device_put(a, NamedSharding(mesh, P('d' if p.index[s] == 'item' else None))) for a, s in zip(arrays, 'xyw')]
        z = jax.jit(call)(*there)
        near(z, call(*arrays), f'{name}: a divided batch', units)
        ok(z.sharding.is_equivalent_to(NamedSharding(mesh, P('d')), 2), f'{name}: z is divided, too', z.sharding)
        ok('all-gather' not in text_of(call, *there), f'{name}: and nothing was gathered')
        for what, order in (loss, 1), (second, 2):
            gradient = jax.grad(what, (0, 1, 2))
            for a, b, s in zip(jax.jit(gradient)(*there), gradient(*arrays), 'xyw'):
                near(a, b, f'{name}: derivative {order} by {s}, divided', units)
            ok('all-gather' not in text_of(gradient, *there), f'{name}: derivative {order}: nothing was gathered')
            for a, b in zip(jax.jit(lambda *v: jax.jvp(what, v, v))(*there), jax.jvp(what, arrays, arrays)):
                near(a, b, f'{name}: jvp {order}, divided', units)
        odd = [a[:6] if p.index[s] == 'item' else a for a, s in zip(arrays, 'xyw')]
        near(jax.jit(lambda *v: jax.grad(lambda w: loss(*(jax.lax.with_sharding_constraint(
            a, NamedSharding(mesh, P('d'))) if len(a) == 6 else a for a in v[:2]), w))(v[2]))(*odd), jax.grad(loss, 2)(*odd),
            f'{name}: items that do not divide', units)
        specs = tuple(P('d') if p.index[s] == 'item' else P() for s in 'xyw')
        for check in True, False:
            def part(x, y, w):
                return jax.lax.psum(loss(x, y, w), 'd')
            mapped = jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=P(), check_vma=check)
            near(jax.jit(mapped)(*arrays), loss(*arrays), f'{name}: shard_map, check_vma={check}', units)
            for a, b, s in zip(jax.jit(jax.grad(mapped, (0, 1, 2)))(*arrays), jax.grad(loss, (0, 1, 2))(*arrays), 'xyw'):
                near(a, b, f'{name}: gradient of shard_map by {s}, check_vma={check}', units)
            near(jax.jvp(mapped, arrays, arrays)[1], jax.jvp(loss, arrays, arrays)[1], f'{name}: jvp of shard_map', units)
    m = module('edges')
    graphs = [m.prepare_graph((EDGES + n) % 3, 3) for n in range(4)]
    arrays = [jnp.stack(v) for v in zip(*(rows(m.PRODUCT, 4, 3, n) for n in range(4)))]
    stacked = jax.tree.map(lambda *a: jnp.stack(a), *graphs)

    def energies(x, y, w, graph):
        return jax.vmap(lambda *a: (m.convolve(*a)**2).sum())(x, y, w, graph)
    mapped = jax.shard_map(energies, mesh=mesh, in_specs=(P('d'), P('d'), P('d'), P('d')), out_specs=P('d'))
    near(jax.jit(mapped)(*arrays, stacked), energies(*arrays, stacked), 'a graph on each device')
    forces = jax.grad(lambda x, *a: mapped(x, *a).sum())
    near(jax.jit(forces)(*arrays, stacked), jax.grad(lambda x, *a: energies(x, *a).sum())(*arrays, stacked), 'and its gradient')
    x, y, w = rows(m.PRODUCT, 8, 3)
    edge_index = np.random.default_rng(0).integers(0, 3, (2, 8))

    def sums(x, y, w, ends):
        return jax.lax.psum(m.convolve(x, y, w, ends, receivers=3), 'd')
    by_edges = jax.shard_map(sums, mesh=mesh, in_specs=(P(), P('d'), P('d'), P(None, 'd')), out_specs=P())
    near(jax.jit(by_edges)(x, y, w, edge_index), m.convolve(x, y, w, edge_index), 'edges of one graph on several devices')
    for a, b, s in zip(jax.grad(lambda *v: (by_edges(*v, edge_index)**2).sum(), (0, 1, 2))(x, y, w),
                       jax.grad(lambda *v: (m.convolve(*v, edge_index)**2).sum(), (0, 1, 2))(x, y, w), 'xyw'):
        near(a, b, f'and their gradient by {s}')
    there = jax.device_put(y, NamedSharding(mesh, P('d')))
    near(jax.jit(m.convolve)(x, there, w, edge_index), m.convolve(x, y, w, edge_index), 'a graph that is left whole')
    on_last = [jax.device_put(a, devices[3]) for a in (x, y, w)]
    z = m.convolve(*on_last, edge_index)
    ok(z.devices() == {devices[3]}, 'results are where operands are')


def check_exported():
    m = module('edges')
    x, y, w = rows(m.PRODUCT, 4, 3)
    graph = m.prepare_graph(EDGES, 3)
    targets = [jax.export.DisabledSafetyCheck.custom_call(o.target) for o in m.PRODUCT.operators.values()]

    def call(x, y, w, *parts):
        return jax.grad(lambda *a: (m.convolve(*a, jax.tree.unflatten(jax.tree.structure(graph), parts))**2).sum(), (0, 1, 2))(x, y, w)
    parts = jax.tree.leaves(graph)
    exported = jax.export.export(jax.jit(call), disabled_checks=targets)(x, y, w, *parts)
    for a, b, s in zip(exported.call(x, y, w, *parts), call(x, y, w, *parts), 'xyw'):
        near(a, b, f'jax.export: gradient by {s}')


def check_clients():
    """Graphs in exported functions, sizes that are symbols, arrays of e3nn-jax."""
    try:
        import flatbuffers  # noqa: F401
    except ImportError:
        return skip('functions that are stored', 'no flatbuffers')
    for product in 'edges', 'edges_any', 'environment':
        m = module(product)
        p = m.PRODUCT
        x, y, w = rows(p, 4, 3)
        graph = m.prepare_graph(EDGES, 3, sort=p.edges == 'sorted', dtype=p.index_dtype)
        targets = [jax.export.DisabledSafetyCheck.custom_call(o.target) for o in p.operators.values()]
        exported = jax.export.export(jax.jit(m.convolve), disabled_checks=targets)(x, y, w, graph)
        again = jax.export.deserialize(exported.serialize())
        ok(same(again.call(x, y, w, graph), m.convolve(x, y, w, graph)), f'{product}: a function that takes a Graph, stored')

        def forces(x, y, w, edges):
            return jax.grad(lambda *a: (m.convolve(*a, edges, receivers=x.shape[0] if p.index['x'] == 'sender' else y.shape[0])
                                        ** 2).sum(), (0, 1, 2))(x, y, w)
        n, e = jax.export.symbolic_shape('n, e')
        size = {'item': e, 'sender': n, 'receiver': n, 'shared': 1}
        types = [jax.ShapeDtypeStruct((size[p.index[s]], p.dim[s]), p.dtype[s]) for s in 'xyw']
        types.append(jax.ShapeDtypeStruct((2, e), np.int64))
        exported = jax.export.export(jax.jit(forces), disabled_checks=targets)(*types)
        again = jax.export.deserialize(exported.serialize())
        for items, nodes in (4, 3), (40, 7), (300, 20):
            arrays = rows(p, items, nodes)
            edges = np.random.default_rng(items).integers(0, nodes, (2, items))
            for a, b, s in zip(again.call(*arrays, edges), forces(*arrays, edges), 'xyw'):
                near(a, b, f'{product}: exported with symbols for sizes, {items} edges: gradient by {s}')
        bad = edges.copy()
        bad[0, 5] = 20
        fails(Exception, 'sender[', lambda: jax.block_until_ready(again.call(*arrays, bad)), f'{product}, exported')
    m = module('modes')
    targets = [jax.export.DisabledSafetyCheck.custom_call(o.target) for o in m.PRODUCT.operators.values()]
    b, = jax.export.symbolic_shape('b')
    exported = jax.export.export(jax.jit(m.tensor_product), disabled_checks=targets)(
        *(jax.ShapeDtypeStruct((b, m.PRODUCT.dim[s]), m.PRODUCT.dtype[s]) for s in 'xyw'))
    for items in 1, 9:
        arrays = rows(m.PRODUCT, items)
        near(exported.call(*arrays), m.tensor_product(*arrays), f'modes: a batch of {items}, exported with a symbol')
    try:
        import e3nn_jax
    except ImportError:
        return skip('arrays of e3nn-jax', 'no e3nn-jax')
    m = module('edges')
    x, y, w = rows(m.PRODUCT, 4, 3)
    graph = m.prepare_graph(EDGES, 3)
    given = [e3nn_jax.IrrepsArray(m.PRODUCT.irreps[s], v) for s, v in zip('xy', (x, y))]
    ok(same(m.convolve(*given, w, graph), m.convolve(x, y, w, graph)), 'arrays of e3nn-jax')
    fails(ValueError, 'x is of irreps 2x1o+2x0e: those of edges are 2x0e+2x1o',
          lambda: m.convolve(e3nn_jax.IrrepsArray('2x1o+2x0e', x), y, w, graph), 'other irreps')
    x, y, w = rows(module('modes').PRODUCT, 3)
    ok(same(module('modes').tensor_product(e3nn_jax.IrrepsArray(module('modes').PRODUCT.irreps['x'], x), y, w),
            module('modes').tensor_product(x, y, w)), 'and in a batch')


def check_written():
    """What same.cpp reads."""
    m = module('edges')
    x, y, w = rows(m.PRODUCT, 17, 6)
    edge_index = np.random.default_rng(9).integers(0, 6, (2, 17))
    edge_index[1].sort()
    z = jax.jit(m.convolve)(x, y, w, m.prepare_graph(edge_index, 6))
    with open(f'{FOLDER}/edges.in', 'wb') as file:
        for value in (np.array([6, 17], np.int64), edge_index.astype(np.int32), x, y, w, z):
            file.write(np.ascontiguousarray(value).tobytes())
    ok(z.shape == (6, m.PRODUCT.dim['z']), 'numbers for a program in C++')


# ---- graphs ----

def check_graphs():
    for name in 'edges', 'edges_any', 'environment':
        m = module(name)
        p = m.PRODUCT
        x, y, w = rows(p, 40, 7)
        edge_index = np.random.default_rng(5).integers(0, 6, (2, 40))
        z = m.convolve(x, y, w, edge_index, receivers=7)
        order = np.argsort(edge_index[1], kind='stable')

        def moved(slot, value):
            return value[order] if p.index[slot] == 'item' else value
        in_order = m.convolve(moved('x', x), moved('y', y), moved('w', w), edge_index[:, order], receivers=7)
        near(in_order, moved('z', z), f'{name}: edges in any order are as sorted ones')
        ok(same(z, m.convolve(x, y, w, edge_index[::-1], receivers=7, sender_row=1)), f'{name}: senders in row 1')
        ok(same(z, m.convolve(x, y, w, edge_index.astype(np.int32), receivers=7)), f'{name}: an edge_index of int32')
        near(jax.jit(functools.partial(m.convolve, receivers=7))(x, y, w, edge_index), z, f'{name}: sorted while compiled')
        near(jax.jit(functools.partial(m.convolve, receivers=7))(x, y, w, edge_index.astype(np.int32)), z,
             f'{name}: and of int32')
        if p.index['w'] == 'item':
            near(m.convolve(x, y, w[0], edge_index, receivers=7),
                 m.convolve(x, y, jnp.broadcast_to(w[0], w.shape), edge_index, receivers=7), f'{name}: one row of weights')
        for nodes, edges in (0, 0), (3, 0):
            a = rows(p, edges, nodes)
            empty = m.convolve(*a, np.empty((2, edges), np.int64), receivers=nodes)
            count = {'item': edges, 'sender': nodes, 'receiver': nodes}[p.index['z']]
            ok(empty.shape == (count, p.dim['z']) and not empty.any(), f'{name}: {nodes} nodes, no edges', empty.shape)
            gradient = jax.grad(lambda *v: m.convolve(*v, np.empty((2, edges), np.int64), receivers=nodes).sum(), (0, 1, 2))(*a)
            ok(all(not g.any() for g in gradient), f'{name}: and their gradients')
    m = module('edges')
    graph = m.prepare_graph(EDGES, 3)
    equal(np.asarray(graph.order).tolist(), [1, 3, 0, 2], 'order of edges')
    equal(np.asarray(graph.receiver_row).tolist(), [[0, 0], [2, 0], [2, 0], [4, 0]], 'row pointers, in two words each')
    ok(same(graph.unsort(graph.sort(EDGES[0])), EDGES[0]), 'unsort undoes sort')
    equal(m.prepare_graph(np.array([[2, 0], [0, 1]]), 3).order, None, 'a sorted list is left as it is')
    for a, b in zip(jax.tree.leaves(jax.jit(lambda e: m.prepare_graph(e, 3))(EDGES)), jax.tree.leaves(graph)):
        ok(same(a, b), 'a graph that is prepared while compiled')
    x, y, w = rows(m.PRODUCT, 4, 3)
    z = m.convolve(x, y, w, graph)
    ok(same(jax.jit(m.convolve)(x, graph.unsort(graph.sort(y)), w, graph), z), 'a graph is an argument of what is compiled')


def memory_of(array):
    """The numbers of an array of JAX, for others to write to."""
    return np.ctypeslib.as_array(ctypes.cast(array.unsafe_buffer_pointer(), ctypes.POINTER(
        {4: ctypes.c_int32, 8: ctypes.c_int64}[array.dtype.itemsize])), array.shape)


def check_writers():
    """Lists of edges that are written in place: results are of what is there, and a Graph has memory of its own."""
    numbers = np.random.default_rng(2)
    for name, index in itertools.product(('edges', 'edges_any', 'environment'), (np.int32, np.int64)):
        m = module(name)
        x, y, w = rows(m.PRODUCT, 40, 5)
        lists = [np.sort(numbers.integers(0, 5, (2, 40)).astype(index), axis=1) for _ in range(3)]
        aligned = np.zeros(1024, np.uint8)
        aligned = aligned[-aligned.ctypes.data % 64:][:80 * lists[0].itemsize].view(index).reshape(2, 40)  # JAX takes as it is
        shared = jnp.asarray(aligned)
        exchanged = jnp.from_dlpack(aligned)
        for how, edges, memory in ('numpy', aligned, aligned), ('asarray', shared, memory_of(shared)), \
                ('from_dlpack', exchanged, memory_of(exchanged)):
            right = []
            for new in lists:
                memory[...] = new
                wanted = m.convolve(x, y, w, new.copy(), receivers=5)
                right.append(same(m.convolve(x, y, w, edges, receivers=5), wanted))
                options = {'sort': m.PRODUCT.edges == 'sorted', 'dtype': m.PRODUCT.index_dtype}
                graph = m.prepare_graph(edges, 5, **options)
                memory[...] = 0
                right.append(same(m.convolve(x, y, w, graph), wanted))
                memory[...] = new
                right.append(same(jax.jit(functools.partial(m.convolve, receivers=5))(x, y, w, edges), wanted))
            ok(all(right), f'{name}, {np.dtype(index).name}: {how}: results are of the list that is there', right)


def check_programs():
    """Wrong numbers in compiled programs: an error on the CPU, that names what is wrong, and nothing is read or written."""
    for name in 'edges', 'edges_any', 'environment':
        m = module(name)
        x, y, w = rows(m.PRODUCT, 40, 5)
        right = np.random.default_rng(3).integers(0, 5, (2, 40))

        def call(x, y, w, edges):
            return m.convolve(x, y, w, edges, receivers=5)

        def gradient(*arrays):
            return jax.grad(lambda *a: (call(*a, arrays[3])**2).sum(), (0, 1, 2))(*arrays[:3])
        for what in call, gradient:
            compiled = jax.jit(what)
            for at, value in ((0, 7), 5), ((1, 9), 5 + 10**6), ((0, 0), -1), ((1, 39), -2**40), ((0, 3), 2**40):
                edges = right.copy()
                edges[at] = value
                words = f'{("sender", "receiver")[at[0]]}['
                fails(Exception, words, lambda: jax.block_until_ready(compiled(x, y, w, edges)), f'{name}: {what.__name__}, {value}')
            found = jax.tree.leaves(compiled(x, y, w, right))
            ok(all(not jnp.isnan(value).any() for value in found), f'{name}: {what.__name__}, and it goes on')
        edges = jnp.stack([right, right * 0 + 9])
        fails(Exception, 'is the number of no', lambda: jax.block_until_ready(
            jax.jit(jax.vmap(call, (None, None, None, 0)))(x, y, w, edges)), f'{name}: vmap')
    m = module('edges')
    x, y, w = rows(m.PRODUCT, 40, 5)
    graph = m.prepare_graph(right, 5)
    for part, at, value in ('sender', 3, 5), ('by_sender', 5, 40), ('receiver_row', (2, 0), -1), ('sender_row', (5, 0), 10**9):
        forged = dataclasses.replace(graph, **{part: getattr(graph, part).at[at].set(value)})
        fails(Exception, f'{part}[', lambda: jax.block_until_ready(m.convolve(x, y, w, forged)), f'a Graph with another {part}')
    fails(ValueError, 'y has shape [5, 4]: it is to have a row for each edge, of which there are 40',
          lambda: m.convolve(x, y[:5], w, graph), 'rows')
    fails(ValueError, 'rows have shape [41, 1]', lambda: graph.sort(np.ones((41, 1))), 'rows')


def check_mended():
    """What a device is given in place of a wrong list, and its fault: as on one, computed here."""
    cgtp_jax = importlib.import_module(f'{os.path.basename(FOLDER)}.cgtp_jax')
    chosen = jax.lax.platform_dependent
    jax.lax.platform_dependent = lambda *operands, cpu, default: default(*operands)
    try:
        mended = jax.jit(lambda s, r: cgtp_jax._mended(s, r, 5, 7))
        for index in np.int32, np.int64, np.uint32:
            s, r = np.array([0, 4, 2, 1], index), np.array([6, 0, 3, 6], index)
            found = mended(s, r)
            ok(same(found[0], s) and same(found[1], r) and found[2].tolist() == [-1, -1], f'{np.dtype(index)}: nothing to mend')
            bad = r.copy()
            bad[2] = 7
            found = mended(s, bad)
            equal([found[1].tolist(), found[2].tolist()], [[6, 0, 0, 6], [2, 1 << 28]], f'{np.dtype(index)}: a receiver')
            both = s.copy()
            both[1:] = 5
            found = mended(both, bad)
            equal([found[0].tolist(), found[2].tolist()], [[0, 0, 0, 0], [1, 0]], f'{np.dtype(index)}: a sender comes first')
        equal(mended(s[:0], r[:0])[2].tolist(), [-1, -1], 'no edges')
    finally:
        jax.lax.platform_dependent = chosen


def check_batches():
    m = module('shared')
    p = m.PRODUCT
    equal([p.irreps['x'], p.irreps['z'], p.weight_numel, tuple(p.instructions[1])],
          ['3x0e+2x1o', '2x0e+3x1o', 37, (0, 1, 1, 'uvw', True, 0.6546536707079772, (3, 1, 3))], 'facts')
    x, y, w = rows(p, 6)
    z = m.tensor_product(x, y, w)
    near(m.tensor_product(x.reshape(2, 3, -1), y.reshape(2, 3, -1), w), z.reshape(2, 3, -1), 'more dimensions')
    ok(same(m.tensor_product(x, y[:1], w), m.tensor_product(x, jnp.broadcast_to(y[:1], y.shape), w)), 'operands broadcast')
    ok(same(m.tensor_product(x[0], y[0], w[0]), z[0]), 'one item, without a dimension for it')
    ok(same(m.tensor_product(x[:, ::-1][:, ::-1], np.asarray(y), w), z), 'any arrays')
    ok(m.tensor_product(x[:0], y[:0], w).shape == (0, 11), 'no items')
    ok(not jax.grad(lambda w: m.tensor_product(x[:0], y[:0], w).sum())(w).any(), 'and their gradient')
    m = module('modes')
    x, y, w = rows(m.PRODUCT, 3)
    ok(same(m.tensor_product(x, y, w[0]), m.tensor_product(x, y, jnp.broadcast_to(w[0], w.shape))), 'one row of weights for all')


def check_errors():
    m = module('shared')
    call, (x, y, w) = m.tensor_product, rows(m.PRODUCT, 4)
    operator = m.PRODUCT.forward()
    fails(ValueError, 'x has shape [4, 8]: its rows are to have 9', lambda: call(x[:, 1:], y, w), 'columns')
    fails(TypeError, 'y is of float64, not float32', lambda: call(x, y.astype(jnp.float64), w), 'type')
    fails(ValueError, 'y has shape [3, 5], not [4, 5]', lambda: operator([x, y[:3], w], (4,)), 'rows')
    fails(ValueError, 'y has shape [3, 5], not [4, 5]', lambda: jax.jit(lambda *a: operator(a, (4,)))(x, y[:3], w), 'rows, compiled')
    fails(ValueError, 'x has shape [36], not [4, 9]', lambda: operator([x.reshape(-1), y, w], (4,)), 'dimensions')
    fails(ValueError, 'it is to have 37', lambda: call(x, y, jnp.ones((4, 37))), 'a row of shared weights for each item')
    fails(ValueError, 'has 37 weights: pass them', lambda: call(x, y), 'no weights')
    m = module('edges')
    call, (x, y, w) = m.convolve, rows(m.PRODUCT, 3, 2)
    ends = np.array([[0, 1, 1], [1, 0, 0]])
    fails(IndexError, 'edge_index has a sender 2', lambda: call(x, y, w, ends + [[1], [0]]), 'an edge')
    fails(IndexError, 'edge_index has a receiver -1', lambda: call(x, y, w, ends - [[0], [1]]), 'an edge')
    fails(ValueError, 'edge_index has shape [3, 2], not [2, edges]', lambda: call(x, y, w, ends.T), 'edges')
    fails(TypeError, 'edge_index is of float64', lambda: call(x, y, w, ends * 1.), 'edges')
    fails(TypeError, 'pass prepare_graph that dtype', lambda: call(x, y, w, m.prepare_graph(ends, 2, dtype=np.int64)), 'node numbers')
    fails(ValueError, 'needs sorted edges', lambda: call(x, y, w, m.prepare_graph(ends, 2, sort=False)), 'a graph')
    fails(ValueError, 'x has shape [2, 8], not [4, 8]', lambda: call(x, y, w, m.prepare_graph(ends, 4)), 'nodes')
    fails(ValueError, 'y has shape [3, 4]: it is to have a row for each edge, of which there are 2',
          lambda: call(x, y, w, m.prepare_graph(np.array([[0, 1], [0, 1]]), 2)), 'edges')
    fails(ValueError, 'neither x nor y has a row for each node',
          lambda: module('environment').convolve(*[a[:3] for a in rows(module('environment').PRODUCT, 3, 3)][:1],
                                                    np.ones(8), rows(module('environment').PRODUCT, 3, 3)[2], ends), 'nodes')
    copied = os.path.join(tempfile.mkdtemp(), 'again')
    shutil.copytree(FOLDER, copied)
    sys.path.insert(0, os.path.dirname(copied))
    fails(ImportError, 'another library', lambda: importlib.import_module('again.edges_jax'), 'a second package')
    with open(f'{copied}/modes_two_jax.py') as file:
        text = file.read()
    with open(f'{copied}/modes_two_jax.py', 'w') as file:
        file.write(re.sub('digest="[^"]*"', 'digest="0"', text))
    fails(ImportError, 'was built from another spec', lambda: importlib.import_module('again.modes_two_jax'), 'a stale library')
    with open(f'{copied}/stale_jax.py', 'w') as file:
        file.write(text.replace('modes_two', 'stale'))
    fails(ImportError, 'there is no library of stale', lambda: importlib.import_module('again.stale_jax'), 'not built')
    shutil.rmtree(os.path.dirname(copied))


def check_single():
    """JAX as it is: without 64-bit types."""
    fails(TypeError, 'jax.config.update("jax_enable_x64", True)', lambda: module('modes').tensor_product(
        *rows(module('modes').PRODUCT, 3)), 'a product of float64')
    epsilon = np.finfo(np.float32).eps
    for name in 'single', 'single_any':
        m = module(name)
        x, y, w = rows(m.PRODUCT, 40, 7)
        ok(x.dtype == np.float32, f'{name}: arrays of float32')
        edge_index = np.random.default_rng(5).integers(0, 7, (2, 40))
        z = m.convolve(x, y, w, edge_index)
        near(jax.jit(m.convolve)(x, y, w, edge_index), z, f'{name}: sorted while compiled', epsilon=epsilon)
        near(jax.vmap(m.convolve, (0, None, None, None))(jnp.stack([x, 2 * x]), y, w, edge_index), jnp.stack([z, 2 * z]),
             f'{name}: vmap', epsilon=epsilon)
        near(jax.jvp(lambda x: m.convolve(x, y, w, edge_index), (x,), (x,))[1], z, f'{name}: jvp', epsilon=epsilon)
    a, b = (module(name) for name in ('single', 'single_any'))
    near(a.convolve(x, y, w, edge_index), b.convolve(x, y, w, edge_index), 'sorted edges and any', epsilon=epsilon)
    for name in 'half', 'mixed':  # computed in float32, and rounded
        m = module(name)
        arrays = rows(m.PRODUCT, 40, 7)
        full = [v.astype(jnp.float32) for v in arrays]

        def derivatives_of(convolve, values):
            z, pull = jax.vjp(jax.jit(lambda *v: convolve(*v, edge_index)), *values)
            return z, *pull(jnp.ones_like(z))
        for found, wanted, slot in zip(derivatives_of(m.convolve, arrays), derivatives_of(a.convolve, full), 'zxyw'):
            ok(found.dtype == m.PRODUCT.dtype[slot], f'{name}: type of z or its gradient, {slot}', found.dtype)
            near(found.astype(jnp.float32), wanted, f'{name}: z or its gradient, {slot}', units=2, epsilon=2**-8)
    fails(TypeError, 'x is of float32, not bfloat16', lambda: module('half').convolve(*full, edge_index), 'a type')


PARTS = {name[6:]: part for name, part in globals().items() if name.startswith('check_') and name != 'check_grads'}
for chosen in sys.argv[2:] or [name for name in PARTS if name != 'single']:
    print(f'# {chosen}')
    PARTS[chosen]()
done()
