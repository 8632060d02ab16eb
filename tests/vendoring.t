#!/usr/bin/env python3
"""Products and the runtime that they need in one folder, which needs nothing else: in an empty folder with a space in its
name, in C by gcc and in CUDA by nvcc; what is written is what compilers read, no more."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR, CC = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen')), os.environ.get('CC', 'gcc')
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
LINES = {'c': 800, 'cuda': 3000}  # of the runtime, at most, for mace_large
SMALL = '''cgtp: 1
name: NAME
irreps: {x: 32x0e + 32x1o, y: 0e + 1o, z: 32x0e + 32x1o}
instructions: channelwise
index: {x: sender, y: item, w: item, z: receiver}
kernels: [forward]
'''
CALLER = '''#include "one.h"
#include "two.h"
#include <stdio.h>

int main(void)
{
    printf("%s, %s: %s\\n", one_product.name, two_product.name, cgtp_status_text(one_forward(0, 0, 0, 0, 0, 0, 0, 0)));
    return one_product.abi != CGTP_ABI;
}
'''
ASKS = {'check': 'int main(void) { cgtp_graph g = {0}; return cgtp_graph_check(&g, 1); }\n',
        'ranks': 'int main(void) { cgtp_rows rows = {0}; return cgtp_rows_gather(&rows, 0, 0); }\n'}
TOLD = 'one, two: an array with elements, or the graph, is a null pointer\n'


def run(*command, folder=None):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def runtime_in(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith('cgtp'))


def included(compiler, folder, sources):
    """The files of the folder that the compiler reads for these."""
    result = run(*compiler, '-M', '-I.', *sources, folder=folder)
    ok(result.returncode == 0, f'{" ".join(compiler)} -M', result.stdout[:1000])
    return {os.path.basename(word) for word in result.stdout.split() if re.search(r'(^|/)cgtp\w*\.(h|c|cu)$', word)}


def exactly(folder, backend, compilers):
    """The runtime that is written for mace_large: what compilers read, cgtp.c and the licence."""
    made = run(GENERATOR, f'--backend={backend}', '--emit=header,source,runtime', '-o', folder, 'specs/mace_large.yaml')
    ok(made.returncode == 0 and not made.stdout, f'{backend}: --emit=runtime', made.stdout)
    there = runtime_in(folder)
    listed = run(GENERATOR, f'--backend={backend}', '--list=runtime', '-o', folder, 'specs/mace_large.yaml').stdout
    equal(sorted(listed.split('\n')[:-1]), [f'{folder}/{name}' for name in there], f'{backend}: --list=runtime')
    names = os.listdir(folder)
    read_by = set()
    for compiler, end in compilers:
        sources = [name for name in names if name.endswith(end)]
        read_by |= included(compiler, folder, sources)
    equal(sorted(read_by | {'cgtp_LICENSE.txt'}), there, f'{backend}: what compilers read is there, no more')
    equal([name for name in there if name != 'cgtp_LICENSE.txt' and read(f'{folder}/{name}') != read(f'runtime/{name}')], [],
          f'{backend}: as in runtime/')
    equal(read(f'{folder}/cgtp_LICENSE.txt'), read('LICENSE'), f'{backend}: the licence')
    lines = sum(read(f'{folder}/{name}').count('\n') for name in there if name != 'cgtp_LICENSE.txt')
    ok(lines <= LINES[backend], f'{backend}: {lines} lines, at most {LINES[backend]}')
    ok(f'| {LINES[backend]:,} | {len(there) - 1} |' in read('docs/vendoring.md'), f'{backend}: the page says so')


def kept(root):
    """--check, --prune, -MD and a runtime that several products share."""
    folder = f'{root}/in C'
    command = [GENERATOR, '--backend=c', '--emit=header,source,plan,runtime', '-o', 'gen', 'one.yaml', 'two.yaml']
    os.mkdir(folder)
    for name in 'one', 'two':
        write(f'{folder}/{name}.yaml', SMALL.replace('NAME', name))
    write(f'{folder}/call.c', CALLER)
    made = run(*command, '-MD', '-MF', 'gen.d', folder=folder)
    ok(made.returncode == 0, 'two products', made.stdout)
    equal(len(re.findall(r'gen/cgtp\.c\b', read(f'{folder}/gen.d'))), 1, '-MD: the runtime is made by the call')
    built = run('sh', '-c', f'{CC} -O0 -Igen -o call call.c gen/*.c', folder=folder)
    ok(built.returncode == 0, 'C: all that is in the folder compiles and links', built.stdout[:1000])
    equal(run(f'{folder}/call').stdout, TOLD, 'C: and runs')
    equal((run(*command, '--check', folder=folder).returncode, run(*command, '--check', folder=folder).stdout), (0, ''),
          '--check: nothing to say')
    write(f'{folder}/gen/cgtp_c.h', read(f'{folder}/gen/cgtp_c.h') + '/* mine */\n')
    result = run(*command, '--check', folder=folder)
    ok(result.returncode == 3 and '-/* mine */' in result.stdout, '--check: a file of the runtime was changed', result.stdout)
    run(*command, folder=folder)
    equal(run(*command, '--check', folder=folder).returncode, 0, 'written again')
    shutil.copy('runtime/cgtp_gemm.h', f'{folder}/gen')
    write(f'{folder}/gen/cgtp_mine.h', 'mine\n')
    equal(re.findall(r'^--- (.*)', run(*command, '--check', folder=folder).stdout, re.M), ['gen/cgtp_gemm.h'],
          '--check: a file that no product needs')
    ok(run(*command, '--prune', folder=folder).returncode == 0 and not os.path.exists(f'{folder}/gen/cgtp_gemm.h') and
       os.path.exists(f'{folder}/gen/cgtp_mine.h'), '--prune removes it, and no other')
    alone = run(GENERATOR, '--backend=c', '--emit=runtime', '--list', 'one.yaml', folder=folder)
    equal(alone.stdout, run(GENERATOR, '--backend=c', '--list=runtime', 'one.yaml', folder=folder).stdout,
          '--emit=runtime alone: what the product needs, without the product')
    ok('cgtp_selftest.c' in run(GENERATOR, '--emit=header,source,selftest,runtime', '--list', 'one.yaml', folder=folder).stdout,
       'a self-test: what it is linked with')
    ok('cgtp_graph.cu' in run(GENERATOR, '--emit=header,source,device', '--list', 'one.yaml', folder=folder).stdout,
       '--emit=device: what prepares graphs on a GPU')
    for word in 'check', 'ranks':
        made = run(GENERATOR, '--backend=c', f'--emit=header,source,{word}', '-o', word, 'one.yaml', folder=folder)
        ok(made.returncode == 0 and {f'cgtp_{word}.c', f'cgtp_{word}.h', 'cgtp.c'} <= set(os.listdir(f'{folder}/{word}')),
           f'--emit={word}: it and what it needs', made.stdout)
        write(f'{folder}/{word}/{word}.c', f'#include "cgtp_{word}.h"\n' + ASKS[word])
        built = run('sh', '-c', f'{CC} -O0 -o {word} *.c && ./{word}', folder=f'{folder}/{word}')
        equal((built.returncode, built.stdout), (0, ''), f'--emit={word}: all that is in the folder compiles and links')
    for words, message in (('torch,runtime', 'by CGTP_RUNTIME'), ('jax,device', 'by CGTP_RUNTIME')):
        result = run(GENERATOR, f'--emit={words}', 'one.yaml', folder=folder)
        ok(result.returncode == 2 and message in result.stdout, f'--emit={words}: {message}', result.stdout)


def in_cuda(root):
    """Two products, each one source, in one translation unit."""
    folder = f'{root}/in CUDA'
    os.mkdir(folder)
    write(f'{folder}/one.yaml', SMALL.replace('NAME', 'one'))
    write(f'{folder}/two.yaml', SMALL.replace('NAME', 'two') + 'precision: bfloat16\n') # whose headers come later
    write(f'{folder}/all.cu', '#include "one.unity.cu"\n#include "two.unity.cu"\n#include "cgtp.c"\n' + CALLER)
    made = run(GENERATOR, '--emit=header,unity,runtime', '-o', '.', 'one.yaml', 'two.yaml', folder=folder)
    ok(made.returncode == 0, 'CUDA: --emit=unity', made.stdout)
    built = run(NVCC, '-std=c++17', '-arch=sm_90', '-I.', '-o', 'all', 'all.cu', folder=folder)
    if ok(built.returncode == 0, 'CUDA: two of them in one translation unit', built.stdout[:2000]):
        equal(run(f'{folder}/all').stdout, TOLD, 'CUDA: and runs')


with tempfile.TemporaryDirectory() as ROOT:
    exactly(f'{ROOT}/mace in C', 'c', [([CC], '.c')])
    kept(ROOT)
    if shutil.which(NVCC):
        exactly(f'{ROOT}/mace in CUDA', 'cuda', [([NVCC, '-std=c++17', '-arch=sm_90'], '.cu'), ([CC], '.c')])
        in_cuda(ROOT)
    else:
        skip('CUDA', 'no nvcc')
done()
