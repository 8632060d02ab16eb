"""Layers that nobody tuned for: drawn at random by a stated distribution (layer), or the few of a fixed list (FIXED).

Number n of seed s is always the same layer, whatever else is drawn. **The distribution.** Family: convolution channelwise
45 %, convolution fully connected 7, batch channelwise 12, batch fully connected 5, linear 8, by element (y = n x 0e) 6,
bilinear with shared weights 6, Allegro 11. Widths are log-uniform from 12 to the family's most (MOST), one in ten 2 to 8
instead; half of the others are multiples of 32, a quarter of 8, a quarter any; over l they are equal (45 %), halving (35)
or free (20; Allegro's are equal). l of x is up to one of L_X, of y to one of L_Y (Allegro's 1 to 3, one for both), of z to the larger;
parity natural (1/2), even, or both (x and z). float64 one in six. Of convolutions edges in any order, atomic, one in ten; of them and
batches y of 2 to 4 channels one in twelve, 0e alone as output one in twelve. Items are log-uniform from 2,000 to 1,000,000, as many of them
as leave the arguments of double backward within MEMORY; graphs have a mean degree log-uniform from 4 to 150 and at most 50,000
nodes; senders are drawn within a window of twice the mean degree around the receiver.
"""
import itertools
import math
import random

FAMILIES = {"conv": 45, "conv_full": 7, "batch": 12, "batch_full": 5, "linear": 8, "elements": 6, "bilinear": 6, "allegro": 11}
MOST = {"conv": 256, "conv_full": 48, "batch": 256, "batch_full": 48, "linear": 600, "elements": 200, "bilinear": 40,
        "allegro": 160}
L_X, L_Y, ELEMENTS = (0, 1, 1, 2, 2, 2, 3, 3, 4, 6), (1, 2, 2, 3, 3, 4), (2, 3, 4, 10, 17, 50, 89, 100)
MEMORY, NODES = 6e9, 50000
CONVOLUTION = "{x: sender, y: item, w: item, z: receiver}"
INDEX = {"conv": CONVOLUTION, "conv_full": CONVOLUTION, "batch": "{}", "batch_full": "{}", "linear": "{w: shared}",
         "elements": "{w: shared}", "bilinear": "{w: shared}", "allegro": "{x: item, y: sender, w: shared, z: item}"}


class Layer:
    """x, y, z: lists of (mul, l, parity), z as the spec has it; place: its name, items, nodes and window (table.h)."""

    def __init__(self, name, family):
        self.name, self.family = name, family
        self.x = self.y = self.z = ()
        self.instructions, self.precision, self.keys = "channelwise", "float32", ""
        self.place = ("drawn", 0, 0, 0)

    def text(self):
        lines = ["cgtp: 1", f"name: {self.name}", "irreps:"]
        lines += [f'  {slot}: {irreps_text(getattr(self, slot))}' for slot in "xyz"]
        if self.instructions == "uuu":
            lines += ["instructions:", *(f"  - [{i}, {j}, {k}, uuu]" for i, j, k in paths(self.x, self.y, self.z))]
        else:
            lines.append(f"instructions: {self.instructions}")
        lines += [f"index: {INDEX[self.family]}", f"precision: {self.precision}", *self.keys.splitlines()]
        return "\n".join([*lines, "kernels: [forward, backward, double_backward]", ""])

    def dims(self):
        """Elements of a row of x, y, w and z as they are expanded."""
        found = paths(self.x, self.y, self.z)
        mul = {"channelwise": lambda i, j, k: self.x[i][0] * self.y[j][0],
               "fully_connected": lambda i, j, k: self.x[i][0] * self.y[j][0] * self.z[k][0],
               "uuu": lambda i, j, k: self.x[i][0]}[self.instructions]
        z = dim(self.z)
        if self.instructions == "channelwise":  # a segment of each path
            z = sum(self.x[i][0] * (2 * self.z[k][1] + 1) for i, _, k in found)
        return dim(self.x), dim(self.y), sum(mul(*path) for path in found), z

    def bytes_of(self, items, nodes):
        """Of the arguments of double backward."""
        x, y, w, z = self.dims()
        rows = {"item": items, "sender": nodes, "receiver": nodes, "shared": 1}
        index = dict(part.split(": ") for part in INDEX[self.family].strip("{}").split(", ") if part)
        row = {slot: rows[index.get(slot, "item")] for slot in "xywz"}
        return (8 if self.precision == "float64" else 4) * \
            (3 * x * row["x"] + 3 * y * row["y"] + 3 * w * row["w"] + 2 * z * row["z"])


def irreps_text(segments):
    return " + ".join(f"{mul}x{l}{'e' if parity > 0 else 'o'}" for mul, l, parity in segments)


def dim(segments):
    return sum(mul * (2 * l + 1) for mul, l, _ in segments)


def paths(x, y, z):
    """(i, j, k) of all that selection rules allow."""
    return [(i, j, k) for (i, (_, l1, p1)), (j, (_, l2, p2)), (k, (_, l3, p3)) in
            itertools.product(enumerate(x), enumerate(y), enumerate(z))
            if abs(l1 - l2) <= l3 <= l1 + l2 and p1 * p2 == p3]


# ---- drawing ----

def log_uniform(r, least, most):
    return math.exp(r.uniform(math.log(least), math.log(most)))


def width(r, most):
    if r.random() < 0.1:
        return r.randint(2, 8)
    n, step = log_uniform(r, 12, most), r.choice((32, 32, 8, 1))
    return min(max(step, step * round(n / step)), most // step * step)


def widths(r, most, l_max, how=None):
    """Of l = 0 to l_max."""
    how = how or r.choices(("equal", "halving", "free"), (45, 35, 20))[0]
    first = width(r, most)
    return [width(r, most) if how == "free" and l else max(1, first >> l) if how == "halving" else first
            for l in range(l_max + 1)]


def segments(of_l, parity):
    """parity: natural, even, both."""
    parities = {"natural": lambda l: [(-1) ** l], "even": lambda l: [1], "both": lambda l: [1, -1]}[parity]
    return [(mul, l, p) for l, mul in enumerate(of_l) for p in parities(l)]


def draw_irreps(r, layer, parity):
    most, l_x, l_y = MOST[layer.family], r.choice(L_X), r.choice(L_Y)
    harmonics = "even" if parity == "even" else "natural"
    if layer.family == "allegro":
        layer.x = layer.y = layer.z = segments(widths(r, most, min(l_y, 3), "equal"), parity)
        layer.instructions = "uuu"
        return
    layer.x = segments(widths(r, most, l_x), parity)
    if layer.family == "linear":
        layer.y, l_y = [(1, 0, 1)], 0
    elif layer.family == "elements":
        layer.y, l_y = [(r.choice(ELEMENTS), 0, 1)], 0
    elif layer.family == "bilinear":
        layer.y = segments(widths(r, most, l_y), harmonics)
    else:
        layer.y = segments([r.randint(2, 4) if r.random() < 1 / 12 else 1] * (l_y + 1), harmonics)
    if layer.family in ("conv", "batch"):  # mul of a filter's segment has no meaning
        layer.z = segments([1] * (max(l_x, l_y) + 1), parity)
    else:
        layer.instructions = "fully_connected"
        layer.z = segments(widths(r, most, max(l_x, l_y)), parity)
    if layer.family in ("conv", "conv_full", "batch", "batch_full") and r.random() < 1 / 12:
        layer.z = layer.z[:1]


def layer(seed, number):
    r = random.Random(f"{seed}/{number}")
    family = r.choices(list(FAMILIES), list(FAMILIES.values()))[0]
    drawn = Layer(f"{family}_{seed}_{number}", family)
    draw_irreps(r, drawn, r.choices(("natural", "even", "both"), (2, 1, 1))[0])
    drawn.precision = "float64" if r.random() < 1 / 6 else "float32"
    if family in ("conv", "conv_full") and r.random() < 0.1:
        drawn.keys = "edges: any\nreduction: atomic\n"
    items, degree = log_uniform(r, 2000, 1e6), log_uniform(r, 4, 150)
    graph = family in ("conv", "conv_full", "allegro")
    while True:
        nodes = max(1, min(NODES, round(items / degree))) if graph else 0
        if drawn.bytes_of(items, nodes) <= MEMORY or items < 2:
            break
        items *= 0.98
    drawn.place = ("drawn", int(items), nodes, round(items / nodes) if graph else 0)
    return drawn


# ---- the fixed list ----

def convolution(name, x, y, z, keys=""):
    """On carbon. Words: irreps as in a spec."""
    made = Layer(name, "conv")
    made.x, made.y, made.z = ([(int(mul or 1), int(irrep[:-1]), 1 if irrep[-1] == "e" else -1)
                               for mul, _, irrep in (word.strip().rpartition("x") for word in words.split("+"))]
                              for words in (x, y, z))
    made.keys, made.place = keys, ("carbon", 0, 0, 0)
    return made


def fixed():
    """Published convolutions with one word changed, or one step further, beside MACE's as it is (mace_large, 128)."""
    harmonics = "0e + 1o + 2e + 3o"
    for n in (128, 127, 129, 100, 50, 16, 8):
        yield convolution(f"mace_{n}", f"{n}x0e + {n}x1o + {n}x2e", harmonics, harmonics)
    pyramid = "128x0e + 64x1e + 32x2e + 16x3e + 8x4e"
    yield convolution("pyramid_4", pyramid, "0e + 1e + 2e + 3e + 4e", pyramid)
    six = " + ".join(f"{l}e" for l in range(7))
    yield convolution("lmax_6", " + ".join(f"16x{l}e" for l in range(7)), six, six)
    yield convolution("widths_differ", "100x0e + 30x1o + 10x2e + 5x3o", harmonics, harmonics)
    yield convolution("last_layer", "128x0e + 128x1o + 128x2e", "0e + 1o + 2e", "128x0e")
    yield convolution("any_atomic", "128x0e + 128x1o", harmonics, harmonics, "edges: any\nreduction: atomic\n")
