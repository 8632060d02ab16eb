#!/usr/bin/env python3
"""generated/ is what the generator writes today, no more and no less, and compiles without a warning."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


there = sorted(f'generated/{name}' for name in os.listdir('generated'))
specs = [f'specs/{name[10:-2]}.yaml' for name in there if name.endswith('.h')]
check = run(GENERATOR, '--check', '-o', 'generated', *specs)
ok(check.returncode == 0, 'cgtpgen --check (make generated brings it up to date)', check.stdout)
equal(there, sorted(run(GENERATOR, '--list', '-o', 'generated', *specs).stdout.split()), 'no other files are there')

sources = [name for name in there if name.endswith('.c')]
for compiler in ('gcc', 'clang'):
    name = f'{compiler} -std=c11 {" ".join(WARNINGS)}'
    if shutil.which(compiler):
        result = run(compiler, '-std=c11', *WARNINGS, '-fsyntax-only', '-Iruntime', *sources)
        ok(result.returncode == 0, name, result.stdout)
    else:
        skip(name, f'no {compiler}')
if shutil.which('g++'):
    includes = [word for header in there if header.endswith('.h') for word in ('-include', header)]
    result = run('g++', *WARNINGS, '-fsyntax-only', '-Iruntime', *includes, '-x', 'c++', '/dev/null')
    ok(result.returncode == 0, 'the headers are C++ too', result.stdout)
else:
    skip('the headers are C++ too', 'no g++')
done()
