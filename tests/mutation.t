#!/usr/bin/env python3
"""mutation.t - do the checks notice a wrong kernel? Generated code is spoilt in one place at a time,
compiled, and checked; every mutant must fail. A sample; all of them with TEST_ALL.

Mutants of the functions that compute: a constant with the other sign; a term of a sum with the other sign;
the second factors of two terms of a sum exchanged (where the first differ); an assigned value negated; a call
for a path, or the summing of its channels, left out. Loops, indices and the launchers around them are left
alone.
"""
import os
import pathlib
import random
import re
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
CC = os.environ.get("CC", "gcc")
FOLDER = pathlib.Path(BUILD) / "products" / "mutation"
SPECS = sorted(pathlib.Path("tests/mutation").glob("*.yaml"))
SAMPLE = 90
FLAGS = ["-std=c11", "-w", "-O0", "-Iruntime", "-I%s" % FOLDER]
OBJECTS = ["check_main", "check", "check_golden", "check_sizes", "check_paths", "check_calls", "check_laws",
           "driver", "memory_host", "reference", "reference_kernels", "reference_wigner", "golden_case"]


def functions(text):
    """(start, end) of the body of every function that computes: those before a pass over rows begins."""
    for match in re.finditer(r"^static \w+ (\w+)\([^;{]*\)\n\{\n(.*?)^\}\n", text, re.M | re.S):
        if not match.group(1).startswith(("pass_", "lay_out")):
            yield match.start(2), match.end(2)


def top_level(text, pattern):
    """Matches of the pattern outside of brackets and parentheses."""
    depth = [0]
    for c in text:
        depth.append(depth[-1] + (c in "([") - (c in ")]"))
    return [m for m in re.finditer(pattern, text) if depth[m.start()] == 0]


def declarators(start, body):
    """(start, expression) for each `name = expression` of a declaration's body."""
    commas = [-1] + [m.start() for m in top_level(body, ",")] + [len(body)]
    for a, b in zip(commas, commas[1:]):
        equal = body.index("=", a + 1)
        yield start + equal + 1, body[equal + 1:b]


ASSIGNED = re.compile(r"const real (\w+ = [^;{]*);|^ +(?:\w+|\w+\[[^\]]*\]) \+?= ([^;]*);", re.M)
CALL = re.compile(r"^ +(?:for \(int j[^\n]*\n +[^;]*cgtp_sum|(?!for|if|const|return)\w+)\([^;]*;", re.M)


def expressions(text, start, end):
    """(start, expression) of what is assigned or added to a real number."""
    for m in ASSIGNED.finditer(text[start:end]):
        if m.group(1):
            yield from declarators(start + m.start(1), m.group(1))
        else:
            yield start + m.start(2), m.group(2)


def mutants(text):
    """(kind, start, end, replacement)"""
    for start, end in functions(text):
        for m in re.finditer(r"const real C\d+ = (-?0x)", text[start:end]):
            yield "sign of a constant", start + m.start(1), start + m.end(1), \
                "0x" if m.group(1)[0] == "-" else "-0x"
        for at, expression in expressions(text, start, end):
            if re.match(r"\s*-?0x", expression):
                continue
            yield "negated value", at, at + len(expression), " -(%s)" % expression
            for m in top_level(expression, r"(?<=[\w\])]) *\n? *([+-]) (?=[\w(])"):
                sign = at + m.start(1)
                yield "sign of a term", sign, sign + 1, "-" if m.group(1) == "+" else "+"
            factors = top_level(expression, r"\* (\w+)")
            for m, n in zip(factors, factors[1:]):
                first = [re.search(r"([\w\])]*) $", expression[:f.start()]) for f in (m, n)]
                if first[0] and first[1] and first[0].group() == first[1].group():
                    continue  # a * b + a * c: nothing changes
                if m.group(1) != n.group(1) and "+" in expression[m.end():n.start()].replace("-", "+"):
                    swapped = expression[:m.start(1)] + n.group(1) + expression[m.end(1):n.start(1)] + \
                        m.group(1) + expression[n.end(1):]
                    yield "exchanged factors", at, at + len(expression), swapped
        for m in CALL.finditer(text[start:end]):
            yield "dropped call", start + m.start(), start + m.end(), "    ;"


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def build():
    made = run(["make", "-s", "-f", "tests/products.mk", "DIR=%s" % FOLDER, "FLAGS=-O0",
                "SPECS=%s" % " ".join(map(str, SPECS))])
    if made.returncode or run([FOLDER / "check", "sizes"]).returncode:
        print("Bail out! the unspoilt products do not build or pass\n" + made.stdout.decode())
        sys.exit(1)


def survives(source, objects, text):
    """Does the mutant compile and pass? None where it does not compile."""
    mutant, obj, program = FOLDER / "mutant.c", FOLDER / "mutant.o", FOLDER / "mutant"
    mutant.write_text(text)
    if run([CC, *FLAGS, "-c", "-o", obj, mutant]).returncode:
        return None
    others = [o for o in objects if o != source.with_suffix(".o")]
    if run([CC, "-o", program, obj, *others, "-lm"]).returncode:
        return None
    return run([program, "sizes"]).returncode == 0


def main():
    if BUILD.endswith("/san"):
        print("1..0 # SKIP for the plain build; a sanitizer would stop mutants for the wrong reason")
        return
    build()
    names = [spec.stem for spec in SPECS]
    sources = sorted(f for name in names for f in FOLDER.glob(name + "_*.c"))
    objects = [f.with_suffix(".o") for name in names for f in FOLDER.glob(name + "*.c")]
    objects += ["%s/obj/tests/%s.o" % (BUILD, o) for o in OBJECTS]
    objects += [FOLDER / "products.o", BUILD + "/obj/runtime/cgtp.o"]
    found = [(source, *m) for source in sources for m in mutants(source.read_text())]
    kinds = sorted({m[1] for m in found})
    chosen = found
    if not os.environ.get("TEST_ALL"):
        r = random.Random(1)
        by_kind = [[m for m in found if m[1] == kind] for kind in kinds]
        chosen = [m for of_kind in by_kind for m in r.sample(of_kind, SAMPLE // len(kinds))]
    alive, dead = [], dict.fromkeys(kinds, 0)
    for source, kind, start, end, replacement in chosen:
        text = source.read_text()
        outcome = survives(source, objects, text[:start] + replacement + text[end:])
        if outcome is False:
            dead[kind] += 1
        else:
            line = text.count("\n", 0, start) + 1
            was, now = (" ".join(t.split()) for t in (text[start:end], replacement))
            what = "survives" if outcome else "does not compile"
            alive.append("%s: %s:%d: %s -> %s" % (what, source.name, line, was, now))
    for n, kind in enumerate(kinds, 1):
        of = sum(m[1] == kind for m in chosen)
        verdict = "ok" if dead[kind] == of else "not ok"
        print("%s %d - %s: %d of %d mutants noticed" % (verdict, n, kind, dead[kind], of))
    enough = len(kinds) == 5 and len(found) >= 400
    print("%sok %d - %d mutants to choose from" % ("" if enough else "not ", len(kinds) + 1, len(found)))
    print("1..%d" % (len(kinds) + 1))
    for line in alive:
        print("# " + line)
    sys.exit(bool(alive) or not enough)


main()
