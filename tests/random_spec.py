#!/usr/bin/env python3
"""Random valid products: specs, and the same in the words of the dense reference (tests/reference.h).

    tests/random_spec.py write FOLDER FIRST COUNT     FOLDER/random_N.yaml and .problem for N = FIRST ..
    tests/random_spec.py shrink N                     makes a failing one smaller, into tests/regress

Everything a spec can say is drawn: all modes mixed, multiplicities 0 to 70, l to 6, repeated, empty and
unused segments, instructions by a word, their order and filter, normalisations, variances, path weights, indices, graphs,
layouts, reductions, kernels known, in part and spelled out. Seed N always gives the same product.
"""
import copy
import itertools
import os
import pathlib
import random
import subprocess
import sys

SLOTS = "xywz"
KNOWN = {
    "forward": ["z"],
    "backward": ["gx", "gy", "gw"],
    "double_backward": ["d_gz", "d_x", "d_y", "d_w"],
    "triple_backward": ["t_x", "t_y", "t_w", "t_gz", "t_ax", "t_by", "t_cw"],
    "jvp": ["dz"],
    "backward_jvp": ["dgx", "dgy", "dgw"],
    "double_backward_jvp": ["dd_gz", "dd_x", "dd_y", "dd_w"],
}
OF_WEIGHTS = {"gw", "d_w", "t_w", "t_cw", "dgw", "dd_w"}
MODES = ["uvw", "uvu", "uvv", "uuw", "uuu", "uvuv", "uvu<v", "u<vw"]
MULTIPLICITIES = [0, 1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 70]
# By what names of products end in (tests/check_golden.c), after _atomic where sums are (tests/check_calls.c).
LAYOUTS = {"_irmul": "ir_mul", "_irmulx": "{x: ir_mul}", "_irmulyz": "{y: ir_mul, z: ir_mul}"}
DIM_MAX, COST_MAX = 2500, 60000


class Product:
    """x, y, z: lists of (mul, l, parity); instructions: [x, y, z, mode, weighted, path weight as text]."""

    def __init__(self):
        self.x, self.y, self.z, self.instructions = [], [], [], []
        self.said = None  # in a word: {"x", "y", "z": segments as written, or None, "instructions", "order": words}
        self.normalization = ("component", "element")
        self.variance = {}
        self.index = dict.fromkeys(SLOTS, "item")
        self.layout = ""
        self.rows = {}          # slot -> dense, strided
        self.atomic = self.invariant = False
        self.edges, self.compensated, self.index_type, self.precision = "sorted", False, "int32", "float64"
        self.kernels = [("known", "forward")]

    def weights(self):
        """Elements of a row of w."""
        return sum(self.weight_numel(i) for i in self.instructions if i[4])

    def weight_numel(self, i):
        u, v, w = self.x[i[0]][0], self.y[i[1]][0], self.z[i[2]][0]
        return {"uvw": u * v * w, "uvu": u * v, "uvv": u * v, "uuw": u * w, "uuu": u, "uvuv": u * v,
                "uvu<v": u * (v - 1) // 2, "u<vw": u * (v - 1) // 2 * w}[i[3]]

    def graph(self):
        return any(kind in ("sender", "receiver") for kind in self.index.values())

    def valid(self):
        """Is every instruction one that e3nn takes, and every kernel one of this product?"""
        for x, y, z, mode, weighted, _ in self.instructions:
            (u, l1, p1), (v, l2, p2), (w, l3, p3) = self.x[x], self.y[y], self.z[z]
            tied = {"uvw": weighted, "uvu": u == w, "uvv": v == w, "uuw": u == v and (weighted or w == 1),
                    "uuu": u == v == w, "uvuv": u * v == w, "uvu<v": u == v and w == u * (u - 1) // 2,
                    "u<vw": u == v and weighted}[mode]
            if not tied or not abs(l1 - l2) <= l3 <= l1 + l2 or p1 * p2 != p3:
                return False
        weights = self.weights() > 0
        return bool(self.kernels) and (weights or not any(needs_weights(k) for k in self.kernels))


def needs_weights(kernel):
    """Does it name an output or argument of slot w?"""
    if kernel[0] == "part":
        return bool(OF_WEIGHTS & set(kernel[3]))
    if kernel[0] == "spelled":
        return any(slot == "w" for slot, _ in kernel[2].values()) or \
            any(term[0] == "w" for terms in kernel[3].values() for term in terms)
    return False


def terms_text(terms):
    return ["Q_%s(%s)" % (t[0], ", ".join(t[1:])) for t in terms]


# ---- text ----

def irreps_text(segments):
    return "+".join("%dx%d%s" % (mul, l, "e" if p == 1 else "o") for mul, l, p in segments)


def kernel_yaml(kernel):
    if kernel[0] == "known":
        return "  - " + kernel[1]
    if kernel[0] == "part":
        return "  - {name: %s, of: %s, outputs: [%s]}" % (kernel[1], kernel[2], ", ".join(kernel[3]))
    lines = ["  - name: " + kernel[1]]
    if kernel[2]:
        lines.append("    arguments: {%s}" % ", ".join("%s: %s%s" % (name, "d " if tangent else "", slot)
                                                      for name, (slot, tangent) in kernel[2].items()))
    lines.append("    outputs:")
    lines += ["      %s: [%s]" % (name, ", ".join(terms_text(terms))) for name, terms in kernel[3].items()]
    return "\n".join(lines)


def yaml(p, name):
    atomic = p.atomic and p.graph()
    lines = ["cgtp: 1", "name: " + name + atomic * "_atomic" + p.layout, "irreps:"]
    written = p.said or {slot: getattr(p, slot) for slot in "xyz"}
    lines += ['  %s: "%s"' % (slot, irreps_text(written[slot])) for slot in "xyz" if written[slot] is not None]
    if p.said:
        lines += ["%s: %s" % (key, p.said[key]) for key in ("instructions", "order") if key in p.said]
    else:
        lines.append("instructions:" if p.instructions else "instructions: []")
        lines += ["  - [%d, %d, %d, %s, %s, %s]" % (*i[:4], str(i[4]).lower(), i[5]) for i in p.instructions]
    lines.append("normalization: {irrep: %s, path: %s}" % p.normalization)
    if p.variance:
        lists = ["%s: [%s]" % (slot, ", ".join(values)) for slot, values in p.variance.items()]
        lines.append("variance: {%s}" % ", ".join(lists))
    lines.append("index: {%s}" % ", ".join("%s: %s" % (s, p.index[s]) for s in SLOTS))
    if p.graph():
        lines += ["edges: " + p.edges, "index_type: " + p.index_type]
    if p.compensated and (p.graph() or "shared" in p.index.values()):
        lines.append("accumulate: compensated")
    if p.layout:
        lines.append("layout: " + LAYOUTS[p.layout])
    if p.rows:
        lines.append("rows: {%s}" % ", ".join("%s: %s" % row for row in p.rows.items()))
    if p.graph() and (p.atomic or p.invariant):
        lines.append("reduction: " + ("atomic" if atomic else "invariant"))
    lines += ["precision: " + p.precision, "kernels:"]
    return "\n".join(lines + [kernel_yaml(k) for k in p.kernels]) + "\n"


def problem(p):
    lines = ["%s %s" % (slot, irreps_text(getattr(p, slot))) for slot in "xyz"]
    lines.append("normalization %s %s" % p.normalization)
    lines += ["variance %s %s" % (slot, " ".join(values)) for slot, values in p.variance.items()]
    lines += ["instruction %d %d %d %s %d %s" % tuple(i) for i in p.instructions]
    lines.append("index " + " ".join(p.index[s] for s in SLOTS))
    for kernel in p.kernels:
        if kernel[0] == "part":
            lines.append("kernel %s - %s" % (kernel[1], kernel[2]))
        elif kernel[0] == "spelled":
            primal = [n for n, (_, tangent) in kernel[2].items() if not tangent]
            lines.append("kernel %s %s %s" % (kernel[1], ",".join(primal) or "-", "; ".join(
                "%s = %s" % (name, " + ".join(terms_text(terms))) for name, terms in kernel[3].items())))
    return "\n".join(lines) + "\n"


def write(p, folder, name):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, text in ((".yaml", yaml(p, name)), (".problem", problem(p))):
        path = folder / (name + suffix)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


# ---- drawing ----

def draw_segment(r, most):
    mul = r.choice([m for m in MULTIPLICITIES if m <= most])
    return (mul, min(r.choice([0, 0, 1, 1, 2, 2, 3, 4, 5, 6]), 6 if mul < 20 else 3), r.choice([1, -1]))


def pick(r, segments, wanted):
    """The number of a segment like `wanted`: one that is there, mostly, or a new one."""
    there = [n for n, s in enumerate(segments) if s == wanted]
    if there and r.random() < 0.7:
        return r.choice(there)
    segments.append(wanted)
    return len(segments) - 1


def draw_instruction(r, p, modes):
    mode = r.choice(modes)
    x = r.randrange(len(p.x))
    u, l1, p1 = p.x[x]
    if mode in ("uuw", "uuu", "uvu<v", "u<vw"):
        same = [n for n, s in enumerate(p.y) if s[0] == u]
        y = r.choice(same) if same and r.random() < 0.7 else pick(r, p.y, (u, *draw_segment(r, 1)[1:]))
    else:
        y = r.randrange(len(p.y))
    v, l2, p2 = p.y[y]
    l3 = min(r.choice(range(abs(l1 - l2), l1 + l2 + 1)), max(6, abs(l1 - l2)))
    weighted = mode in ("uvw", "u<vw") or r.random() < 0.75
    w = {"uvu": u, "uvv": v, "uuu": u, "uvuv": u * v, "uvu<v": u * (u - 1) // 2}.get(mode)
    if w is None:
        w = 1 if mode == "uuw" and not weighted else draw_segment(r, 40)[0]
    cost = u * (1 if mode in ("uuw", "uuu") else v) * (w if mode in ("uvw", "uuw", "u<vw") else 1)
    if cost * (2 * l1 + 1) * (2 * l2 + 1) > COST_MAX or w * (2 * l3 + 1) > DIM_MAX / 3:
        return
    z = pick(r, p.z, (w, l3, p1 * p2))
    weight = r.choice(["1.0", "1.0", "1.0", "0.5", "2", "0.3", "1e-3", "0"])
    p.instructions.append([x, y, z, mode, weighted, weight])


def simplified(segments):
    """Neighbours of one irrep together, none empty."""
    out = []
    for mul, *irrep in segments:
        if out and out[-1][1:] == (*irrep,):
            mul += out.pop()[0]
        if mul:
            out.append((mul, *irrep))
    return out


def in_pieces(x, y):
    """The channels of both in pieces of as many, as elementwise takes them."""
    x, y, pieces = list(reversed(x)), list(reversed(y)), ([], [])
    while x and y:
        (u, *of_x), (v, *of_y) = x.pop(), y.pop()
        for piece, irrep, rest, left in zip(pieces, (of_x, of_y), (u - v, v - u), (x, y)):
            piece.append((min(u, v), *irrep))
            if rest > 0:
                left.append((rest, *irrep))
    return pieces


def expand(p):
    """Segments and instructions of the word that is said, as docs/spec.md says them."""
    word, wanted = p.said["instructions"], p.said["z"]
    p.x, p.y, p.instructions = p.said["x"], p.said["y"], []
    if word in ("full", "elementwise"):
        p.x, p.y = simplified(p.x), simplified(p.y)
    if word == "elementwise":
        p.x, p.y = in_pieces(p.x, p.y)
    pairs = zip(range(len(p.x)), range(len(p.y))) if word == "elementwise" else \
        itertools.product(range(len(p.x)), range(len(p.y)))
    outputs = []  # with the instruction of each
    for i, j in pairs:
        (u, l1, p1), (v, l2, p2) = p.x[i], p.y[j]
        if word == "fully_connected":
            p.instructions += [[i, j, k, "uvw", True, "1.0"] for k, (_, l3, p3) in enumerate(wanted)
                               if abs(l1 - l2) <= l3 <= l1 + l2 and p3 == p1 * p2]
            continue
        mode, weighted, mul = {"channelwise": ("uvu", True, u), "full": ("uvuv", False, u * v),
                               "elementwise": ("uuu", False, u)}[word]
        for l3 in range(abs(l1 - l2), l1 + l2 + 1):
            if wanted is None or any((l, parity) == (l3, p1 * p2) for _, l, parity in wanted):
                outputs.append(((mul, l3, p1 * p2), [i, j, None, mode, weighted, "1.0"]))
    if word == "fully_connected":
        p.z = wanted
        return
    by_place = outputs
    if word != "elementwise":
        by_place = sorted(outputs, key=lambda output: output[0][1:])
    for k, (_, instruction) in enumerate(by_place):
        instruction[2] = k
    p.z = [segment for segment, _ in by_place]
    p.instructions = [instruction for _, instruction in (by_place if p.said.get("order") == "output" else outputs)]


def draw_said(r, p):
    """Instructions in a word, of segments of their own; where there is a filter, it lets some irreps through."""
    word = r.choice(["channelwise", "channelwise", "fully_connected", "elementwise", "full"])
    most = {"channelwise": (40, r.choice([1, 1, 3])), "fully_connected": (9, 5), "elementwise": (40, 40), "full": (9, 5)}[word]
    x, y = ([(mul, min(l, 3), parity) for mul, l, parity in (draw_segment(r, m) for _ in range(r.randint(1, 3)))] for m in most)
    if word == "elementwise":
        y, missing = [], sum(mul for mul, _, _ in x)
        while missing > 0:
            mul = min(missing, draw_segment(r, 33)[0])
            y.append((mul, r.randint(0, 3), r.choice([1, -1])))
            missing -= mul
    made = sorted({(l, p1 * p2) for _, l1, p1 in x for _, l2, p2 in y for l in range(abs(l1 - l2), l1 + l2 + 1)})
    z = [(r.choice([1, 2, 3, 5]), l, parity) for l, parity in made + [(6, 1)] if r.random() < 0.6]
    if word != "fully_connected" and r.random() < 0.5:
        z = None
    p.said = {"x": x, "y": y, "z": z, "instructions": word}
    if word == "channelwise":
        p.said["order"] = r.choice(["input", "output"])
    expand(p)


def draw_spelled(r, name, weights):
    """A kernel of one to three outputs over the product's own arguments and a few more."""
    slots = ["x", "y", "w", "g"] if weights else ["x", "y", "g"]
    arguments, of = {}, {"x": ["x"], "y": ["y"], "w": ["w"], "g": ["gz"]}
    for n in range(r.randrange(4)):
        slot = r.choice(slots)
        arguments["arg_" + "abc"[n]] = (slot, r.random() < 0.6)
        of[slot].append("arg_" + "abc"[n])
    outputs = {}
    for n in range(r.randint(1, 3)):
        target, terms = r.choice(slots), []
        for _ in range(r.randint(1, 4)):
            term = (target, *(r.choice(of[s]) for s in "xywg" if s != target))
            if term not in terms:
                terms.append(term)
        outputs["out_" + "abc"[n]] = terms
    used = {a for terms in outputs.values() for t in terms for a in t[1:]}
    return ("spelled", name, {a: d for a, d in arguments.items() if a in used}, outputs)


def draw_kernels(r, weights):
    kernels = [("known", name) for name in r.sample(list(KNOWN), r.randint(1, 2))]
    if r.random() < 0.5:
        of = r.choice(list(KNOWN))
        outputs = [o for o in KNOWN[of] if weights or o not in OF_WEIGHTS]
        kernels.append(("part", "part", of, r.sample(outputs, r.randint(1, len(outputs)))))
    if r.random() < 0.5:
        kernels.append(draw_spelled(r, "spelled", weights))
    return kernels


def draw_types(r, p):
    """Arrays of other types than arithmetic: a word, or a type for some operands."""
    if r.random() < 0.5:
        return r.choice(["bfloat16", "float16"])
    types = {slot: r.choice(["bfloat16", "float16", "float32", "float64"]) for slot in SLOTS if r.random() < 0.7}
    types["compute"] = r.choice(["float32", "float32", "float64"])
    if not p.compensated and r.random() < 0.5:
        types["sum"] = "float64"
    return "{%s}" % ", ".join("%s: %s" % item for item in types.items())


def said_cost(p):
    return max(p.x[i][0] * p.y[j][0] * (p.z[k][0] if mode == "uvw" else 1) * (2 * p.x[i][1] + 1) * (2 * p.y[j][1] + 1)
               for i, j, k, mode, _, _ in p.instructions)


def draw(seed):
    r, words = random.Random(seed), random.Random("in words %d" % seed)  # apart: products of no word stay what they were
    while True:
        p = Product()
        layer = r.random() < 0.25  # as the pipelined evaluations take them
        p.x = [draw_segment(r, 70) for _ in range(r.randint(1, 4))]
        p.y = [draw_segment(r, 1 if layer else r.choice([1, 3, 17, 70])) for _ in range(r.randint(1, 3))]
        if layer:
            p.x = [(r.choice([32, 32, 64, 96]), min(l, 3), parity) for _, l, parity in p.x]
            p.y = [(1, min(l, 3), parity) for _, l, parity in p.y]
        if r.random() < 0.2:
            p.z.append(draw_segment(r, 9))  # perhaps never written
        wanted = r.choice([0] + [1, 2, 3, 4, 5, 6, 8] * 4)
        for _ in range(4 * wanted):
            if len(p.instructions) < wanted:
                draw_instruction(r, p, ["uvu"] if layer else MODES)
        if not layer and words.random() < 0.25:
            draw_said(words, p)
        if r.random() < 0.3:
            p.normalization = (r.choice(["component", "norm", "none"]), r.choice(["element", "path", "none"]))
        for slot in "xyz":
            if r.random() < 0.2 and getattr(p, slot) and not p.said:
                p.variance[slot] = [r.choice(["1", "0.5", "2", "0.3", "1.7", "4"]) for _ in getattr(p, slot)]
        if layer:
            if r.random() < 0.7:
                p.index.update(x="sender", z="receiver")
        elif r.random() < 0.7:
            p.index = {slot: r.choice(["item", "sender", "receiver", "shared"]) for slot in SLOTS}
        p.edges = r.choice(["sorted", "sorted", "any"])
        p.compensated = r.random() < 0.3
        p.index_type = r.choice(["int32", "int32", "int64"])
        p.precision = r.choice(["float32", "float64"])
        if words.random() < 0.3:
            p.precision = draw_types(words, p)
        if r.random() < 0.4:
            p.layout = r.choice(list(LAYOUTS))
        p.atomic = not p.compensated and r.random() < 0.2
        p.kernels = draw_kernels(r, p.weights() > 0)
        dims = [sum(mul * (2 * l + 1) for mul, l, _ in s) for s in (p.x, p.y, p.z)] + [p.weights()]
        if max(dims) <= DIM_MAX and p.valid() and (not p.said or p.instructions and said_cost(p) <= COST_MAX):
            p.invariant = not p.atomic and r.random() < 0.2
            if words.random() < 0.3:
                p.rows = {slot: words.choice(["dense", "strided"]) for slot in SLOTS if p.index[slot] != "shared"}
            return p


# ---- shrinking ----

def without_unused(p):
    q = copy.deepcopy(p)
    q.said = None
    for at, slot in enumerate("xyz"):
        used = sorted({i[at] for i in q.instructions})
        place = {old: new for new, old in enumerate(used)}
        setattr(q, slot, [getattr(q, slot)[n] for n in used])
        if slot in q.variance:
            q.variance[slot] = [q.variance[slot][n] for n in used]
        for i in q.instructions:
            i[at] = place[i[at]]
    return q


def smaller(p):
    """Products that say less, boldest first."""
    def changed(**what):
        q = copy.deepcopy(p)
        for key, value in what.items():
            setattr(q, key, value)
        if {"x", "y", "z", "instructions", "variance"} & set(what):
            q.said = None  # but in a list
        return q

    for k in range(len(p.kernels)):
        yield changed(kernels=p.kernels[:k] + p.kernels[k + 1:])
    for i in range(len(p.instructions)):
        yield changed(instructions=p.instructions[:i] + p.instructions[i + 1:])
    yield changed(said=None)
    yield without_unused(p)
    for k, kernel in enumerate(p.kernels):
        if kernel[0] != "known":
            for name in list(kernel[3]):
                if len(kernel[3]) > 1:
                    rest = {n: t for n, t in kernel[3].items() if n != name} if kernel[0] == "spelled" else \
                        [n for n in kernel[3] if n != name]
                    yield changed(kernels=p.kernels[:k] + [(*kernel[:3], rest)] + p.kernels[k + 1:])
    yield changed(index=dict.fromkeys(SLOTS, "item"))
    for slot in SLOTS:
        yield changed(index={**p.index, slot: "item"})
    yield changed(variance={})
    yield changed(normalization=("component", "element"))
    yield changed(compensated=False)
    yield changed(atomic=False)
    yield changed(invariant=False)
    yield changed(layout="")
    yield changed(rows={})
    yield changed(index_type="int32")
    yield changed(edges="sorted")
    yield changed(precision="float64")
    yield changed(instructions=[[*i[:5], "1.0"] for i in p.instructions])
    segments = p.x + p.y + p.z
    for mul in sorted({s[0] for s in segments}, reverse=True):  # the same everywhere: modes tie them
        for less in sorted({1, 2, 3, mul // 2, mul - 1}):
            if 0 < less < mul:
                yield changed(**{slot: [(less if s[0] == mul else s[0], *s[1:]) for s in getattr(p, slot)]
                                 for slot in "xyz"})
    for l in sorted({s[1] for s in segments}, reverse=True):
        for less in range(l):
            yield changed(**{slot: [(s[0], less if s[1] == l else s[1], s[2]) for s in getattr(p, slot)]
                             for slot in "xyz"})


def fails(p, name):
    """Generated, compiled and checked, is it wrong? Nonzero where it is."""
    folder = os.path.join(os.environ.get("BUILD", "build"), "shrink")
    write(p, folder, name)
    made = subprocess.run(["make", "-s", "-f", "tests/products.mk", "DIR=%s/out" % folder, "FLAGS=-O0",
                           "SPECS=%s/%s.yaml" % (folder, name)], capture_output=True)
    if made.returncode:
        return made.returncode
    kinds = ["descriptor", "sizes", "paths", "calls"]
    checked = subprocess.run([folder + "/out/check", "problems=" + folder, *kinds], capture_output=True)
    return checked.returncode


def shrink(seed):
    p, name = draw(seed), "shrunk_%d" % seed
    if not fails(p, name):
        print("random_%d passes" % seed)
        return
    found = True
    while found:
        found = False
        for q in smaller(p):
            if (yaml(q, name) != yaml(p, name)) and q.valid() and fails(q, name):
                p, found = q, True
                break
    write(p, "tests/regress", name)
    print("wrote tests/regress/%s.yaml and .problem:\n%s" % (name, yaml(p, name)))


def main():
    if sys.argv[1:2] == ["write"] and len(sys.argv) == 5:
        for seed in range(int(sys.argv[3]), int(sys.argv[3]) + int(sys.argv[4])):
            write(draw(seed), sys.argv[2], "random_%d" % seed)
    elif sys.argv[1:2] == ["shrink"] and len(sys.argv) == 3:
        shrink(int(sys.argv[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
