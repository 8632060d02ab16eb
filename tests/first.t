#!/usr/bin/env python3
"""The first ten minutes of a stranger: of each kind of user the part of a page that he begins with, as the script that it
is, in an empty folder with a space in its path, with nothing but an installed cgtpgen and without a network. What
it prints is on the page."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from examples import blocks  # noqa: E402
from installed import ENVIRONMENT, install, read, unoptimised, write  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
PYTHON = os.environ.get('PYTHON') or sys.executable


def has(python, module):
    return subprocess.run([python, '-c', f'import {module}'], stderr=subprocess.DEVNULL).returncode == 0


def found(framework):
    """A python that has it; None."""
    return next((python for python in (os.environ.get(f'{framework.upper()}_PYTHON'), f'build/{framework}/venv/bin/python', PYTHON)
                 if python and shutil.which(python) and has(os.path.abspath(python) if '/' in python else python, framework)), None)


# Of each: page, titles from and to which (None: from its beginning), what of needs= is there.
USERS = {
    'C++, molecular dynamics, by CMake': ('docs/simulation.md', 'By CMake', 'Forces', {'cmake'}),
    'Makefile, vendored files': ('docs/vendoring.md', None, 'CMake and Meson', {'make'}),
    'PyTorch': ('docs/pytorch.md', 'From a spec to a module', 'For CPUs and CUDA', {'torch'}),
    'JAX': ('docs/jax.md', 'From a spec to a function', 'What functions take', {'jax'}),
    'CUDA application': ('docs/building.md', 'A CUDA application', 'CMake', {'nvcc'}),
}


def part(text, begin, end):
    start = text.index(f'\n## {begin}\n') if begin else 0
    return text[start:text.index(f'\n## {end}\n', start + 1)]


def script_of(folder, text, there):
    """Writes the part's files; its commands, and of what they print a pattern for all."""
    commands, shown = 'set -e\n', ''
    for words, block, _ in blocks(text):
        kind, *more = words.split()
        options = dict(word.split('=', 1) for word in more if '=' in word)
        if 'file' in options:
            path = f"{folder}/{options['file']}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, block)
        elif set(options.get('needs', '').split(',')) - there - {''}:
            continue
        elif kind in ('sh', 'indented'):
            commands += block
        elif kind == 'console':
            for line in block.splitlines(True):
                if line.startswith('$ '):
                    commands += line[2:]
                else:
                    shown += r'(?:.*\n)*' if line == '...\n' else re.escape(line)
    return commands, shown


def offline():
    """A prefix of commands that takes the network away; nothing where the system does not let us."""
    unshare = ['unshare', '--map-root-user', '--net']
    return unshare if shutil.which('unshare') and subprocess.run([*unshare, 'true'], stderr=subprocess.DEVNULL).returncode == 0 else []


def first(root, user, there, number):
    page, begin, end, needs = USERS[user]
    text = read(page)
    missing = needs - there.keys()
    if missing:
        return skip(f'{user}: {page}', f"no {', '.join(missing)}")
    folder = f'{root}/a new folder {number}'
    os.mkdir(folder)
    commands, shown = script_of(folder, part(text, begin, end), there.keys())
    write(f'{root}/script {number}', commands)
    environment = ENVIRONMENT | {'HOME': folder, 'LC_ALL': 'C', 'PIP_NO_INDEX': '1', 'PIP_TARGET': f'{folder}/site', 'PIP_NO_DEPS': '1',
                                 'PYTHONPATH': f'{folder}/site', 'CMAKE_PREFIX_PATH': f'{root}/usr', 'CGTP_SCRIPT': '1'}
    environment['PATH'] = f"{root}/bin {number}:{environment['PATH']}"
    os.mkdir(f'{root}/bin {number}')
    for name, program in (('python3', next((there[word] for word in needs if word in ('torch', 'jax')), PYTHON)), ('nvcc', NVCC)):
        if shutil.which(program):
            write(f'{root}/bin {number}/{name}', f'#!/bin/sh\nexec "{shutil.which(program)}" "$@"\n')
            os.chmod(f'{root}/bin {number}/{name}', 0o755)
    write(f'{root}/bin {number}/pip', '#!/bin/sh\nexec python3 -m pip "$@"\n')
    os.chmod(f'{root}/bin {number}/pip', 0o755)
    run = subprocess.run([*offline(), 'bash', f'{root}/script {number}'], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ok(run.returncode == 0 and shown and re.fullmatch(shown, run.stdout), f'{user}: {page} does what it says', commands, run.stdout[-3000:])
    return None


def main(root):
    unoptimised(f'{root}/tools')
    result, _ = install(root)
    if not ok(result.returncode == 0, 'make install, for a prefix that was empty', result.stdout):
        return
    there = {'cmake': shutil.which('cmake'), 'make': shutil.which('make') and shutil.which('pkg-config'), 'nvcc': shutil.which(NVCC),
             'torch': found('torch'), 'jax': found('jax')}
    there = {word: program for word, program in there.items() if program}
    for number, user in enumerate(USERS):
        first(root, user, there, number)
    equal(sorted(os.listdir(f'{root}/usr')), ['bin', 'share'], 'nothing else was added to the prefix')


with tempfile.TemporaryDirectory() as ROOT:
    main(ROOT)
done()
