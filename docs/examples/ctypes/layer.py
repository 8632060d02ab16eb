"""A generated product, in C, called from Python with nothing but ctypes.

Its kernels are found through the descriptor layer_product, so that this does for any product on a graph: each
array of a kernel, its slot and its rows are told there.
"""
import ctypes
import os
import random
from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_size_t, c_void_p)


# ---- cgtp.h ----

class Graph(Structure):  # cgtp_graph
    _fields_ = [('items', c_int64), ('senders', c_int64), ('receivers', c_int64),
                ('sender', POINTER(c_int32)), ('receiver', POINTER(c_int32)),
                ('receiver_row', POINTER(c_int64)), ('by_sender', POINTER(c_int32)),
                ('sender_row', POINTER(c_int64)), ('order', POINTER(c_int32))]


class Argument(Structure):  # cgtp_argument
    _fields_ = [('name', c_char_p), ('slot', c_int), ('tangent', c_int)]


class Kernel(Structure):  # cgtp_kernel
    _fields_ = [('name', c_char_p), ('inputs', c_int), ('outputs', c_int), ('input', POINTER(Argument)),
                ('output', POINTER(Argument)), ('bytes_per_item', c_double), ('flops_per_item', c_double),
                ('workspace', CFUNCTYPE(c_size_t, POINTER(Graph))),
                ('workspace_least', CFUNCTYPE(c_size_t, POINTER(Graph))),
                ('run', CFUNCTYPE(c_int, POINTER(Graph), POINTER(c_void_p), POINTER(c_void_p),
                                  POINTER(c_int64), c_void_p, c_size_t, c_void_p)),
                ('memory', c_double * 5), ('memory_reduction', c_double * 5)]


class Product(Structure):  # cgtp_product
    _fields_ = [('abi', c_int), ('name', c_char_p), ('backend', c_char_p), ('digest', c_char_p),
                ('irreps', c_char_p * 4), ('dim', c_int64 * 4), ('index', c_int * 4), ('layout', c_int * 4),
                ('strided', c_int * 4), ('type', c_int * 4), ('compute', c_int), ('sum', c_int), ('graph', c_int), ('sorted', c_int),
                ('index_size', c_int),
                ('paths', c_int), ('kernels', c_int), ('path', c_void_p), ('kernel', POINTER(Kernel))]


ABI, FLOAT32 = 8, 0  # CGTP_ABI, of the structures above; CGTP_FLOAT32
library = CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'liblayer.so'))
library.cgtp_status_text.restype = c_char_p


def expect(status):
    if status:
        raise RuntimeError(library.cgtp_status_text(status).decode())


# ---- arrays ----

def room(kind, n):
    """n zeros from a multiple of 16 bytes on, where kernels want them."""
    memory = ctypes.create_string_buffer(n * ctypes.sizeof(kind) + 16)
    return (kind * n).from_buffer(memory, -ctypes.addressof(memory) % 16)  # which keeps the memory


def pointers(arrays):
    return (c_void_p * len(arrays))(*map(ctypes.addressof, arrays))


def dot(a, b):
    return sum(p * q for p, q in zip(a, b))


# ---- a graph ----

def make_graph(nodes, edges):
    """The graph of a list of pairs (sender, receiver), sorted and indexed; and what edge i was before."""
    n = len(edges)
    unsorted = (c_int32 * n)(*[s for s, _ in edges]), (c_int32 * n)(*[r for _, r in edges])
    graph = Graph(n, nodes, nodes, *unsorted)
    sender, receiver, order, by_sender = ((c_int32 * n)() for _ in range(4))
    receiver_row, sender_row = ((c_int64 * (nodes + 1))() for _ in range(2))
    expect(library.cgtp_graph_sort(byref(graph), sender, receiver, order, receiver_row))
    expect(library.cgtp_graph_index(byref(graph), receiver_row, by_sender, sender_row))
    graph.arrays = sender, receiver, receiver_row, by_sender, sender_row  # the structure has their addresses alone
    return graph, order


def call(product, number, graph, inputs):
    """Runs a kernel; its outputs, by name."""
    kernel = product.kernel[number]
    rows = graph.items, graph.senders, graph.receivers, 1  # by cgtp_index: item, sender, receiver, shared
    outputs = {}
    for o in range(kernel.outputs):
        slot = kernel.output[o].slot
        outputs[kernel.output[o].name.decode()] = room(c_float, rows[product.index[slot]] * product.dim[slot])
    given = [inputs[kernel.input[i].name.decode()] for i in range(kernel.inputs)]
    needed = kernel.workspace(byref(graph))
    workspace = room(ctypes.c_char, needed)
    expect(kernel.run(byref(graph), pointers(given), pointers(list(outputs.values())), None,
                      ctypes.addressof(workspace), needed, None))
    return outputs


def main():
    product = Product.in_dll(library, 'layer_product')
    assert product.abi == ABI and list(product.type) == [FLOAT32] * 4
    random.seed(1)
    nodes, edges = 5, 12
    pairs = [(random.randrange(nodes), random.randrange(nodes)) for _ in range(edges)]
    graph, order = make_graph(nodes, pairs)
    print('edges in the order', *order)
    rows = edges, nodes, nodes, 1
    inputs = {}
    for slot, name in enumerate(['x', 'y', 'w', 'gz']):
        inputs[name] = room(c_float, rows[product.index[slot]] * product.dim[slot])
        inputs[name][:] = [random.uniform(-1, 1) for _ in inputs[name]]
    outputs = call(product, 0, graph, inputs) | call(product, 1, graph, inputs)
    # Q(x, y, w, gz) is linear in each of them, so that each derivative gives it back.
    for one, other in ('z', 'gz'), ('gx', 'x'), ('gy', 'y'), ('gw', 'w'):
        print(f'{one} . {other} = {dot(outputs[one], (inputs | outputs)[other]):.5f}')
    try:
        make_graph(2, [(0, 1), (2, 0)])
    except RuntimeError as error:
        print(error)


main()
