#!/usr/bin/env python3
"""gcc's analyser has nothing to say of what reads files, options and logs: the runtime in C, the lower layers and the command
line. With TEST_ALL of all of the generator but its planners, of which it takes what their tables promise for unknown."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, skip  # noqa: E402

KNOWN = (12, 13)  # what others report differs, and of C before 12 is mostly wrong
QUICK = ('runtime', 'cgtpgen/util', 'cgtpgen/spec', 'cgtpgen/cli')


def report(path):
    made = subprocess.run(['gcc', '-std=c11', '-D_POSIX_C_SOURCE=200809L', '-O1', '-fanalyzer', '-Icgtpgen', '-Iruntime', '-c',
                           '-o', '/dev/null', path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return [line for line in made.stdout.splitlines() if re.search(r'(warning|error): ', line)]


def version():
    """Of gcc, if that is what the name stands for; 0."""
    if not shutil.which('gcc'):
        return 0
    text = subprocess.run(['gcc', '--version'], stdout=subprocess.PIPE, text=True).stdout
    found = re.match(r'gcc.* (\d+)\.\d+', text)
    return int(found.group(1)) if found else 0


folders = QUICK if not os.environ.get('TEST_ALL') else \
    ('runtime', *(name for name in sorted(glob.glob('cgtpgen/*')) if os.path.isdir(name) and not name.endswith('schedule')))
if version() not in KNOWN:
    skip('the analyser', 'no gcc 12 or 13')
else:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for folder in folders:
            sources = sorted(glob.glob(f'{folder}/**/*.c', recursive=True))
            told = [line for lines in pool.map(report, sources) for line in lines]
            equal((bool(sources), told), (True, []), f'{folder}: {len(sources)} sources')
done()
