#!/usr/bin/env python3
"""What makes a pipelined kernel correct on a GPU, taken out one at a time from generated code:
synchronisation, waits for copies, flags between blocks, stages of the ring, shared memory. The shim must
report each, though numbers on the CPU may come out right. A kernel is compiled once with all of its mutants: the
program is the one whose number is in its environment, or right."""
import os
import re
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
GENERATOR = os.environ.get("CGTPGEN", BUILD + "/cgtpgen")
FOLDER = BUILD + "/simt/mutants"
OBJECTS = None if BUILD.endswith("/san") else BUILD + "/obj/"  # which make has built; the shim goes without sanitizers
DRIVERS = [OBJECTS + name + ".o" if OBJECTS else name + ".c" for name in ["runtime/cgtp"] + """tests/check_main
    tests/check tests/check_golden tests/check_paths tests/check_calls tests/check_laws tests/driver tests/reference
    tests/reference_kernels tests/reference_wigner tests/golden_case""".split()]

# The headers of the runtime that are changed like the kernels.
HEADERS = ["cgtp_convolution.h", "cgtp_epilogue.h", "cgtp_batch.h", "cgtp_rows.h", "cgtp_staged.h", "cgtp_tiled.h",
           "cgtp_paired.h", "cgtp_gemm.h", "cgtp_weights.h", "cgtp_nodal.h", "cgtp_lanes.h"]

# A mutant ends with its first finding: what it would do after that may take for ever.
STOP = dict(os.environ, SIMT_STOP="1")

# What is replaced, a statement or an expression; by what; what that is.
MUTATIONS = [
    (r"cgtp_sync_warp\(\);", ";", "no cgtp_sync_warp"),
    (r"cgtp_sync_group<\d+>\(\);", ";", "no cgtp_sync_group"),
    (r"cgtp_sync_block\(\);", ";", "no cgtp_sync_block"),
    (r"cgtp_launch_wait\(\);", "", "no cgtp_launch_wait"),
    (r"cgtp_copies_wait<(\d)>\(\);", r"cgtp_copies_wait<1\1>();", "waits for ten groups less"),
    (r"cgtp_copies_commit\(\);", "", "no cgtp_copies_commit"),
    (r"cgtp_signal\([^;]*\);", "", "no signal"),
    (r"cgtp_wait\([^;]*\);", ";", "no wait for a signal"),
    (r"load\(number \+ stages - 1, lanes_own\(lane\), lane\);",
     r"const cgtp_address own = next; next = after(next); \g<0> next = own;", "a stage refilled too early"),
    (r"sizeof\(\w+_block\)(?=,\s+stream)", r"\g<0> - 128", "128 bytes of shared memory less"),
    (r"\(size_t\)\((?:[^()]|\((?:[^()]|\(\))*\))*\)\s\*\ssizeof\(unsigned\)", "(size_t)0",
     "counter or flags not cleared"),
]


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def build(name, kernel, files):
    for file, text in files.items():
        with open(f"{FOLDER}/{file}", "w") as out:
            out.write(text)
    sources = ["%s/%s_%s.cu" % (FOLDER, name, kernel), "%s/%s.c" % (FOLDER, name),
               "%s/%s_products.c" % (FOLDER, name), "tests/simt/mutated.c", "tests/simt/memory_simt.c",
               "tests/simt/check_sizes_simt.c"]
    program = "%s/%s_%s.check" % (FOLDER, name, kernel)
    if os.path.exists(program):
        os.remove(program)
    return run("tests/simt/build.sh", program, *(sources + DRIVERS))


def needless(file, text, match, kernel):
    """In the headers: what this kernel does not use, like the ring or the handing over of partial rows. Rows leave with a
    cgtp_sync_warp() at the end, which keeps the next row off the buffer: nothing needs it but rows of several outputs that
    leave one after the other, as before a receiver's next row come edges, for whose copies lanes meet."""
    if file == "cgtp_epilogue.h" and re.match("cgtp_(signal|wait)", match.group()):
        return "cgtp_hand_over<" not in kernel
    if file == "cgtp_epilogue.h" and match.group().startswith("cgtp_sync_block"):
        return "cgtp_hand_over<" not in kernel or "CGTP_TEAMS" not in kernel
    if file == "cgtp_convolution.h" and "cgtp_ring<" not in kernel:
        return True
    if "!turn.first" in text[:match.start()].rpartition(";")[2]:
        return True  # of a turn that is not there with this much memory: simt_turns.t
    if "cgtp_clear_stages(" in text[:match.start()].rpartition("\ntemplate ")[2]:
        return "cgtp_clear_stages(" not in kernel
    if file != "cgtp_epilogue.h" or "sync_warp" not in match.group():
        return False
    last = text[match.end():].startswith("\n}")
    several = re.search(r"cgtp_store_segments<[^{}]*cgtp_store_segments<", kernel)
    return "cgtp_store_segments<" not in kernel or (last and not several)


def with_mutants(file, text, kernel, told):
    """The text with all of its mutants, each under its number, that of what is told of it."""
    edits = []
    for pattern, replacement, what in MUTATIONS:
        for match in re.finditer(pattern, text):
            if needless(file, text, match, kernel):
                continue
            line = text.count("\n", 0, match.start()) + 1
            told.append("%s in %s, line %d" % (what, file, line))
            wrong, right, here = match.expand(replacement), match.group(), "simt_mutated(%d)" % len(told)
            edits.append((match.span(), "{ if (%s) { %s } else %s }" % (here, wrong, right) if right.endswith(";") else
                          "(%s ? %s : %s)" % (here, wrong, right)))
    for (begin, end), changed in sorted(edits, reverse=True):
        text = text[:begin] + changed + text[end:]
    return text


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
    made = run(GENERATOR, "--force", "--backend=cuda", "-o", FOLDER, copy)
    path = "%s/%s_%s.cu" % (FOLDER, name, kernel)
    if made.returncode:
        tap.ok(False, "%s is generated" % name, made.stdout)
        return
    files = {}
    for file in [path] + ["runtime/" + header for header in HEADERS]:
        with open(file) as lines:
            files[os.path.basename(file)] = lines.read()
    source, told = files[os.path.basename(path)], []
    files = {file: with_mutants(file, text, source, told) for file, text in files.items()}
    files[os.path.basename(path)] = 'extern "C" bool simt_mutated(int);\n' + files[os.path.basename(path)]
    program = "%s/%s_%s.check" % (FOLDER, name, kernel)
    built = build(name, kernel, files)
    right = built.returncode == 0 and run(program, "sizes")
    if not tap.ok(right and right.returncode == 0, "%s %s: unchanged, right" % (name, kernel),
                  built.stdout, right and right.stdout):
        return
    for number, title in enumerate(told, 1):
        seen = run("timeout", "60", program, "sizes", env={**STOP, "SIMT_MUTANT": str(number)}).stdout
        findings = re.findall(r"^simt: ([^:]*)", seen, re.M)
        tap.ok(findings, "%s %s: %s" % (name, kernel, title) + (": " + findings[0] if findings else ""), seen)


os.makedirs(FOLDER, exist_ok=True)
mutants("conv_64", "forward")
mutants("conv_32", "backward")
mutants("conv_128", "backward")
mutants("conv_narrow", "backward")
mutants("batch_128", "backward")
mutants("staged_graph", "double_backward")
mutants("tiled_wide", "backward")
mutants("paired_pairs", "backward")
mutants("gemm_wide", "backward")
mutants("nodal_parities", "backward")
mutants("lanes_columns", "backward")
if os.environ.get("TEST_ALL"):
    mutants("staged_parts", "double_backward")
    mutants("lanes_split", "forward")
    mutants("lanes_parities", "double_backward")
    mutants("batch_128", "forward")
    mutants("conv_64", "double_backward")
    mutants("conv_segments", "forward")
    mutants("conv_segments", "backward")
tap.done()
