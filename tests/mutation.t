#!/usr/bin/env python3
"""mutation.t - do the checks notice a wrong kernel? The generator makes one mistake (--mutate), what it writes is
compiled and checked; every mutant must fail. A sample; all of them with TEST_ALL.

Mutants of the arithmetic, in its DAG: a constant, a term of a sum, a value or a result with the other sign; the
second factors of two products of a sum exchanged; a result, or all of a path, left out. And of the text around it:
a call for a path, or the summing of its channels, left out. Loops, indices and the launchers around them are left
alone.
"""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
GENERATOR = os.environ.get("CGTPGEN", BUILD + "/cgtpgen")
CC = os.environ.get("CC", "gcc")
QUICK = shutil.which("tcc") or shutil.which("clang") or CC  # what takes least time to compile
FOLDER = pathlib.Path(BUILD) / "products" / "mutation"
SPECS = sorted(pathlib.Path("tests/mutation").glob("*.yaml"))
SAMPLE = 96
FLAGS = ["-std=c11", "-w", "-O0", "-Iruntime", "-I%s" % FOLDER]
LINK = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
OBJECTS = ["check_main", "check", "check_golden", "check_sizes", "check_paths", "check_calls", "check_laws",
           "driver", "memory_host", "reference", "reference_kernels", "reference_wigner", "golden_case"]


CALL = re.compile(r"^ +(?:for \(int j[^\n]*\n +[^;]*cgtp_sum|(?!for|if|const|return)\w+)\([^;]*;", re.M)


def dropped_calls(source):
    """Mutants of a file: (kind, source, text, what)"""
    text = source.read_text()
    for match in re.finditer(r"^static \w+ (\w+)\([^;{]*\)\n\{\n(.*?)^\}\n", text, re.M | re.S):
        if match.group(1).startswith(("pass_", "layout")):
            continue  # from here on nothing is computed
        for m in CALL.finditer(match.group(2)):
            start, end = match.start(2) + m.start(), match.start(2) + m.end()
            yield "dropped call", source, text[:start] + "    ;" + text[end:], " ".join(m.group().split())


def generate(number, folder):
    """What --mutate=NUMBER lists."""
    made = subprocess.run([GENERATOR, "--backend=c", "--mutate=%d" % number, "-o", folder, *SPECS],
                          stdout=subprocess.PIPE, text=True)
    return [line.split(" ", 1) for line in made.stdout.splitlines()] if made.returncode == 0 else []


def plain(path):
    """The text without what tells a mutant: that it is one, and its checksum."""
    return re.sub(r"With a mistake made on purpose \(--mutate=\d+\)\. |(?<=\(text )[0-9a-f]{8}", "", path.read_text(), count=2)


def mistake(number, kind):
    """The mutant of this number, as those of dropped_calls; text None where nothing differs."""
    listed = generate(int(number), FOLDER / "mutants")
    for path in (FOLDER / "mutants").glob("*.c"):
        source = FOLDER / path.name
        if listed == [[number, kind]] and plain(path) != plain(source):
            return kind, source, path.read_text(), "--mutate=" + number
    return kind, SPECS[0], None, "--mutate=" + number


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def build():
    made = run(["make", "-s", "-f", "tests/products.mk", "DIR=%s" % FOLDER, "FLAGS=-O0",
                "SPECS=%s" % " ".join(map(str, SPECS))])
    if made.returncode or run([FOLDER / "check", "sizes"]).returncode:
        print("not ok 1 - the unspoilt products do not build or pass\n" + made.stdout.decode())
        sys.exit(1)


def compiled(texts):
    """Compiles the texts and gives back their objects; None where a text is none or does
    not compile."""
    folder, files = FOLDER / "mutant_objects", {}
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        if text is not None:
            files[number] = folder / ("mutant_%d.c" % number)
            files[number].write_text(text)
            files[number].with_suffix(".o").unlink(missing_ok=True)
    run(["tests/compile.sh", QUICK, *FLAGS, "--", *files.values()])
    objects = dict.fromkeys(range(len(texts)))
    for number, path in files.items():
        there = path.with_suffix(".o")
        if there.exists() or run([CC, *FLAGS, "-c", "-o", there, path]).returncode == 0:
            objects[number] = there
    return objects


def survives(source, objects, mutant):
    """Does the mutant, an object, pass? None where there is none."""
    program, others = FOLDER / "mutant", [o for o in objects if o != source.with_suffix(".o")]
    if mutant is None or run([CC, *LINK, "-o", program, mutant, *others, "-lm"]).returncode:
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
    found = [(kind, number) for number, kind in generate(0, FOLDER / "mutants")]
    found += [mutant for source in sources for mutant in dropped_calls(source)]
    kinds = sorted({m[0] for m in found})
    chosen = found
    if not os.environ.get("TEST_ALL"):
        r = random.Random(1)
        by_kind = [[m for m in found if m[0] == kind] for kind in kinds]
        chosen = [m for of_kind in by_kind for m in r.sample(of_kind, min(len(of_kind), SAMPLE // len(kinds)))]
    alive, dead = [], dict.fromkeys(kinds, 0)
    chosen = [mutant if len(mutant) > 2 else mistake(mutant[1], mutant[0]) for mutant in chosen]
    mutants = compiled([text for _, _, text, _ in chosen])
    for number, (kind, source, _, what) in enumerate(chosen):
        outcome = survives(source, objects, mutants[number])
        if outcome is False:
            dead[kind] += 1
        else:
            verdict = "survives" if outcome else "does not compile"
            alive.append("%s: %s: %s: %s" % (verdict, source.name, kind, what))
    for n, kind in enumerate(kinds, 1):
        of = sum(m[0] == kind for m in chosen)
        verdict = "ok" if dead[kind] == of else "not ok"
        print("%s %d - %s: %d of %d mutants noticed" % (verdict, n, kind, dead[kind], of))
    enough = len(kinds) == 8 and len(found) >= 400
    print("%sok %d - %d mutants to choose from" % ("" if enough else "not ", len(kinds) + 1, len(found)))
    print("1..%d" % (len(kinds) + 1))
    for line in alive:
        print("# " + line)
    sys.exit(bool(alive) or not enough)


main()
