"""The examples in the documents: blocks of code, and how those that show only some keys become whole specs."""
import os
import re
import subprocess
import tempfile
import textwrap

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
    if not keys:
        return example  # there is nothing in it
    return "".join(text for key, text in BASE.items() if key not in keys) + example


BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$|(?:(?<=\n\n)|\A)((?: {4}[^\n]*\n|\n(?= {4}))+)", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(the words after the fence, the text in it, the number of its first line); of indented text: "indented", .."""
    return [("indented", textwrap.dedent(m[3]), text.count("\n", 0, m.start()) + 1) if m[3] else
            (m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in BLOCK.finditer(text)]


def generate(*specs, options=(), log=None, added=None):
    """Runs the generator on them as layer.yaml, layer2.yaml ..; the process, and the names of what it wrote. log: the
    text of a log for the report. added: a text that is added to each file of a first call; then their texts by their names."""
    with tempfile.TemporaryDirectory() as folder:
        if log is not None:
            with open(os.path.join(folder, "log.tsv"), "w", newline="") as f:
                f.write(log)
            options = [*options, "--emit=report", "--measured=log.tsv"]
        names = [f"layer{number or ''}.yaml" for number in [0, *range(2, len(specs) + 1)]]
        for name, spec in zip(names, specs):
            with open(os.path.join(folder, name), "w", newline="") as f:
                f.write(spec)
        out = os.path.join(folder, "out")
        if added:
            subprocess.run([GENERATOR, "-o", "out", *names], cwd=folder, check=True, timeout=60)
            for name in os.listdir(out):
                with open(os.path.join(out, name), "a") as f:
                    f.write(added)
        run = subprocess.run([GENERATOR, *options, "-o", "out", *names], cwd=folder, capture_output=True, text=True,
                             timeout=60)
        files = os.listdir(out) if os.path.isdir(out) else []
        if not added:
            return run, files
        texts = {}
        for name in files:
            with open(os.path.join(out, name)) as f:
                texts[name] = f.read()
        return run, texts
