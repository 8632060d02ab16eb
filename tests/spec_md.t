#!/usr/bin/env python3
"""The examples of docs/spec.md are right, for both backends: complete specs and sets of keys generate, the
wrong one gives the text below it."""
import itertools
import os
import re
import subprocess
import sys
import tempfile

GENERATOR = os.path.abspath(os.environ.get("CGTPGEN", "build/cgtpgen"))

# What an example that shows only some keys is completed with.
BASE = {
    "cgtp": "cgtp: 1\n",
    "name": "name: example\n",
    "irreps": "irreps: {x: 4x0e+4x1o, y: 0e+1o}\n",
    "instructions": "instructions: channelwise\n",
}


def complete(example):
    keys = set(re.findall(r"^(\w+):", example, re.MULTILINE))
    return "".join(text for key, text in BASE.items() if key not in keys) + example


def generate(spec, backend):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "layer.yaml"), "w") as f:
            f.write(spec)
        run = subprocess.run([GENERATOR, f"--backend={backend}", "-o", "out", "layer.yaml"], cwd=folder,
                             capture_output=True, text=True, timeout=60)
        out = os.path.join(folder, "out")
        return run, os.listdir(out) if os.path.isdir(out) else []


def main():
    text = open("docs/spec.md").read()
    blocks = [(m[1], m[2], text.count("\n", 0, m.start()) + 2)
              for m in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
    examples = [b for b in blocks if b[0] == "yaml"]
    wrong = [(b, blocks[i + 1]) for i, b in enumerate(blocks) if b[0] == "yaml wrong"]
    print(f"1..{2 * (len(examples) + len(wrong))}")
    number, good = 0, True
    for (_, example, line), (backend, end) in itertools.product(examples, (("cuda", ".cu"), ("c", ".c"))):
        number += 1
        run, files = generate(complete(example), backend)
        ok = run.returncode == 0 and not run.stderr and any(f.endswith(f"_forward{end}") for f in files)
        good &= ok
        print("ok" if ok else "not ok", number, f"- the example in line {line} generates, {backend}")
        for message in run.stderr.splitlines() if not ok else []:
            print("#", message)
    for ((_, example, line), (_, expected, _)), backend in itertools.product(wrong, ("cuda", "c")):
        number += 1
        run, files = generate(example, backend)
        ok = run.returncode == 1 and run.stderr == expected and not files
        good &= ok
        print("ok" if ok else "not ok", number,
              f"- the wrong example in line {line} gives the errors below it, {backend}")
        for message in run.stderr.splitlines() if not ok else []:
            print("#", message)
    return 0 if good and examples and wrong else 1


sys.exit(main())
