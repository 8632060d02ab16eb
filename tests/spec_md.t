#!/usr/bin/env python3
"""The examples of docs/spec.md are right, for both backends: complete specs and sets of keys generate, the
wrong one gives the text below it."""
import itertools
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "tests")
from examples import blocks, complete, generate  # noqa: E402


def main():
    found = blocks(open("docs/spec.md").read())
    examples = [b for b in found if b[0] == "yaml"]
    wrong = [(b, found[i + 1]) for i, b in enumerate(found) if b[0] == "yaml wrong"]
    print(f"1..{2 * (len(examples) + len(wrong))}")
    number, good = 0, True
    for (_, example, line), (backend, end) in itertools.product(examples, (("cuda", ".cu"), ("c", ".c"))):
        number += 1
        run, files = generate(complete(example), options=[f"--backend={backend}"])
        ok = run.returncode == 0 and not run.stderr and any(f.endswith(f"_forward{end}") for f in files)
        good &= ok
        print("ok" if ok else "not ok", number, f"- the example in line {line} generates, {backend}")
        for message in run.stderr.splitlines() if not ok else []:
            print("#", message)
    for ((_, example, line), (_, expected, _)), backend in itertools.product(wrong, ("cuda", "c")):
        number += 1
        run, files = generate(example, options=[f"--backend={backend}"])
        ok = run.returncode == 1 and run.stderr == expected and not files
        good &= ok
        print("ok" if ok else "not ok", number,
              f"- the wrong example in line {line} gives the errors below it, {backend}")
        for message in run.stderr.splitlines() if not ok else []:
            print("#", message)
    return 0 if good and examples and wrong else 1


sys.exit(main())
