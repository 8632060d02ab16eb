#!/usr/bin/env python3
"""Other platforms: what make, an installation and the fragments call is none of GNU's tools alone; the generator and C
kernels for aarch64, by a cross compiler, under qemu-user: the same text, and self-tests that pass."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
CROSS, EMULATOR = 'aarch64-linux-gnu-gcc', shutil.which('qemu-aarch64') or shutil.which('qemu-aarch64-static')
# What other systems' tools do not know.
ONLY_GNU = [r'\binstall [^;|]*-[a-zA-Z]*[Dt]\b', r'\bsed (-\w+ )*-i\b', r'\breadlink -f\b', r'\bcp [^;|]*--', r'\bsort -V\b',
            r'\bgrep -[a-zA-Z]*P', r'\bdate -d\b', r'\bmktemp --', r'\bxargs -[a-zA-Z]*r\b', r'\bstat -c\b', r'\bln [^;|]*-[a-zA-Z]*r\b',
            r'\btar [^;|]*--']


def recipes(text, targets):
    """Lines of these targets' rules."""
    return [line for rule in re.findall(rf'^(?:{targets})[^\n=]*:.*\n((?:\t.*\n|\s*#.*\n)+)', text, re.M)
            for line in rule.replace('\\\n', ' ').splitlines()]


def test_tools():
    with open('Makefile') as file:
        lines = recipes(file.read(), r'\$\(BUILD\)/[\w%/]+(?:\.o)?|install|uninstall|clean')
    for path in ['runtime/cgtpgen.mk', *glob.glob('docs/examples/*/Makefile')]:
        with open(path) as file:
            lines += [line for line in file.read().replace('\\\n', ' ').splitlines() if not line.startswith('#')]
    found = [line.strip() for line in lines for pattern in ONLY_GNU if re.search(pattern, line)]
    ok(len(lines) > 100 and not found, "make, make install and the fragments need none of GNU's own options", *found)
    ok(re.search(ONLY_GNU[0], 'install -m 644 -Dt folder file'), 'which would be found')


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def cross_yaml(folder):
    """libyaml for aarch64, if it is there."""
    with open(f'{folder}/try.c', 'w') as file:
        file.write('#include <yaml.h>\nint main(void) { return !yaml_get_version_string(); }\n')
    return run(CROSS, '-static', '-o', f'{folder}/try', f'{folder}/try.c', '-lyaml').returncode == 0


def test_aarch64(folder):
    if not shutil.which(CROSS) or not EMULATOR:
        return skip('aarch64', f'no {CROSS} or no qemu-aarch64')
    made = run(GENERATOR, '--backend=c', '--emit=header,source,selftest', '-o', folder, 'specs/nequip_water.yaml',
               'specs/tetris_poly_2.yaml')
    ok(made.returncode == 0, 'two products', made.stdout)
    for name in 'nequip_water', 'tetris_poly_2':
        built = run(CROSS, '-static', '-std=c11', '-D_POSIX_C_SOURCE=200809L', '-O2', '-Wall', '-Wextra', '-Werror', '-Iruntime',
                    '-o', f'{folder}/{name}', *sorted(glob.glob(f'{folder}/{name}*.c')), 'runtime/cgtp.c',
                    'runtime/cgtp_selftest.c', '-lm')
        if ok(built.returncode == 0, f'aarch64: {name} compiles', built.stdout[-2000:]):
            result = run(EMULATOR, f'{folder}/{name}')
            ok(result.returncode == 0 and 'ok 1' in result.stdout and 'not ok' not in result.stdout,
               f'aarch64: the self-test of {name} passes', result.stdout[-2000:])
    if not cross_yaml(folder):
        return skip('aarch64: the generator', 'no libyaml for aarch64')
    built = run('make', 'static', f'CC={CROSS}', 'CFLAGS=-O1', f'BUILD={folder}/build')
    if ok(built.returncode == 0, 'aarch64: the generator builds', built.stdout[-2000:]):
        texts = [run(*command, '--backend=c', '-o', '-', 'specs/nequip_water.yaml').stdout
                 for command in ([GENERATOR], [EMULATOR, f'{folder}/build/static/cgtpgen'])]
        equal(texts[0], texts[1], 'aarch64: it writes the same')
    return None


test_tools()
with tempfile.TemporaryDirectory() as FOLDER:
    test_aarch64(FOLDER)
done()
