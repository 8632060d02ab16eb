#!/usr/bin/env python3
"""What makes a pipelined kernel correct on a GPU, taken out one at a time from generated code:
synchronisation, waits for copies, flags between blocks, stages of the ring, shared memory. The shim must
report each, though numbers on the CPU may come out right."""
import os
import re
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
GENERATOR = os.environ.get("CGTPGEN", BUILD + "/cgtpgen")
FOLDER = BUILD + "/simt/mutants"
DRIVERS = ["tests/%s.c" % name for name in """check_main check check_golden check_paths check_calls check_laws
    driver reference reference_kernels reference_wigner golden_case""".split()]

# What is replaced, by what (None: the whole statement goes), what that is.
MUTATIONS = [
    (r"cgtp_sync_warp\(\);", "", "no cgtp_sync_warp"),
    (r"cgtp_sync_team<\d+>\(\);", "", "no cgtp_sync_team"),
    (r"cgtp_launch_wait\(\);", "", "no cgtp_launch_wait"),
    (r"cgtp_copies_wait<STAGES - 2>", "cgtp_copies_wait<STAGES - 1>", "waits for one group less"),
    (r"cgtp_copies_commit\(\);", "", "no cgtp_copies_commit"),
    (r"cgtp_flag_raise\([^;]*\);", "", "no flag raised"),
    (r"cgtp_flag_wait\([^;]*\);", ";", "no wait for a flag"),
    (r"load\(done \+ STAGES - 1, stage, lane\)",
     "load(done + STAGES - 1, cgtp_stage_after<STAGES, STAGE>(stage, ring), lane)", "a stage refilled too early"),
    (r"(?<=, 128, )[1-9]\d*(?=, stream)", lambda m: str(int(m.group()) - 128), "128 bytes of shared memory less"),
    (r"\(size_t\)\([^\n]*\) \* \d+ \* sizeof\(unsigned\)(?=[,}])", "(size_t)0",
     "counter or flags not cleared"),
]


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def build(name, kernel, text):
    with open("%s/%s_%s.cu" % (FOLDER, name, kernel), "w") as file:
        file.write(text)
    sources = ["%s/%s_%s.cu" % (FOLDER, name, kernel), "%s/%s.c" % (FOLDER, name),
               "%s/%s_products.c" % (FOLDER, name), "tests/simt/memory_simt.c",
               "tests/simt/check_sizes_simt.c", "runtime/cgtp.c"]
    program = "%s/%s_%s.check" % (FOLDER, name, kernel)
    if os.path.exists(program):
        os.remove(program)
    return run("tests/simt/build.sh", program, *(sources + DRIVERS))


def needless(text, match):
    """Rows leave through two buffers in turn, with a cgtp_sync_warp() after each store and one at the
    end: that keeps the next row off the last buffer, and nothing needs it where an even number of stores ends
    with the other buffer."""
    function = text[text.rfind("auto ", 0, match.start()):match.end()]
    return ("sync_warp" in match.group() and text[match.end():].lstrip().startswith("};") and
            function.count("/* through buffer ") % 2 == 0)


def mutants(name, kernel):
    with open("tests/simt/specs/%s.yaml" % name) as file:
        spec = re.sub("kernels: .*", "kernels: [%s]" % kernel, file.read())
    copy = "%s/%s.yaml" % (FOLDER, name)
    with open(copy, "w") as file:
        file.write(spec)
    with open("%s/%s_products.c" % (FOLDER, name), "w") as file:
        file.write('#include "cgtp.h"\nextern const cgtp_product %s_product;\n'
                   "extern const cgtp_product *const check_products[];\n"
                   "const cgtp_product *const check_products[] = {&%s_product, 0};\n" % (name, name))
    made = run(GENERATOR, "--backend=cuda", "-o", FOLDER, copy)
    path = "%s/%s_%s.cu" % (FOLDER, name, kernel)
    if made.returncode:
        tap.ok(False, "%s is generated" % name, made.stdout)
        return
    with open(path) as file:
        text = file.read()
    program = "%s/%s_%s.check" % (FOLDER, name, kernel)
    built = build(name, kernel, text)
    right = built.returncode == 0 and run(program, "sizes")
    if not tap.ok(right and right.returncode == 0, "%s %s: unchanged, right" % (name, kernel),
                  built.stdout, right and right.stdout):
        return
    for pattern, replacement, what in MUTATIONS:
        for match in re.finditer(pattern, text):
            if needless(text, match):
                continue
            new = replacement(match) if callable(replacement) else replacement
            line = text.count("\n", 0, match.start()) + 1
            built = build(name, kernel, text[:match.start()] + new + text[match.end():])
            seen = run("timeout", "60", program, "sizes").stdout if built.returncode == 0 else ""
            findings = re.findall(r"^# simt: ([^:]*)", seen, re.M)
            title = "%s %s: %s in line %d" % (name, kernel, what, line)
            tap.ok(findings, title + (": " + findings[0] if findings else ""), built.stdout, seen)


os.makedirs(FOLDER, exist_ok=True)
mutants("conv_64", "forward")
mutants("conv_32", "backward")
mutants("conv_128", "backward")
if os.environ.get("TEST_ALL"):
    mutants("conv_64", "double_backward")
    mutants("conv_segments", "forward")
    mutants("conv_segments", "backward")
tap.done()
