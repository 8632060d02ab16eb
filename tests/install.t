#!/usr/bin/env python3
"""make install, and a project outside of this tree whose Makefile needs two lines to use it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

MAKEFILE = '''CGTPGEN_SPECS = layer.yaml
include $(shell pkg-config --variable=makefile cgtpgen)

program: program.c $(CGTPGEN_LIBRARY)
\t$(CC) $(CFLAGS) $(CGTPGEN_CFLAGS) -o $@ $^
'''
SPEC = '''cgtp: 1
name: layer
irreps: {x: 2x0e + 1x1o, y: 0e + 1o, z: 2x0e + 1o}
instructions: fully_connected
kernels: [forward]
'''
PROGRAM = '''#include "layer.h"
#include <stdio.h>

int main(void)
{
    printf("%s %s\\n", layer_product.name, cgtp_status_text(layer_forward(-1, 0, 0, 0, 0, 0, 0, 0)));
    return layer_product.abi != CGTP_ABI;
}
'''
# The project is not built with the options that the test itself was started with; the generator is installed
# with them, or it would be built anew.
VARIABLES = [word.replace('\\ ', ' ') for word in re.split(r'(?<!\\) ', os.environ.get('MAKEFLAGS', ''))
             if re.match(r'\w+=', word)]
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if not k.startswith(('MAKE', 'MFLAGS', 'CGTPGEN', 'CFLAGS'))}


def run(*command, folder=None):
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def build(folder):
    """Runs make and returns the names of what it compiled or generated."""
    result = run('make', folder=folder)
    if not ok(result.returncode == 0, 'the project builds', result.stdout):
        return None
    words = re.findall(r'-o (\S+)', result.stdout)
    return sorted(os.path.basename(word) for word in words)


def test(root, project):
    prefix = f'{root}/usr'
    result = run('make', 'install', 'PREFIX=/usr', f'DESTDIR={root}', *VARIABLES)
    ok(result.returncode == 0 and not result.stdout, 'make install DESTDIR=', result.stdout)
    found = sorted(os.path.relpath(f'{folder}/{name}', prefix) for folder, _, names in os.walk(prefix)
                   for name in names)
    headers = [f'share/cgtpgen/{name}' for name in os.listdir('runtime') if name.endswith(('.h', '.c', '.cu'))]
    equal(found, sorted(['bin/cgtpgen', 'share/cgtpgen/cgtpgen.mk', 'share/cgtpgen/spec.md',
                         'share/man/man1/cgtpgen.1', 'share/pkgconfig/cgtpgen.pc', *headers]), 'what is installed')
    text = open(f'{prefix}/share/pkgconfig/cgtpgen.pc').read()
    ok(root not in text and 'prefix=/usr\n' in text, 'the pkg-config file names the prefix', text)
    version = run(f'{prefix}/bin/cgtpgen', '--version').stdout.split()[-1]
    ok(f'Version: {version}\n' in text, 'and the version', text)
    if not shutil.which('pkg-config'):
        return skip('a project', 'no pkg-config')

    # As if installed at its place.
    write(f'{prefix}/share/pkgconfig/cgtpgen.pc', text.replace('prefix=/usr', f'prefix={prefix}'))
    ENVIRONMENT['PKG_CONFIG_PATH'] = f'{prefix}/share/pkgconfig'
    ENVIRONMENT['PATH'] = f"{prefix}/bin:{ENVIRONMENT['PATH']}"
    for name, content in (('Makefile', MAKEFILE), ('layer.yaml', SPEC), ('program.c', PROGRAM)):
        write(f'{project}/{name}', content)
    equal(build(project), ['cgtp.o', 'cgtpgen-out', 'layer.o', 'layer_forward.o', 'program'],
          'from nothing: all')
    equal(run(f'{project}/program').stdout, 'layer a number of items or rows is negative or too large\n',
          'the program runs')
    equal(build(project), [], 'again: nothing')
    time.sleep(0.05)
    write(f'{project}/layer.yaml', '# a comment\n' + SPEC)
    equal(build(project), ['cgtpgen-out'],
          'a comment in the spec: generated, no file changes, nothing compiled')
    equal(build(project), [], 'and then nothing')
    time.sleep(0.05)
    write(f'{project}/layer.yaml', SPEC.replace('2x0e + 1x1o, y', '3x0e + 1x1o, y'))
    equal(build(project), ['cgtpgen-out', 'layer.o', 'layer_forward.o', 'program'], 'another spec: its files')
    write(f'{project}/layer.yaml', SPEC.replace('fully', 'fuly'))
    result = run('make', folder=project)
    ok(result.returncode != 0 and 'layer.yaml:4:15: error' in result.stdout, 'a wrong spec stops make', result.stdout)


with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as project:
    test(root, project)
done()
