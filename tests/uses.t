#!/usr/bin/env python3
"""The three uses - called from a Makefile, vendored, reviewed in a diff - as a downstream project has them, in one empty
folder whose path has spaces, with an installed cgtpgen, gcc and, where it is there, nvcc. What each can do in detail is
looked at by tests of its own: flags.t, build_systems.t, vendoring.t, docs.t (reviewing.md), memory.t, diagnostics.t."""
import difflib
import json
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from examples import blocks  # noqa: E402
from installed import ENVIRONMENT, install, read, run, write  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
HAS_NVCC = shutil.which(NVCC) is not None
SPEC = '''cgtp: 1
name: layer
description: a first layer
irreps: {x: 32x0e + 32x1o, y: 0e + 1o, z: 32x0e + 32x1o}
instructions:
- [0, 0, 0, uvu, true]
- [0, 1, 1, uvu, true]
- [1, 0, 1, uvu, true]
- [1, 1, 0, uvu, true]
index: {x: sender, y: item, w: item, z: receiver}
kernels: [forward, backward]
'''
PROGRAM = '''#include "layer.h"
#include <stdio.h>

int main(void)
{
    printf("%s, %s: %s\\n", layer_product.name, layer_product.backend, cgtp_status_text(layer_forward(0, 0, 0, 0, 0, 0, 0, 0)));
    return layer_product.abi != CGTP_ABI;
}
'''
SAYS = 'layer, {}: an array with elements, or the graph, is a null pointer\n'
# A project that is compiled without optimisation.
MAKEFILE = '''CFLAGS = -O0 -g
CGTPGEN_SPECS = layer.yaml
include $(shell pkg-config --print-errors --variable=makefile cgtpgen)
program: program.o $(CGTPGEN_LIBRARY)
	$(CGTPGEN_LINK) -o $@ $^
program.o: program.c $(CGTPGEN_HEADERS)
	$(CC) $(CFLAGS) $(CGTPGEN_CPPFLAGS) -c -o $@ $<
'''
VENDORED = '--emit=header,source,plan,runtime'


def called(root):
    """1. From a Makefile: objects of products are optimised, whatever the project's CFLAGS say."""
    folder = f'{root}/called by make'
    os.mkdir(folder)
    for name, text in ('layer.yaml', SPEC), ('program.c', PROGRAM), ('Makefile', MAKEFILE):
        write(f'{folder}/{name}', text)
    for backend in ['c', 'cuda'] if HAS_NVCC else ['c']:
        options = [f'CGTPGEN_BACKEND={backend}', f'NVCC={NVCC}']
        made = run('make', *options, folder=folder)
        lines = [line for line in made.stdout.splitlines() if ' -c ' in line]
        kernels = [line for line in lines if re.search(r'layer_\w+\.(c|cu)( |$)', line)]
        ok(made.returncode == 0 and len(kernels) == 2, f'{backend}: made', made.stdout[:3000])
        ok(all('-O3' in line for line in kernels), f'{backend}: kernels are optimised', *kernels)
        ok([line for line in lines if 'program.c' in line and '-O0' in line and '-O3' not in line], f'{backend}: the program is not', *lines)
        equal(run('./program', folder=folder).stdout, SAYS.format(backend), f'{backend}: runs')
        replaced = run('make', '-B', '-n', *options, 'CGTPGEN_CFLAGS=-O1', 'CGTPGEN_NVCCFLAGS=-O1', folder=folder).stdout
        flags = [line for line in replaced.splitlines() if re.search(r' -c .*layer_forward\.(c|cu)( |$)', line)]
        ok(flags and all('-O1' in line and '-O3' not in line for line in flags), f'{backend}: a variable replaces that', replaced[:3000])
        run('make', 'cgtpgen-clean', *options, folder=folder)


def vendored(root):
    """2. In one command, with nothing needed outside of the folder but compilers."""
    folder = f'{root}/vendored here'
    os.mkdir(folder)
    write(f'{folder}/layer.yaml', SPEC)
    write(f'{folder}/program.c', PROGRAM)
    command = ['cgtpgen', '--backend=c', VENDORED, '-o', 'in C', 'layer.yaml']
    made = run(*command, folder=folder)
    equal((made.returncode, made.stdout), (0, ''), 'C: one command')
    listed = run('cgtpgen', '--backend=c', '--list=runtime', '-o', 'in C', 'layer.yaml', folder=folder).stdout.splitlines()
    equal(sorted(listed), sorted(f'in C/{name}' for name in os.listdir(f'{folder}/in C') if name.startswith('cgtp')),
          'C: --list=runtime')
    built = run('sh', '-c', 'gcc -O1 -I"in C" -o program program.c "in C"/*.c && ./program', folder=folder)
    equal((built.returncode, built.stdout), (0, SAYS.format('c')), 'C: compiles and runs')
    equal(run(*command, '--check', folder=folder).returncode, 0, 'C: --check')
    write(f'{folder}/in C/cgtp.c', read(f'{folder}/in C/cgtp.c') + '/* mine */\n')
    equal(run(*command, '--check', folder=folder).returncode, 3, 'C: --check finds what somebody changed')
    shutil.copy('runtime/cgtp_gemm.h', f'{folder}/in C')
    ok(run(*command, '--prune', folder=folder).returncode == 0 and not os.path.exists(f'{folder}/in C/cgtp_gemm.h'), 'C: --prune')
    if not HAS_NVCC:
        return skip('CUDA', 'no nvcc')
    made = run('cgtpgen', '--emit=header,unity,runtime', '-o', 'in CUDA', 'layer.yaml', folder=folder)
    equal((made.returncode, made.stdout), (0, ''), 'CUDA: one command')
    built = run('sh', '-c', f'"{NVCC}" -std=c++17 -arch=sm_90 -I"in CUDA" -o program program.c "in CUDA"/layer.unity.cu "in CUDA"/cgtp.c '
                '&& ./program', folder=folder)
    return equal((built.returncode, built.stdout), (0, SAYS.format('cuda')), 'CUDA: one source compiles and runs')


def committed(root):
    """2. As docs/vendoring.md has it, in a repository: what is committed is no object, and a new spec compiles all that reads it."""
    folder = f'{root}/committed there'
    os.mkdir(folder)
    page = {words.split('file=')[1]: text for words, text, _ in blocks(read('docs/vendoring.md')) if 'file=' in words}
    page['.gitignore'] = '\n'.join(re.search(r'lines `(.*)` and `(.*)` of a\s`\.gitignore`', read('docs/vendoring.md')).groups()) + '\n'
    for name in 'layer.yaml', 'program.c', 'Makefile', '.gitignore':
        write(f'{folder}/{name}', page[name])
    command = ['cgtpgen', '--backend=c', VENDORED, '--prune', '-o', 'kernels', 'layer.yaml']
    made = run(*command, folder=folder).stdout + run('make', 'program', 'fresh', 'CFLAGS=-O0', folder=folder).stdout
    ok(os.path.exists(f'{folder}/program'), 'the page: is built', made)
    if shutil.which('git'):
        run('git', 'init', '-q', folder=folder)
        run('git', 'add', '-A', folder=folder)
        equal(sorted(run('git', 'ls-files', folder=folder).stdout.split()),
              sorted([*page.keys() & set(os.listdir(folder)), *(f'kernels/{name}' for name in os.listdir(f'{folder}/kernels') if name[-2:] != '.o')]),
              'the page: sources are committed, no objects')
    else:
        skip('what is committed', 'no git')
    write(f'{folder}/layer.yaml', page['layer.yaml'].replace('32x1o', '31x1o'))
    planned = run('make', '-n', 'fresh', 'program', 'CFLAGS=-O0', folder=folder).stdout
    ok(' -c ' not in planned, 'the page: nothing is compiled again before the folder is', planned)
    run(*command, folder=folder)
    planned = run('make', '-n', 'program', 'CFLAGS=-O0', folder=folder).stdout
    sources = {f'kernels/{name}' for name in os.listdir(f'{folder}/kernels') if name.endswith('.c')} | {'program.c'}
    equal(set(re.findall(r' (\S+\.c)$', planned, re.M)), sources, 'the page: after another spec all that reads its header is')
    equal(run('make', 'program', 'fresh', 'CFLAGS=-O0', folder=folder).returncode, 0, 'the page: up to date')
    write(f'{folder}/layer.yaml', page['layer.yaml'].replace('name: layer', 'name: other'))
    run(*command, folder=folder)
    ok(all(os.path.exists(f'{folder}/kernels/{name}.h') for name in ('layer', 'other')), 'the page: files of another name stay')


def changed(folder, old, new, backend='c'):
    """Lines that are added and removed in each file, where the spec changes so."""
    command = ['cgtpgen', f'--backend={backend}', '--emit=header,source,plan', '-o', f'for {backend}', 'layer.yaml']
    here, texts = f'{folder}/for {backend}', []
    for spec in SPEC, SPEC.replace(old, new):
        write(f'{folder}/layer.yaml', spec)
        made = run(*command, folder=folder)
        if made.returncode:
            ok(False, ' '.join(command), made.stdout)
        texts.append({name: read(f'{here}/{name}').splitlines() for name in os.listdir(here)})
    before, after = texts
    differing = {}
    for name, lines in before.items():
        diff = [line for line in difflib.unified_diff(lines, after[name], n=0, lineterm='')
                if re.match(r'[+-](?![+-]{2} )', line)]
        if diff:
            differing[name] = diff
    return differing


def reviewed(root):
    """3. In a diff: few lines, in few files."""
    folder = f'{root}/reviewed by others'
    os.mkdir(folder)
    diff = changed(folder, 'a first layer', 'the first layer')
    equal(sorted(diff), ['layer.h'], 'a description: the header alone')
    diff = changed(folder, '[1, 1, 0, uvu, true]', '[1, 1, 0, uvu, true, 2]')
    plan = diff.get('layer.plan.txt', [])
    ok(0 < len(plan) <= 12, 'a path weight: a dozen lines of the plan', *plan)
    kernel = [line for line in diff.get('layer_forward.c', []) if 'text ' not in line]
    ok(0 < len(kernel) <= 12 and any(re.search(r'0x1\.|sqrt', line) for line in kernel), 'a path weight: constants of the kernel', *kernel)
    ok(max(map(len, read(f'{folder}/for c/layer.plan.txt').splitlines())) <= 100, 'the plan has 100 columns')
    twice = changed(folder, 'kernels', 'kernels', 'cuda')
    equal(twice, {}, 'the same spec again: nothing')
    for name, old, new in (('a reduction', 'index:', 'reduction: atomic\nindex:'), ('a normalisation', 'index:', 'normalization: {irrep: norm, path: element}\nindex:'),
                           ('a degree more', 'z: 32x0e + 32x1o}\ninstructions:', 'z: 32x0e + 32x1o + 32x2e}\ninstructions:\n- [1, 1, 2, uvu, true]'),
                           ('a kernel more', 'backward]', 'backward, jvp]'), ('a type', 'index:', 'precision: float64\nindex:')):
        diff = changed(folder, old, new, 'cuda')
        plan = diff.get('layer.plan.txt', [])
        ok(0 < len(plan) <= 80, f'{name}: tens of lines of the plan', len(plan), *plan)
        if name == 'a kernel more':
            equal(sorted(diff), ['layer.cu' if 'layer.cu' in diff else 'layer.c', 'layer.h', 'layer.plan.txt'],
                  'and the sources of the other kernels stay as they are')


def seen(root):
    """4. and 5. Workspaces are formulas everywhere; a warning where they are large; one of a filter's multiplicity."""
    folder = f'{root}/seen at once'
    os.mkdir(folder)
    write(f'{folder}/layer.yaml', SPEC)
    run('cgtpgen', '--emit=header,plan,source', '-o', 'gen', 'layer.yaml', folder=folder)
    memory = json.loads(run('cgtpgen', '--print=json', 'layer.yaml', folder=folder).stdout)['kernels'][1]['workspace']
    edge = f"{memory['bytes']['edge']:.0f}"
    ok(float(edge) > 0 and memory['due_to_reduction']['edge'] > 0, 'JSON: bytes for each edge, those of the reduction', memory)
    for name, text in ('--print=cost', run('cgtpgen', '--print=cost', 'layer.yaml', folder=folder).stdout), \
            ('the plan', read(f'{folder}/gen/layer.plan.txt')), ('the header', read(f'{folder}/gen/layer.h')), \
            ('the descriptor', read(f'{folder}/gen/layer.c')):
        ok(re.search(rf'(?<!\d){edge}(?!\d)', text), f'{name}: {edge} bytes for each edge')
    told = run('cgtpgen', '-Wmemory', '-o', 'gen', 'layer.yaml', folder=folder).stdout
    ok('[-Wmemory]' in told, '-Wmemory', told)
    write(f'{folder}/filter.yaml', re.sub(r'instructions:\n(- .*\n)+', 'instructions: channelwise\n', SPEC).replace('z: 32x0e', 'z: 3x0e'))
    told = run('cgtpgen', '--lint', 'filter.yaml', folder=folder).stdout
    ok('[-Wfilter-multiplicity]' in told, 'a filter with a multiplicity of its own', told)


def newcomer(root):
    """6. What somebody tries first."""
    folder = f'{root}/tried first'
    os.mkdir(folder)
    for words, told in ((['help'], '--help lists'), (['--output=gen'], '-o DIR'), (['--verbose'], '--print=plan')):
        result = run('cgtpgen', *words, folder=folder)
        ok(result.returncode and told in result.stdout, f'cgtpgen {" ".join(words)}', result.stdout)
    write(f'{folder}/e3nn.yaml', 'cgtp: 1\nname: layer\nirreps_in1: 1x0e\ninstructions: FullyConnectedTensorProduct\nkernels: [fwd]\n')
    told = run('cgtpgen', '--lint', 'e3nn.yaml', folder=folder).stdout
    ok(all(f"did you mean '{word}'" in told for word in ('irreps', 'fully_connected', 'forward')), "e3nn's names", told)
    write(f'{folder}/layer.c', 'int mine;\n')
    write(f'{folder}/layer.yaml', SPEC)
    result = run('cgtpgen', '--backend=c', 'layer.yaml', folder=folder)
    ok(result.returncode and read(f'{folder}/layer.c') == 'int mine;\n', "a file of one's own stays", result.stdout)


with tempfile.TemporaryDirectory() as ROOT:
    result, _ = install(f'{ROOT}')
    ok(result.returncode == 0, 'make install', result.stdout[:2000])
    ENVIRONMENT['LC_ALL'] = 'C'
    HERE = f'{ROOT}/an empty folder'
    os.mkdir(HERE)
    for use in called, vendored, committed, reviewed, seen, newcomer:
        use(HERE)
done()
