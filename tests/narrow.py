#!/usr/bin/env -S python3 -S -E
"""Reads a spec and writes it with few channels, so that a dense loop can follow: multiplicity 1 stays 1,
others become small numbers, equal ones equal (modes tie them). Products of many paths get 2 and 3 channels.

    tests/narrow.py [--kernels=LIST] < SPEC > NARROW
"""
import re
import sys

SMALL = {256: 4, 128: 5, 64: 3, 32: 2, 80: 4, 48: 3, 24: 2, 16: 2, 10: 3}


def main():
    text = sys.stdin.read()
    many = text.count("- [") > 100 or len(re.findall(r"\d+[eo]", text)) > 30
    kernels = [a[10:] for a in sys.argv[1:] if a.startswith("--kernels=")]

    def small(match):
        mul = int(match.group(1))
        if mul > 1:
            mul = (2 if mul > 32 else 3) if many else SMALL.get(mul, 2 + mul % 3)
        return "%dx%s" % (mul, match.group(2))

    out = []
    for line in text.splitlines():
        if not re.match(r"#|description:", line):
            line = re.sub(r"\b(\d+)x(\d+[eo])", small, line)
        elif line.startswith("kernels:") and kernels:
            continue
        out.append(line)
    if kernels:
        out.append("kernels: [%s]" % kernels[0])
    print("\n".join(out))


if __name__ == "__main__":
    main()
