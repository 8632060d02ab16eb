"""The library that the program in C++ uses, from Python: its function, and the kernel in it by itself.

    python3 energy.py [libenergy.so]
"""
import ctypes
import os
import sys
from ctypes import c_double, c_float, c_int32, c_int64, c_size_t

library = ctypes.CDLL(sys.argv[1] if sys.argv[1:] else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'libenergy.so'))
library.energy.restype = c_double
library.layer_forward_workspace.restype = c_size_t


def room(kind, n):
    """n zeros from a multiple of 16 bytes on, where kernels want them."""
    memory = ctypes.create_string_buffer(n * ctypes.sizeof(kind) + 16)
    return (kind * n).from_buffer(memory, -ctypes.addressof(memory) % 16)


def numbers(n):
    made = room(c_float, n)
    made[:] = [(i * 37 % 41 - 20) / 16 for i in range(n)]
    return made


class Graph(ctypes.Structure):  # cgtp_graph
    _fields_ = [(name, c_int64) for name in ('items', 'senders', 'receivers')] + \
               [(name, ctypes.c_void_p) for name in ('sender', 'receiver', 'receiver_row', 'by_sender', 'sender_row', 'order')]


nodes, edges = 4, 9
sender = (c_int32 * edges)(*(e * 3 % nodes for e in range(edges)))
receiver = (c_int32 * edges)(*(e * nodes // edges for e in range(edges)))
x, y, w = numbers(nodes * 16), numbers(edges * 4), numbers(edges * 16)
gx, z = room(c_float, nodes * 16), room(c_float, nodes * 32)

total = library.energy(c_int64(nodes), c_int64(edges), sender, receiver, x, y, w, gx)
print(f'energy {total:.17g}')
for u in range(4):
    print(f'gx[0, {u}] {gx[u]:.17g}')

graph = Graph(edges, nodes, nodes, ctypes.addressof(sender), ctypes.addressof(receiver))
receiver_row, by_sender, sender_row = (c_int64 * (nodes + 1))(), (c_int32 * edges)(), (c_int64 * (nodes + 1))()
library.cgtp_graph_index(ctypes.byref(graph), receiver_row, by_sender, sender_row)
size = library.layer_forward_workspace(ctypes.byref(graph))
workspace = room(ctypes.c_char, size)
status = library.layer_forward(ctypes.byref(graph), x, y, w, z, workspace, c_size_t(size), None)
total = 0.0
for value in z:  # as the program adds: sum() rounds otherwise from Python 3.12 on
    total += 0.5 * value * value
print(f'{status}, by the kernel alone {total:.17g}')
