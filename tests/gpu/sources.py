#!/usr/bin/env python3
"""Generates the products that the GPU tests and benchmarks use, and the table that lists them (table.h).

Usage: sources.py [--generator=FILE] [--backend=cuda] [--out=build/gpu] [--commit=TEXT] [--variants=DIR]
                  [--product=REGEX] [--random=FIRST:COUNT] SET..

Of each set the products whose names match, or all.

SET: golden (tests/golden), narrow (published layers with fewer channels), quick_golden, quick_narrow and
sanitize (a few of them), bench_quick, bench_main, bench_large (what is timed), bench_sweep, bench_sweep_large (golden
cases with more channels, sweep.py), regress (tests/regress), random (COUNT random products from number FIRST on,
tests/random_spec.py), variants (every *.yaml in the folders given, under their own names). Each set is a folder OUT/SET of
sources with table.c and shard_N.c. Specs are tests/golden's and specs/'s (one of tests/simt/specs), changed as the lists
below say; they are kept in OUT/SET/specs, those of regress and random with what the reference reads, their problems. Files
that stay the same keep their times.
"""
import glob
import json
import os
import re
import subprocess
import sys

import sweep

sys.path.insert(1, "tests")
import random_spec  # noqa: E402

GOLDEN = "tests/golden"
ALL_KERNELS = "[forward, backward, double_backward, triple_backward, jvp, backward_jvp, double_backward_jvp]"
THREE = "[forward, backward, double_backward]"

# Golden cases whose seven kernels are tested; of the others three. And those also tested in float32.
SEVEN = re.compile(r"g_(triple_\w+|mixed_modes|mace_large_c(4|32)(_graph)?|nequip_lmax2_graph|"
                   r"mode_\w+_(0|noweight))$")
SINGLE = re.compile(r"g_(mace_large\w+|nequip_lmax[135]\w*|sevennet\w+|diffdock\w+|mixed_modes|"
                    r"mode_\w+_(0|shared)|allegro\w+|random_\d|tetris_1|triple_\w+|class_full)$")
QUICK = re.compile(r"g_(mixed_modes|mace_large_c(4|40)_graph|mace_large_c32|nequip_lmax3_graph|"
                   r"mode_\w+_shared|triple_(mixed|mixed_shared)|random_[0-3]|diffdock_l1_graph)$")

SETS = ("golden", "narrow", "quick_golden", "quick_narrow", "sanitize", "bench_quick", "bench_main", "bench_large",
        "bench_sweep", "bench_sweep_large", "regress", "random", "variants")
SHARDS = 8  # programs that share a set's products, to be run at once

GRAPH = {"index": "{x: sender, z: receiver}"}
# Published layers with few channels and one property changed: name, spec, channels (the most or, with =, the
# only number), keys set, sets besides narrow.
NARROW = [
    ("mace32", "mace_large", "32",
     {"kernels": "[forward, backward, double_backward, triple_backward, jvp]"}, "quick"),
    ("mace32_atomic", "mace_large", "32", {"reduction": "atomic"}, "quick sanitize"),
    ("mace32_any", "mace_large", "32", {"edges": "any"}, "quick sanitize"),
    ("mace32_whole", "mace_large", "32", {"reduction": "invariant"}, "quick sanitize"),
    ("mace32_any_atomic", "mace_large", "32", {"reduction": "atomic", "edges": "any"}, ""),
    ("mace32_any_wide", "mace_large", "32", {"edges": "any", "index_type": "int64"}, ""),
    ("mace32_wide", "mace_large", "32", {"index_type": "int64"}, "quick"),
    ("mace32_f64", "mace_large", "32", {"precision": "float64"}, "quick"),
    ("mace32_f64_atomic", "mace_large", "32", {"precision": "float64", "reduction": "atomic"}, ""),
    ("mace32_compensated", "mace_large", "32", {"accumulate": "compensated"}, "quick sanitize"),
    ("mace32_forces", "mace_large", "32",
     {"kernels": "[forward, {name: backward, of: backward, outputs: [gx, gy]}]"}, ""),
    ("mace32_batch", "mace_large", "32", {"index": "{}"}, "quick"),
    ("mace128_batch", "mace_large", "128", {"index": "{}"}, "quick sanitize"),
    ("mace64_f64_batch", "mace_large", "64", {"index": "{}", "precision": "float64"}, "quick"),
    ("mixed_batch", "../tests/simt/specs/batch_mixed", "128", {"kernels": THREE}, "quick"),
    ("mixed_batch_irmul", "../tests/simt/specs/batch_mixed", "128", {"kernels": THREE, "layout": "ir_mul"}, "quick"),
    ("phases_batch", "../tests/simt/specs/batch_phases", "64", {"kernels": THREE}, "quick sanitize"),
    ("widths_batch", "../tests/simt/specs/batch_widths", "128", {}, "quick sanitize"),
    ("even_batch_irmul", "../tests/simt/specs/batch_even", "128", {"layout": "ir_mul"}, "quick"),
    ("shared_batch", "../tests/simt/specs/batch_shared", "128", {}, "quick sanitize"),
    ("even_batch_bf16", "../tests/simt/specs/batch_even", "128", {"precision": "bfloat16"}, "quick"),
    ("mace5", "mace_large", "=5", {}, "quick sanitize"),
    ("mace33", "mace_large", "=33", {}, ""),
    ("mixed32", "../tests/simt/specs/conv_mixed", "32", {"kernels": THREE}, "quick sanitize"),
    ("mixed32_any", "../tests/simt/specs/conv_mixed", "32", {"kernels": THREE, "edges": "any"}, "quick"),
    ("mixed32_any_compensated", "../tests/simt/specs/conv_mixed", "32",
     {"kernels": THREE, "edges": "any", "accumulate": "compensated"}, ""),
    ("mixed32_f64_atomic", "../tests/simt/specs/conv_mixed", "32",
     {"kernels": THREE, "precision": "float64", "reduction": "atomic"}, "quick"),
    ("together64", "../tests/simt/specs/conv_together", "64", {"kernels": THREE}, "quick sanitize"),
    ("kept64", "../tests/simt/specs/conv_kept", "64", {"kernels": THREE}, "quick sanitize"),
    ("kept64_f64_any", "../tests/simt/specs/conv_kept", "64",
     {"kernels": THREE, "precision": "float64", "edges": "any"}, ""),
    ("conv128_f64_atomic_irmul", "../tests/simt/specs/conv_128", "128",
     {"precision": "float64", "reduction": "atomic", "layout": "ir_mul"}, "quick"),
    ("mace32_bf16", "mace_large", "32", {"kernels": THREE, "precision": "bfloat16"}, "quick sanitize"),
    ("mace64_f16_atomic", "mace_large", "64", {"kernels": THREE, "precision": "float16", "reduction": "atomic"}, "quick"),
    ("mace64_bf16_any", "mace_large", "64", {"kernels": THREE, "precision": "bfloat16", "edges": "any"}, ""),
    ("lips32_bf16_any", "nequip_lips", "32", {"kernels": THREE, "precision": "bfloat16", "edges": "any"}, "quick"),
    ("mace64_types", "mace_large", "64",
     {"kernels": THREE, "precision": "{x: bfloat16, y: float16, w: bfloat16, z: float64, compute: float32}"}, "quick"),
    ("mixed_batch_bf16", "../tests/simt/specs/batch_mixed", "128", {"kernels": THREE, "precision": "bfloat16"},
     "quick sanitize"),
    ("mace128_batch_bf16", "mace_large", "128", {"kernels": THREE, "precision": "bfloat16", "index": "{}"},
     "quick sanitize"),
    ("mixed_batch_f16_irmul", "../tests/simt/specs/batch_mixed", "128",
     {"kernels": THREE, "precision": "float16", "layout": "ir_mul"}, ""),
    ("paired_nodes_bf16", "../tests/simt/specs/paired_nodes", "64", {"kernels": THREE, "precision": "bfloat16"}, "quick"),
    ("staged_graph_f16", "../tests/simt/specs/staged_graph", "64", {"kernels": THREE, "precision": "float16"}, "quick"),
    ("tiled_modes_bf16", "../tests/simt/specs/tiled_modes", "64", {"kernels": THREE, "precision": "bfloat16"}, ""),
    ("mace32_strided", "mace_large", "32", {"kernels": THREE, "rows": "strided"}, "quick sanitize"),
    ("mace64_strided_atomic", "mace_large", "64", {"kernels": THREE, "rows": "strided", "reduction": "atomic"}, "quick"),
    ("mixed_batch_strided", "../tests/simt/specs/batch_mixed", "128", {"kernels": THREE, "rows": "strided"}, "quick"),
    ("paired_nodes_strided", "../tests/simt/specs/paired_nodes", "64",
     {"kernels": THREE, "rows": "strided", "precision": "bfloat16"}, "quick"),
    ("staged_graph_strided", "../tests/simt/specs/staged_graph", "64", {"kernels": THREE, "rows": "strided"}, "quick"),
    ("tiled_modes_strided", "../tests/simt/specs/tiled_modes", "64", {"kernels": THREE, "rows": "strided"}, "quick"),
    ("gemm_wide_strided", "../tests/simt/specs/gemm_wide", "128", {"kernels": THREE, "rows": "strided"}, "quick"),
    ("staged_parts_bf16", "../tests/simt/specs/staged_parts", "64", {"kernels": THREE, "precision": "bfloat16"}, "quick"),
    ("staged_shared_f16", "../tests/simt/specs/staged_shared", "64", {"kernels": THREE, "precision": "float16"}, "quick"),
    ("gemm_wide_bf16", "../tests/simt/specs/gemm_wide", "128", {"kernels": THREE, "precision": "bfloat16"}, "quick"),
    ("tiled_wide_f16", "../tests/simt/specs/tiled_wide", "64", {"kernels": THREE, "precision": "float16"}, "quick"),
    ("mace32_sums64", "mace_large", "32", {"kernels": THREE, "precision": "{sum: float64}"}, "quick sanitize"),
    ("mace64_sums64_any", "mace_large", "64", {"kernels": THREE, "precision": "{sum: float64}", "edges": "any"}, ""),
    ("staged_graph_sums64", "../tests/simt/specs/staged_graph", "64",
     {"kernels": THREE, "precision": "{sum: float64}"}, "quick"),
    ("mace64", "mace_large", "64", {}, "quick"),
    ("mace128", "mace_large", "128", {}, "quick"),
    ("mace128_atomic", "mace_large", "128", {"reduction": "atomic"}, ""),
    ("mace256", "mace_large", "=256", {}, ""),
    ("macemp32", "mace_mp_large_layer1", "32", {}, ""),
    ("sevennet32", "sevennet_l3i5_layer2", "32", {}, "quick"),
    ("nequip32", "nequip_revmd17_aspirin", "32", {}, ""),
    ("nequix7", "nequix_main", "=7", {}, ""),
    ("table5_32", "flashtp_table5_lmax3", "32", {}, ""),
    ("table5_4_atomic", "flashtp_table5_lmax2", "=4", {"reduction": "atomic"}, "sanitize"),
    ("diffdock8", "diffdock_l1", "8", {}, "quick sanitize"),
    ("diffdock8_graph", "diffdock_l1", "8", GRAPH, "quick"),
    ("diffdock16_f64", "diffdock_l1", "16", {"precision": "float64"}, "quick"),
    ("staged_mixed", "../tests/simt/specs/staged_mixed", "64", {"kernels": THREE}, "quick"),
    ("staged_graph_any", "../tests/simt/specs/staged_graph", "64", {"kernels": THREE, "edges": "any"}, "quick"),
    ("staged_graph_atomic_irmul", "../tests/simt/specs/staged_graph", "64",
     {"kernels": THREE, "reduction": "atomic", "layout": "ir_mul"}, "quick"),
    ("staged_several", "../tests/simt/specs/staged_several", "64", {"kernels": THREE}, "quick sanitize"),
    ("staged_several_odd", "../tests/simt/specs/staged_several", "13", {"kernels": THREE, **GRAPH}, "quick"),
    ("staged_channels", "../tests/simt/specs/staged_channels", "64", {"kernels": THREE}, "quick"),
    ("staged_channels_graph_irmul", "../tests/simt/specs/staged_channels", "64",
     {"kernels": THREE, "layout": "ir_mul", **GRAPH}, "quick sanitize"),
    ("staged_alike", "../tests/simt/specs/staged_alike", "64", {}, "quick"),
    # several warps per team and sums over all items: barriers of a team and of the block
    ("staged_blocks", "../tests/simt/specs/staged_blocks", "64", {"kernels": THREE}, "quick"),
    ("staged_blocks_graph", "../tests/simt/specs/staged_blocks", "64", {"kernels": THREE, **GRAPH}, "quick sanitize"),
    ("staged_blocks_f64_irmul", "../tests/simt/specs/staged_blocks", "64",
     {"kernels": THREE, "precision": "float64", "layout": "ir_mul"}, ""),
    ("staged_shared", "../tests/simt/specs/staged_shared", "64", {"kernels": THREE}, "quick sanitize"),
    ("staged_parts", "../tests/simt/specs/staged_parts", "64", {"kernels": THREE}, "quick sanitize"),
    ("staged_parts_f64", "../tests/simt/specs/staged_parts", "64", {"kernels": THREE, "precision": "float64"}, "quick"),
    ("staged_parts_graph", "../tests/simt/specs/staged_parts_graph", "64", {"kernels": THREE}, "quick sanitize"),
    ("staged_parts_graph_atomic", "../tests/simt/specs/staged_parts_graph", "64",
     {"kernels": THREE, "reduction": "atomic"}, "quick"),
    ("tiled_wide", "../tests/simt/specs/tiled_wide", "64", {}, "quick"),
    ("tiled_wide_f64_irmul", "../tests/simt/specs/tiled_wide", "64",
     {"kernels": THREE, "precision": "float64", "layout": "ir_mul"}, ""),
    ("tiled_modes", "../tests/simt/specs/tiled_modes", "64", {}, "quick sanitize"),
    ("gemm_wide", "../tests/simt/specs/gemm_wide", "128", {}, "quick sanitize"),
    ("gemm_pairs", "../tests/simt/specs/gemm_pairs", "64", {}, "quick sanitize"),
    ("gemm_pairs_f64_irmul", "../tests/simt/specs/gemm_pairs", "64",
     {"kernels": THREE, "precision": "float64", "layout": "ir_mul"}, "quick"),
    ("gemm_tied", "../tests/simt/specs/gemm_tied", "64", {}, "quick sanitize"),
    ("gemm_tied_f64_irmul", "../tests/simt/specs/gemm_tied", "64",
     {"kernels": THREE, "precision": "float64", "layout": "ir_mul"}, "quick"),
    ("gemm_wide_f64_irmul", "../tests/simt/specs/gemm_wide", "128",
     {"kernels": THREE, "precision": "float64", "layout": "ir_mul"}, "quick"),
    ("e3tools_transformer64", "e3tools_transformer", "64", {}, "quick"),
    ("e3tools_transformer64_f64", "e3tools_transformer", "64", {"precision": "float64"}, ""),
    ("gemm_large", "../tests/simt/specs/gemm_large", "1200", {}, "quick sanitize"),
    ("gemm_pieces", "../tests/simt/specs/gemm_pieces", "80", {"kernels": THREE}, "quick"),
    ("gemm_windows", "../tests/simt/specs/gemm_windows", "80", {"kernels": THREE}, ""),
    ("allegro8", "allegro_lmax1", "8", {}, ""),
    ("allegro36_irmul", "allegro_lmax2", "=36", {"layout": "ir_mul"}, "quick"),
    ("nodal_pairs", "../tests/simt/specs/nodal_pairs", "64", {"kernels": THREE}, "quick sanitize"),
    ("nodal_parities", "../tests/simt/specs/nodal_parities", "64", {}, "quick sanitize"),
    ("nodal_many", "../tests/simt/specs/nodal_many", "64", {}, "quick"),
    ("nodal_pairs_irmul", "../tests/simt/specs/nodal_pairs", "64", {"kernels": THREE, "layout": "ir_mul"}, "quick"),
    ("nodal_pairs_f64", "../tests/simt/specs/nodal_pairs", "64", {"kernels": THREE, "precision": "float64"}, "quick"),
    ("nodal_pairs_bf16", "../tests/simt/specs/nodal_pairs", "64", {"kernels": THREE, "precision": "bfloat16"}, ""),
    ("lanes_parities", "../tests/simt/specs/lanes_parities", "80", {}, "quick sanitize"),
    ("lanes_columns", "../tests/simt/specs/lanes_columns", "64", {}, "quick sanitize"),
    ("lanes_rows", "../tests/simt/specs/lanes_rows", "64", {}, "quick"),
    ("lanes_natural", "../tests/simt/specs/lanes_natural", "64", {"kernels": THREE}, "quick"),
    ("lanes_split", "../tests/simt/specs/lanes_split", "64", {}, "quick sanitize"),
    ("lanes_split_f64", "../tests/simt/specs/lanes_split", "64", {"precision": "float64"}, ""),
    ("lanes_meets", "../tests/simt/specs/lanes_meets", "16", {}, "quick"),
    ("lanes_rows_irmul", "../tests/simt/specs/lanes_rows", "64", {"layout": "ir_mul"}, "quick sanitize"),
    ("lanes_natural_f64_irmul", "../tests/simt/specs/lanes_natural", "64",
     {"kernels": THREE, "precision": "float64", "layout": "ir_mul"}, "quick"),
    ("lanes_columns_bf16", "../tests/simt/specs/lanes_columns", "64", {"precision": "bfloat16"}, ""),
    ("lanes_parities_strided", "../tests/simt/specs/lanes_parities", "80", {"rows": "strided"}, "quick"),
    # no warps that only copy, in double backward
    ("allegro64", "allegro_lmax2", "64", {"kernels": THREE}, "quick sanitize"),
    ("paired_pairs", "../tests/simt/specs/paired_pairs", "64", {"kernels": THREE}, "quick sanitize"),
    ("paired_nodes", "../tests/simt/specs/paired_nodes", "64", {"kernels": THREE}, "quick sanitize"),
    ("paired_nodes_f64_atomic", "../tests/simt/specs/paired_nodes", "64",
     {"kernels": THREE, "precision": "float64", "reduction": "atomic"}, ""),
    ("paired_direct", "../tests/simt/specs/paired_direct", "64", {"kernels": THREE}, "quick sanitize"),
    ("paired_direct_f64_irmul", "../tests/simt/specs/paired_direct", "64",
     {"kernels": THREE, "precision": "float64", "layout": "ir_mul"}, ""),
    ("paired_mixed", "../tests/simt/specs/paired_mixed", "256", {"kernels": THREE}, "quick"),
    ("tetris1", "tetris_poly_1", "64", {}, "quick"),
    ("tetris2_shared", "tetris_poly_2", "16", {"index": "{w: shared}"}, "quick sanitize"),
    ("e3tools8", "e3tools_conv", "8", {}, ""),
]
# Offsets past 2^31 elements.
LARGE = {"mace32_atomic", "mace32", "mace32_batch"}

# What is timed: spec, how, precisions, set. conv: on graphs, by each reduction; any, compensated: the same with edges in
# any order, with such sums; edges: the same for specs of batches; batch: rows without a graph; shared: the same with weights of all; pairs: edges with a row of their sender's.
# quick is a part of main; large is what compiles for minutes.
BENCH = [
    ("mace_large", "conv", "f32", "quick main"),
    ("mace_large", "conv", "f64", "main"),
    ("mace_large", "conv", "bf16", "quick main"),
    ("mace_large", "any", "f32", "quick main"),
    ("mace_large", "compensated", "f32", "main"),
    ("flashtp_table5_lmax1", "conv", "f32 f64", "main"),
    ("flashtp_table5_lmax2", "conv", "f32 f64", "main"),
    ("flashtp_table5_lmax3", "conv", "f32", "quick main"),
    ("flashtp_table5_lmax3", "conv", "f64", "main"),
    ("flashtp_table5_lmax4", "conv", "f32 f64", "large"),
    ("flashtp_table5_lmax5", "conv", "f32", "large"),
    ("sevennet_l3i5_layer2", "conv", "f32 f64 bf16", "main"),
    ("nequip_lips", "conv", "f32 f64 bf16", "main"),
    ("nequip_revmd17_benzene", "conv", "f32 f64", "main"),
    ("mace_large", "batch", "f32 f64 bf16", "main"),
    ("mace_medium", "batch", "f32 f64", "main"),
    ("nequip_lips", "batch", "f32 f64", "main"),
    ("nequip_revmd17_aspirin", "batch", "f32 f64 bf16", "main"),
    ("nequip_revmd17_toluene", "batch", "f32 f64", "main"),
    ("nequip_revmd17_benzene", "batch", "f32 f64", "main"),
    ("nequip_water", "batch", "f32 f64", "main"),
    ("diffdock_l1", "batch", "f32 f64", "quick main"),
    ("diffdock_l2", "batch", "f32 f64", "main"),
    ("e3tools_conv", "batch", "f32", "main"),
    ("tetris_poly_1", "shared", "f32 f64", "main"),
    ("tetris_poly_2", "shared", "f32 f64", "main"),
    ("e3tools_transformer", "shared", "f32 f64", "main"),
    ("allegro_lmax1", "pairs", "f32", "main"),
    ("allegro_lmax2", "pairs", "f32", "main"),
    ("allegro_lmax3", "pairs", "f32", "main"),
    ("diffdock_l1", "edges", "f32", "main"),
]
# Keys that the second and third column set.
HOW = {"conv": {"atomic": {"reduction": "atomic"}, "deterministic": {"reduction": "deterministic"}},
       "any": {"any": {"edges": "any"}},
       "compensated": {"compensated": {"accumulate": "compensated"}},
       "edges": {how: {**GRAPH, "reduction": how} for how in ("atomic", "deterministic")},
       "batch": {"batch": {"index": "{}"}},
       "shared": {"shared": {"index": "{w: shared}"}},
       "pairs": {"pairs": {"index": "{x: item, y: sender, w: shared, z: item}"}}}
PRECISIONS = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}


class Product:
    def __init__(self, name, text, large=False, scaled=False, problem=None, place=None):
        self.name, self.large, self.scaled, self.problem, self.place = name, large, scaled, problem, place
        self.text = with_keys(text, {"name": name})
        found = re.search(r"^reduction:\s*(\w+)", self.text, re.M)
        self.deterministic = not found or found.group(1) == "deterministic"
        self.compensated = re.search(r"^accumulate: compensated", text, re.M) is not None


def with_keys(text, keys):
    """The spec with top-level keys set; each must be on one line where the spec has it."""
    for key, value in keys.items():
        line = f"{key}: {value}"
        text, n = re.subn(rf"^{key}:.*$", lambda match: line, text, flags=re.M)
        if n == 0:
            text = text.rstrip("\n") + "\n" + line + "\n"
    return text


def with_channels(text, channels):
    """Multiplicities other than 1 become at most, or with = exactly, that number."""
    most = int(channels.lstrip("="))

    def changed(match):
        n = int(match.group(1))
        return f"{n if n == 1 else most if channels[0] == '=' else min(n, most)}x{match.group(2)}"
    return re.sub(r"\b(\d+)x(\d+[eo])\b", changed, text)


def read(path):
    with open(path) as file:
        return file.read()


def golden_cases():
    for path in sorted(glob.glob(f"{GOLDEN}/*.yaml")):
        name = os.path.basename(path)[:-len(".yaml")]
        if os.path.exists(f"{GOLDEN}/{name}.problem"):  # no spelling of another case
            yield name, read(path)


def golden(quick):
    for name, text in golden_cases():
        if quick and not QUICK.match(name):
            continue
        yield Product(name, with_keys(text, {"kernels": ALL_KERNELS if SEVEN.match(name) else THREE}))
        if SINGLE.match(name):
            yield Product(name + "_f32", with_keys(text, {"kernels": THREE, "precision": "float32"}))


def narrow(which):
    for name, spec, channels, keys, sets in NARROW:
        if which == "all" or which in sets.split():
            text = with_keys(with_channels(read(f"specs/{spec}.yaml"), channels), keys)
            yield Product(name, text, large=name in LARGE)


def bench(which):
    for spec, how, precisions, sets in BENCH:
        if which not in sets.split():
            continue
        text = read(f"specs/{spec}.yaml")
        for precision in precisions.split():
            own = text if precision == "f32" else re.sub(r"(?m)^tune:.*\n( .*\n)*", "", text)  # knobs are of a spec's own type
            for name, keys in HOW[how].items():
                keys = {"kernels": THREE, "precision": PRECISIONS[precision], **keys}
                yield Product(f"{spec}_{precision}_{name}", with_keys(own, keys))


def swept(large):
    for name, text in sweep.cases(golden_cases(), large):
        yield Product(name, with_keys(text, {"kernels": THREE, "precision": "float32"}), scaled=True)


def regress():
    for path in sorted(glob.glob("tests/regress/*.yaml")):
        text = read(path)
        yield Product(name_of(text), text, problem=read(path[:-len("yaml")] + "problem"))


def drawn(numbers):
    first, count = map(int, numbers.split(":"))
    for seed in range(first, first + count):
        p = random_spec.draw(seed)
        text = random_spec.yaml(p, f"random_{seed}")
        yield Product(name_of(text), text, problem=random_spec.problem(p))


def name_of(text):
    return re.search(r"^name:\s*(\w+)", text, re.M).group(1)


def products(which, folders, numbers):
    if which in ("golden", "quick_golden"):
        return list(golden(which == "quick_golden"))
    if which in ("narrow", "quick_narrow", "sanitize"):
        return list(narrow({"narrow": "all", "quick_narrow": "quick"}.get(which, which)))
    if which.startswith("bench_sweep"):
        return list(swept(which == "bench_sweep_large"))
    if which.startswith("bench_"):
        return list(bench(which[len("bench_"):]))
    if which == "regress":
        return list(regress())
    if which == "random":
        return list(drawn(numbers))
    found = []
    for folder in folders:
        for path in sorted(glob.glob(f"{folder}/*.yaml")):
            text = read(path)
            found.append(Product(name_of(text), text))
    return found


def write(path, text):
    if not os.path.exists(path) or read(path) != text:
        with open(path, "w") as file:
            file.write(text)


def declarations(found):
    return ["", *(f"extern const cgtp_product {p.name}_product;" for p in found), ""]


def evaluations(reports):
    """Lists for the table, by product, from the generator's reports: which evaluations a kernel has, and its flops."""
    lists, decoded = {}, json.loads(reports)
    for report in decoded if isinstance(decoded, list) else [decoded]:
        rows = []
        for kernel in report["kernels"]:
            names = [schedule["evaluation"] for schedule in kernel.get("schedules", [])]
            if names:
                rows.append(f'{{"{kernel["name"]}", "{"+".join(sorted(set(names)))}", {kernel["flops_per_item"]}}}, ')
        lists[report["name"]] = "".join(rows)
    return lists


def placed(p):
    """struct table_place."""
    return '{"%s", %d, %d, %d}' % p.place if p.place else "{0}"


def table(found, commit, lists):
    lines = ["/* Generated by tests/gpu/sources.py. */", '#include "table.h"', *declarations(found)]
    lines += [f"static const struct table_kernel {p.name}_kernels[] = {{{lists[p.name]}{{0}}}};" for p in found]
    lines.append("const struct table_entry table[] = {")
    lines += [f"    {{&{p.name}_product, {int(p.deterministic)}, {int(p.compensated)}, {int(p.large)}, {int(p.scaled)}, "
              f"{p.name}_kernels, {placed(p)}}}," for p in found]
    lines += ["};", f"const int table_entries = {len(found)};"]
    return "\n".join(lines + [f'const char table_commit[] = "{commit}";', ""])


def shard(found):
    """What tests/check_main.c takes."""
    lines = ["/* Generated by tests/gpu/sources.py. */", '#include "cgtp.h"', *declarations(found)]
    lines += ["extern const cgtp_product *const check_products[];",
              "const cgtp_product *const check_products[] = {"]
    return "\n".join(lines + [f"    &{p.name}_product," for p in found] + ["    0};", ""])


def own(out):
    """Ends where a folder that is to be cleared has files, and specs/, with which all that are made here begin, is missing."""
    if os.path.isdir(out) and os.listdir(out) and not os.path.isdir(f"{out}/specs"):
        sys.exit(f"{os.path.basename(sys.argv[0])}: {out} has files and was not made here: they would be lost")


def generate(which, found, options):
    out = f"{options['out']}/{which}"
    own(out)
    os.makedirs(f"{out}/specs", exist_ok=True)
    if len({p.name for p in found}) != len(found):
        sys.exit(f"sources.py: {which}: two specs have one name")
    specs, problems = [], []
    for p in found:
        specs.append(f"{out}/specs/{p.name}.yaml")
        write(specs[-1], p.text)
        if p.problem:
            problems.append(f"{out}/specs/{p.name}.problem")
            write(problems[-1], p.problem)
    quiet = ["-Wno-all"] if problems else []  # they are what they are
    call = [options["generator"], f"--backend={options['backend']}", *quiet, "-o", out]
    made = subprocess.run([*call, "--print=json", *specs], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(f"sources.py: {options['generator']} failed on {out}/specs ({made.returncode})")
    listed = subprocess.run([*call, "--list", *specs], check=True, stdout=subprocess.PIPE, text=True).stdout
    keep = {os.path.basename(line) for line in listed.split()} | {"table.c"}
    write(f"{out}/table.c", table(found, options["commit"], evaluations(made.stdout)))
    for i in range(SHARDS):
        write(f"{out}/shard_{i}.c", shard(found[i::SHARDS]))
        keep.add(f"shard_{i}.c")
    for path in glob.glob(f"{out}/*.c") + glob.glob(f"{out}/*.cu") + glob.glob(f"{out}/*.h"):
        if os.path.basename(path) not in keep:
            os.remove(path)
    for path in glob.glob(f"{out}/specs/*"):
        if path not in specs and path not in problems:
            os.remove(path)
    print(f"{out}: {len(found)} products, {len(keep)} files")


def main(arguments):
    options = {"generator": "build/cgtpgen", "backend": "cuda", "out": "build/gpu", "commit": "unknown", "product": "",
               "random": "0:100"}
    folders, sets = [], []
    for argument in arguments:
        match = re.fullmatch(r"--(\w+)=(.*)", argument)
        if match and match.group(1) == "variants":
            folders.append(match.group(2).rstrip("/"))
        elif match and match.group(1) in options:
            options[match.group(1)] = match.group(2)
        elif argument in SETS:
            sets.append(argument)
        else:
            sys.exit(__doc__.strip())
    for which in sets:
        found = [p for p in products(which, folders, options["random"]) if re.search(options["product"], p.name)]
        if not found:
            sys.exit(f"sources.py: {which}: no specs")
        generate(which, found, options)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"sources.py: {error}")
