#!/usr/bin/env python3
"""Compares two runs of make gpu-bench on one machine, row by row, the worst first.

Usage: compare.py [--most=1.02] OLD.tsv NEW.tsv

Exits 1 if a row of OLD takes more than --most times as long in NEW, or is not there. Rows that only NEW has
are counted.
"""
import csv
import sys

KEY = ("op", "problem", "graph", "dtype", "kernel", "reduction")


def read(path):
    with open(path, newline="") as file:
        rows = {tuple(row[key] for key in KEY): row for row in csv.DictReader(file, delimiter="\t")}
    if not rows:
        sys.exit(f"compare.py: {path}: no rows")
    return rows


def main(arguments):
    most, files = 1.02, []
    for argument in arguments:
        if argument.startswith("--most="):
            most = float(argument[len("--most="):])
        else:
            files.append(argument)
    if len(files) != 2:
        sys.exit(__doc__.strip())
    old, new = map(read, files)
    pairs = sorted(((float(new[key]["ms"]) / float(old[key]["ms"]), key) for key in old if key in new), reverse=True)
    missing = [key for key in old if key not in new]
    print(f"{'':5} {'problem':32} {'place':6} {'type':4} {'kernel':15} {'reduction':13} {'old ms':>9} {'new ms':>9}"
          f" {'new/old':>7} {'least':>7}  evaluations")
    for ratio, key in pairs:
        before, after = old[key], new[key]
        least = float(after["least"]) / float(before["least"])
        print(f"{key[0]:5} {key[1]:32} {key[2]:6} {key[3]:4} {key[4]:15} {key[5]:13} {float(before['ms']):9.4f} "
              f"{float(after['ms']):9.4f} {ratio:7.3f} {least:7.3f}  {before['evaluation']} {after['evaluation']}"
              + (" SLOWER" if ratio > most else ""))
    for key in missing:
        print(*key, "MISSING")
    slower = sum(ratio > most for ratio, key in pairs)
    print(f"# {len(pairs)} rows compared, {slower} more than {100 * (most - 1):.3g} % slower, {len(missing)} missing, "
          f"{len(new) - len(pairs)} new")
    return slower > 0 or len(missing) > 0


try:
    sys.exit(main(sys.argv[1:]))
except (OSError, KeyError, ValueError) as error:
    sys.exit(f"compare.py: {error}")
