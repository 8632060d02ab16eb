#!/usr/bin/env python3
"""Writes this folder's data and specs from golden cases (a folder each, with case.json and .npy files).

For each case NAME:
    NAME.yaml          the spec, its instructions written out
    NAME.sugar.yaml    for products of e3nn's classes, and for channelwise ones: the same product, spelled so
                       (forward only, the rest would repeat NAME.yaml)
    NAME.problem       the product and the arrays in the words of tests/reference.h
    NAME.f64           the arrays one after the other, little-endian float64

    tests/golden/convert.py FOLDER
"""
import ast
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).parent
KERNELS = ["forward", "backward", "double_backward", "triple_backward", "jvp", "backward_jvp",
           "double_backward_jvp"]
# The arrays of a case under the names that the kernels' arguments have.
RENAMED = {"d2x": "d_x", "d2y": "d_y", "d2w": "d_w", "d2gz": "d_gz", "t3x": "t_x", "t3y": "t_y", "t3w": "t_w",
           "t3gz": "t_gz", "t3ax": "t_ax", "t3by": "t_by", "t3cw": "t_cw"}
VARIANCES = [("x", "in1_var"), ("y", "in2_var"), ("z", "out_var")]
ORDER = ["sender", "receiver", "x", "y", "w", "gz", "z", "gx", "gy", "gw", "ax", "by", "cw", "d2gz", "d2x",
         "d2y", "d2w", "e2gz", "a2x", "b2y", "c2w", "t3x", "t3y", "t3w", "t3gz", "t3ax", "t3by", "t3cw"]


def read_npy(path):
    """(shape, list of float)"""
    raw = path.read_bytes()
    size = struct.unpack("<H", raw[8:10])[0]
    header = ast.literal_eval(raw[10:10 + size].decode())
    assert raw[:8] == b"\x93NUMPY\x01\x00" and not header["fortran_order"], path
    count = 1
    for n in header["shape"]:
        count *= n
    code = {"<f8": "d", "<i4": "i"}[header["descr"]]
    return header["shape"], list(map(float, struct.unpack("<%d%s" % (count, code), raw[10 + size:])))


def parse(irreps):
    """[(mul, l, parity letter)]"""
    out = []
    for part in irreps.replace(" ", "").split("+"):
        mul, _, ir = part.rpartition("x")
        out.append((int(mul or 1), int(ir[:-1]), ir[-1]))
    return out


def channelwise(case):
    """The `order` under which the sugar `channelwise` means the case's instructions, or None."""
    x, y, z = (parse(case["irreps_" + name]) for name in ("in1", "in2", "out"))
    given = [tuple(i) for i in case["instructions"]]
    allowed = {ir[1:] for ir in z}
    made = []
    for i, (mul, l1, p1) in enumerate(x):
        for j, (_, l2, p2) in enumerate(y):
            for l in range(abs(l1 - l2), l1 + l2 + 1):
                p = "e" if p1 == p2 else "o"
                if (l, p) in allowed:
                    made.append((i, j, (mul, l, p)))
    order = sorted(range(len(made)), key=lambda n: (made[n][2][1], made[n][2][2] == "e"))
    if [made[n][2] for n in order] != z:
        return None
    place = {n: k for k, n in enumerate(order)}
    plain = [(i, j, place[n], "uvu", True) for n, (i, j, _) in enumerate(made)]
    for name, instructions in (("input", plain), ("output", sorted(plain, key=lambda t: t[2]))):
        if instructions == given:
            return name
    return None


def plus(irreps):
    return " + ".join(irreps.replace(" ", "").split("+"))


def number(v):
    return repr(float(v))


def spec(case, name, irreps, instructions, kernels):
    """The YAML text; irreps: x, y and z (or None); instructions: lines."""
    lines = ["cgtp: 1", "name: " + name, "irreps:"]
    lines += ["  %s: %s" % (slot, plus(text)) for slot, text in zip("xyz", irreps) if text is not None]
    lines += instructions
    irrep, path = case["irrep_normalization"], case["path_normalization"]
    if (irrep, path) != ("component", "element"):
        lines.append("normalization: {irrep: %s, path: %s}" % (irrep, path))
    variances = ["%s: [%s]" % (slot, ", ".join(map(number, case[key])))
                 for slot, key in VARIANCES if case.get(key)]
    if variances:
        lines.append("variance: {%s}" % ", ".join(variances))
    index = index_of(case)
    said = ["%s: %s" % (slot, kind) for slot, kind in zip("xywz", index) if kind != "item"]
    if said:
        lines.append("index: {%s}" % ", ".join(said))
    lines.append("precision: float64")
    lines.append("kernels: [%s]" % ", ".join(kernels))
    return "\n".join(lines) + "\n"


def index_of(case):
    """Of x, y, w and z."""
    graph = bool(case["graph"])
    return ["sender" if graph else "item", "item", "shared" if case["shared_weights"] else "item",
            "receiver" if graph else "item"]


def convert(folder):
    case = json.loads((folder / "case.json").read_text())
    name = folder.name
    irreps = [case["irreps_in1"], case["irreps_in2"], case["irreps_out"]]
    instructions = [list(i) + [1.0] * (6 - len(i)) for i in case["instructions"]]

    lines = ["instructions:"]
    for i, j, k, mode, weighted, weight in instructions:
        tail = "" if weighted and weight == 1 else ", %s" % str(weighted).lower()
        tail += "" if weight == 1 else ", " + number(weight)
        lines.append("  - [%d, %d, %d, %s%s]" % (i, j, k, mode, tail))
    (HERE / (name + ".yaml")).write_text(spec(case, name, irreps, lines, KERNELS))

    sugar = None
    if "e3nn_class" in case:
        word = {"FullyConnectedTensorProduct": "fully_connected", "FullTensorProduct": "full",
                "ElementwiseTensorProduct": "elementwise"}[case["e3nn_class"]]
        wanted = list(case["args"]) + [None] * (3 - len(case["args"]))
        if case.get("filter_ir_out"):
            wanted[2] = "+".join("1x" + ir for ir in case["filter_ir_out"])
        sugar = spec(case, name + "_sugar", wanted, ["instructions: " + word], KERNELS[:1])
    elif channelwise(case):
        z = "+".join(dict.fromkeys(irreps[2].replace(" ", "").split("+")))
        sugar = spec(case, name + "_sugar", irreps[:2] + [z],
                     ["instructions: channelwise", "order: " + channelwise(case)], KERNELS[:1])
    if sugar:
        (HERE / (name + ".sugar.yaml")).write_text(sugar)

    text = ["%s %s" % (slot, plus(i)) for slot, i in zip("xyz", irreps)]
    text.append("normalization %s %s" % (case["irrep_normalization"], case["path_normalization"]))
    for slot, key in VARIANCES:
        if case.get(key):
            text.append("variance %s %s" % (slot, " ".join(map(number, case[key]))))
    text += ["instruction %d %d %d %s %d %s" % (*i[:4], i[4], number(i[5])) for i in instructions]
    text.append("index " + " ".join(index_of(case)))
    data = b""
    arrays = {path.stem: read_npy(path) for path in folder.glob("*.npy")}
    assert set(arrays) <= set(ORDER), sorted(arrays)
    arrays["coefficients"] = ((len(instructions),), case["effective_path_weights"])
    for key in ORDER + ["coefficients"]:
        if key in arrays:
            shape, values = arrays[key]
            rows, columns = shape if len(shape) == 2 else (1, shape[0])
            text.append("array %s %d %d" % (RENAMED.get(key, key), rows, columns))
            data += struct.pack("<%dd" % len(values), *values)
    (HERE / (name + ".problem")).write_text("\n".join(text) + "\n")
    (HERE / (name + ".f64")).write_bytes(data)


def main():
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        if (folder / "case.json").exists():
            convert(folder)


if __name__ == "__main__":
    main()
