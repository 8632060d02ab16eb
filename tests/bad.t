#!/usr/bin/env python3
"""Wrong specs: tests/bad/NAME.yaml gives exactly the diagnostics in NAME.expected, exit status 1, and
touches no file, whatever the backend, warnings being errors, and the same as JSON. NAME.with.yaml, where it is there, is a second spec of the same call; NAME.log.tsv a log of
times for its report.

With UPDATE=1 in the environment the expected texts are written anew, to be reviewed as a diff.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

GENERATOR = os.environ.get("CGTPGEN", "build/cgtpgen")
FOLDER = "tests/bad"


def generate(specs, arguments, folder):
    """Runs the generator into a folder that holds one file already; says what came back and what happened there."""
    kept = os.path.join(folder, "bad.h")
    with open(kept, "w") as f:
        f.write("kept\n")
    before = os.stat(kept).st_mtime_ns
    run = subprocess.run([GENERATOR, "-Werror", *arguments, "-o", folder, *specs], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    touched = sorted(os.listdir(folder)) != ["bad.h"] or os.stat(kept).st_mtime_ns != before
    return run, touched


KEYS = ["id", "severity", "file", "line", "column", "length", "message", "suggestion", "notes"]


def from_json(text):
    """The messages of --diagnostics=json as text has them, without the lines of the source."""
    lines = []

    def add(one, kind, end=""):
        place = ":".join(str(part) for part in (one["file"], one["line"], one["column"]) if part is not None)
        assert (one["line"] is None) == (one["column"] is None) == (one["length"] is None)
        lines.append(f"{place}: {kind}: {one['message']}{end}")
    for line in text.splitlines():
        message = json.loads(line)
        assert list(message) == KEYS, message
        suggestion = f"; did you mean '{message['suggestion']}'?" if message["suggestion"] else ""
        add(message, message["severity"], suggestion + (f" [{message['id']}]" if message["id"] else ""))
        for note in message["notes"]:
            assert list(note) == KEYS[2:7], note
            add(note, "note")
    return lines


def report(number, good, name, detail=""):
    print(("ok" if good else "not ok"), number, "-", name)
    for line in detail.splitlines() if not good else []:
        print("# " + line)
    return good


def main():
    names = sorted(f[:-5] for f in os.listdir(FOLDER) if f.endswith(".yaml") and not f.endswith(".with.yaml"))
    print(f"1..{len(names) + 1}")
    good = True
    for number, name in enumerate(names, 1):
        golden = f"{FOLDER}/{name}.expected"
        specs = [path for path in (f"{FOLDER}/{name}.yaml", f"{FOLDER}/{name}.with.yaml") if os.path.exists(path)]
        log = f"{FOLDER}/{name}.log.tsv"
        page = ["--emit=report", f"--measured={log}"] if os.path.exists(log) else []
        with tempfile.TemporaryDirectory() as folder:
            run, touched = generate(specs, ["--backend=cuda", *page], folder)
            c, c_touched = generate(specs, ["--backend=c", *page], folder)
            as_json, _ = generate(specs, ["--diagnostics=json", *page], folder)
        if os.environ.get("UPDATE"):
            with open(golden, "wb") as f:
                f.write(run.stderr)
        expected = open(golden, "rb").read() if os.path.exists(golden) else b"(no file of expected diagnostics)\n"
        problems = []
        if run.returncode != 1:
            problems.append(f"exit status {run.returncode}, not 1")
        if run.stdout:
            problems.append("something on stdout")
        if name != "large_code" and (c.returncode, c.stdout, c.stderr) != (run.returncode, run.stdout, run.stderr):
            problems.append("not the same with --backend=c:\n" + c.stderr.decode(errors="replace"))
        told = [line.replace("[-Werror=", "[") for line in expected.decode().splitlines()
                if re.match(re.escape(FOLDER) + r"/\S+ (error|note): ", line)]
        if (as_json.returncode, as_json.stdout, from_json(as_json.stderr.decode())) != (1, b"", told):
            problems.append("not the same with --diagnostics=json:\n" + as_json.stderr.decode())
        if touched or c_touched:
            problems.append("output files were touched")
        if run.stderr != expected:
            problems.append("expected:\n" + expected.decode(errors="replace") + "got:\n" +
                            run.stderr.decode(errors="replace"))
        good &= report(number, not problems, name, "\n".join(problems))

    # Too large to keep in the tree.
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(suffix=".yaml") as large:
        large.write(b"#" * (1 << 20) + b"\n")
        large.flush()
        run, touched = generate([large.name], [], folder)
    right = (run.returncode == 1 and not touched and not run.stdout and
             run.stderr.decode() == f"{large.name}: error: the file is larger than 1 MiB [limit]\n")
    good &= report(len(names) + 1, right, "larger than 1 MiB", run.stderr.decode(errors="replace"))
    return 0 if good else 1


sys.exit(main())
