#!/usr/bin/env python3
"""make install, and projects outside of this tree whose Makefiles use it, in C and with CUDA."""
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

program: program.o $(CGTPGEN_LIBRARY)
\t$(CGTPGEN_LINK) -o $@ $^
program.o: program.c $(CGTPGEN_HEADERS)
\t$(CC) $(CFLAGS) $(CGTPGEN_CFLAGS) -c -o $@ $<
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
    printf("%s, %s: %s\\n", layer_product.name, layer_product.backend,
           cgtp_status_text(layer_forward(-1, 0, 0, 0, 0, 0, 0, 0)));
    return layer_product.abi != CGTP_ABI;
}
'''
# The runtime's part for graphs on a device is linked too. Wrong arguments are told before a device is needed.
CUDA_PROGRAM = '#include "cgtp_device.h"\n' + PROGRAM.replace('    return', '''\
    puts(cgtp_status_text(cgtp_device_graph_check(0, 1, 0, 0)));
    return''')
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
NEGATIVE = 'a number of items or rows is negative or too large'
NULL = 'an array with elements, or the graph, is a null pointer'
# Projects are not built with the options that the test itself was started with; the generator is installed
# with them, or it would be built anew.
VARIABLES = [word.replace('\\ ', ' ') for word in re.split(r'(?<!\\) ', os.environ.get('MAKEFLAGS', ''))
             if re.match(r'\w+=', word)]
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if not k.startswith(('MAKE', 'MFLAGS', 'CGTPGEN', 'CFLAGS', 'NVCC'))}


def run(*command, folder=None):
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def build(folder, *variables):
    """Runs make and returns the names of what it compiled or generated."""
    result = run('make', '-j3', *variables, folder=folder)
    if not ok(result.returncode == 0, 'the project builds', result.stdout):
        return None
    words = re.findall(r'-o (\S+)', result.stdout)
    return sorted(os.path.basename(word) for word in words)


def project(name, files):
    folder = f'{ROOT}/{name}'
    os.mkdir(folder)
    for file, content in files.items():
        write(f'{folder}/{file}', content)
    return folder


def test_installed(prefix):
    result = run('make', 'install', 'PREFIX=/usr', f'DESTDIR={ROOT}', *VARIABLES)
    ok(result.returncode == 0 and not result.stdout, 'make install DESTDIR=', result.stdout)
    found = sorted(os.path.relpath(f'{folder}/{name}', prefix) for folder, _, names in os.walk(prefix)
                   for name in names)
    headers = [f'share/cgtpgen/{name}' for name in os.listdir('runtime') if name.endswith(('.h', '.c', '.cu'))]
    equal(found, sorted(['bin/cgtpgen', 'share/cgtpgen/cgtpgen.mk', 'share/cgtpgen/spec.md',
                         'share/man/man1/cgtpgen.1', 'share/pkgconfig/cgtpgen.pc', *headers]), 'what is installed')
    path = f'{prefix}/share/pkgconfig/cgtpgen.pc'
    with open(path) as f:
        text = f.read()
    ok(ROOT not in text and 'prefix=/usr\n' in text, 'the pkg-config file names the prefix', text)
    version = run(f'{prefix}/bin/cgtpgen', '--version').stdout.split()[-1]
    ok(f'Version: {version}\n' in text, 'and the version', text)
    # From here on as if installed at its place.
    write(path, text.replace('prefix=/usr', f'prefix={prefix}'))
    ENVIRONMENT['PKG_CONFIG_PATH'] = f'{prefix}/share/pkgconfig'
    ENVIRONMENT['PATH'] = f"{prefix}/bin:{ENVIRONMENT['PATH']}"


def test_c():
    folder = project('c', {'Makefile': 'CGTPGEN_BACKEND = c\n' + MAKEFILE, 'layer.yaml': SPEC,
                           'program.c': PROGRAM})
    everything = ['cgtp.c.o', 'cgtpgen-out', 'layer.c.o', 'layer_forward.c.o', 'program', 'program.o']
    of_spec = [name for name in everything if name != 'cgtp.c.o']
    equal(build(folder), everything, 'from nothing: all')
    equal(run(f'{folder}/program').stdout, f'layer, c: {NEGATIVE}\n', 'the program runs')
    equal(build(folder), [], 'again: nothing')
    time.sleep(0.05)
    write(f'{folder}/layer.yaml', '# a comment\n' + SPEC)
    equal(build(folder), ['cgtpgen-out'],
          'a comment in the spec: generated, no file changes, nothing compiled')
    equal(build(folder), [], 'and then nothing')
    time.sleep(0.05)
    write(f'{folder}/layer.yaml', SPEC.replace('2x0e + 1x1o, y', '3x0e + 1x1o, y'))
    equal(build(folder), of_spec, 'another spec: its files')
    time.sleep(0.05)
    os.utime(f'{folder}/cgtpgen-out/layer.h')
    equal(build(folder), [name for name in of_spec if name != 'cgtpgen-out'],
          'a newer header: what includes it is compiled')
    time.sleep(0.05)
    flags = "CFLAGS=-O1 -DTEXT='\"a word\"'"
    equal(build(folder, flags), [name for name in everything if name != 'program.o'],
          'other flags: all that they are for')
    equal(build(folder, flags), [], 'and then nothing')
    write(f'{folder}/layer.yaml', SPEC.replace('fully', 'fuly'))
    result = run('make', folder=folder)
    ok(result.returncode != 0 and 'layer.yaml:4:15: error' in result.stdout, 'a wrong spec stops make',
       result.stdout)


def test_cuda():
    """The default. Linked from the objects, where all are needed, not from the archive."""
    folder = project('cuda', {'Makefile': MAKEFILE.replace('LIBRARY', 'OBJECTS'), 'layer.yaml': SPEC,
                              'program.c': CUDA_PROGRAM})
    nvcc = f'NVCC={NVCC}'
    everything = ['cgtp.c.o', 'cgtp_graph.cu.o', 'cgtpgen-out', 'layer.c.o', 'layer_forward.cu.o', 'program',
                  'program.o']
    equal(build(folder, nvcc), everything, 'CUDA, from nothing: all')
    equal(run(f'{folder}/program').stdout, f'layer, cuda: {NEGATIVE}\n{NULL}\n', 'CUDA: the program runs')
    equal(build(folder, nvcc), [], 'CUDA, again: nothing')
    time.sleep(0.05)
    write(f'{folder}/layer.yaml', SPEC.replace('2x0e + 1x1o, y', '3x0e + 1x1o, y'))
    equal(build(folder, nvcc), [name for name in everything if name not in ('cgtp.c.o', 'cgtp_graph.cu.o')],
          'CUDA, another spec: its files')
    planned = run('make', '-n', nvcc, 'CGTPGEN_ARCH=sm_80', folder=folder).stdout
    equal([len(re.findall(pattern, planned, re.M)) for pattern in
           (rf'^{re.escape(NVCC)} -arch=sm_80 .* -c -o ', r'^cgtpgen .*--arch=sm_80 +-o', 'sm_90')], [2, 1, 0],
          'CUDA, another architecture: generated and compiled for it')
    write(f'{folder}/program.c', PROGRAM)
    equal(build(folder, nvcc, 'CGTPGEN_BACKEND=c'),
          ['cgtp.c.o', 'cgtpgen-out', 'layer.c.o', 'layer_forward.c.o', 'program', 'program.o'],
          'C in the same folder: all of it')
    equal(run(f'{folder}/program').stdout, f'layer, c: {NEGATIVE}\n', 'and its program runs')


with tempfile.TemporaryDirectory() as ROOT:
    test_installed(f'{ROOT}/usr')
    if not shutil.which('pkg-config'):
        skip('a project in C', 'no pkg-config')
        skip('a project with CUDA', 'no pkg-config')
    else:
        test_c()
        if shutil.which(NVCC):
            test_cuda()
        else:
            skip('a project with CUDA', 'no nvcc')
done()
