#!/usr/bin/env python3
"""The names of a spec never meet those of emitted code, of the runtime, or of the languages.

Awkward names in every role, kernel, argument and output: products of them compile as C and CUDA and pass their
self-tests. Products with the names of system headers and of the runtime's guards, searched by <..> too. Symbols that
products of one call really share are reported.
"""
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen')
NVCC = shutil.which('nvcc') or shutil.which('/usr/local/cuda/bin/nvcc')
QUICK = shutil.which('tcc') or shutil.which('clang') or 'gcc'  # what takes least time to compile
WARNINGS = '-Wall -Wextra -Werror'.split()

# Macros, keywords, what emitted code, the runtime and the C library call their own, and what looks derived.
NAMES = """
NULL INT32_MAX linux unix CGTP_OK CGTP_LOOP CGTP_UNROLL CGTP_LANES CGTP_KERNEL CGTP_DEVICE CGTP_PARALLEL CGTP_STORE
CGTP_X CGTP_SCRATCH lay_out pass_receivers uvu_0_0_0_receivers receivers_kernel
a add_up at base begin continued count division done e edge end ends error exchange first free from full given graph
group i index item items j keep l lane launch lda ldb ldg ldw leave load loaded n node nodes other part parts piece r
range ranges real receiver ring row scratch segment sender senders shared slot stage status stream sum to total u warp
work workspace workspace_bytes y2 force_t force_row force_sum force force_at force_c0 force_c force_out force_parts
int double template class blockIdx int32 int32_t size_t size uint8 main M_PI M_PI_2 errno stdin assert offsetof
cgtp cgtp_copy cgtp_sum cgtp_sync cgtp_status cgtp_tile cgtp_graph uvu_0_0_0 uvu_0_1_1 code layout item_0 pass_0
xsegments stage_0 set_0 set_0_x warp_0 K4_3 K u0 u0_0 s0 s0_0 l0 p0 t0 t0_1 convolution general loops x_ x__ _
""".split()[:-1]
# What stands behind an argument's name and an underscore: of locals, and of members of struct launch.
LOCAL, MEMBER = r'(?:[cfsp]\d+|v|at|out|base|turned|)', r'(?:parts|edges|sums|whole|error)'
HEADERS = 'stdint stddef string math stdlib time float limits cuda_runtime'.split()
PRODUCTS = HEADERS + 'std C GPU CUDA SELFTEST DEVICE int template linux NULL CGTP_OK launch code uvu lay'.split()
GRAPH = 'irreps: {x: 64x0e + 64x1o, y: 0e + 1o, z: 64x0e + 64x1o}\ninstructions: channelwise\n' \
        'index: {x: sender, y: item, w: item, z: receiver}\n'
BATCH = 'irreps: {x: 2x0e + 2x1o, y: 2x0e + 2x1o, z: 2x0e + 2x1o}\ninstructions: fully_connected\n' \
        'index: {x: item, y: item, w: shared, z: item}\naccumulate: compensated\n'
SMALL = 'irreps: {x: 2x0e, y: 0e, z: 2x0e}\ninstructions: channelwise\n'


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file:
        file.write(text)
    return path


def read(path):
    with open(path) as file:
        return file.read()


def kernel(names):
    """A kernel that has the eight names as its own, its arguments', and its outputs'."""
    k, x, y, w, z, gx, gy, gw = names
    k += '_' * (k == 'SCRATCH')  # kernels, which become files, differ by more than capitals
    return (f'  - {{name: {k}, arguments: {{{x}: d x, {y}: d y, {w}: d w}},\n'
            f'     outputs: {{{z}: [Q_g({x}, y, w), Q_g(x, {y}, w)], {gx}: [Q_x({y}, w, gz), Q_x(y, {w}, gz)],\n'
            f'               {gy}: [Q_y({x}, w, gz)], {gw}: [Q_w({x}, {y}, gz)]}}}}\n')


def kernels(names):
    """As many kernels as names, each name once in every role."""
    offsets = 0, 1, 3, 7, 12, 20, 30, 44
    return 'kernels:\n' + ''.join(kernel([names[(i + offset) % len(names)] for offset in offsets])
                                  for i in range(len(names)))


def generate(folder, products, *arguments):
    """products: name -> the rest of a spec; all in one call."""
    specs = [write(f'{folder}/specs/{name}.yaml', f'cgtp: 1\nname: {name}\n{text}') for name, text in products.items()]
    return run(GENERATOR, '-o', f'{folder}/out', *arguments, *specs)


def sources(folder, suffix):
    return sorted(f'{folder}/out/{name}' for name in os.listdir(f'{folder}/out') if name.endswith(suffix))


def test_roles(folder):
    awkward = {'awkward': GRAPH + kernels(NAMES), 'awkward_batch': BATCH + kernels(NAMES[::3])}
    result = generate(f'{folder}/c', awkward, '--backend=c', '--emit=header,source,selftest,hpp')
    if not ok(result.returncode == 0, f'{len(NAMES)} awkward names in every role', result.stdout):
        return
    # A part of the files; all are compiled for the self-tests, and below, with warnings, as one.
    for standard, some in ('gnu17', slice(0, None, 4)), ('c11', slice(2, None, 4)):
        result = run('gcc', f'-std={standard}', *WARNINGS, '-fsyntax-only', '-Iruntime', *sources(f'{folder}/c', '.c')[some])
        ok(result.returncode == 0, f'C: gcc -std={standard}', result.stdout[:4000])
    for compiler, standard in ('g++', 'c++11'), ('g++', 'gnu++20'), ('clang++', 'c++17'):
        if shutil.which(compiler):
            result = run(compiler, f'-std={standard}', *WARNINGS, '-Iruntime', '-fsyntax-only', '-x', 'c++', '/dev/null',
                         *(word for path in sources(f'{folder}/c', '.hpp') for word in ('-include', path)))
            ok(result.returncode == 0, f'in a namespace: {compiler} -std={standard}', result.stdout[:4000])
    for name in awkward:
        own = [path for path in sources(f'{folder}/c', '.c') if os.path.basename(path).startswith(f'{name}_selftest')]
        own += [path for path in sources(f'{folder}/c', '.c') if not path.endswith('_selftest.c')
                and ('_batch' in os.path.basename(path)) == ('_batch' in name)]
        program = f'{folder}/{name}'
        result = run('tests/compile.sh', QUICK, '-O0', '-w', '-Iruntime', '--', *own)
        if result.returncode == 0:
            result = run('gcc', '-O2', '-w', '-z', 'noexecstack', '-Iruntime', *(path[:-1] + 'o' for path in own),
                         'runtime/cgtp.c', 'runtime/cgtp_selftest.c', '-lm', '-o', program)
        result = run(program) if result.returncode == 0 else result
        ok(result.returncode == 0, f'{name}: the self-test passes', result.stdout[-2000:])
    result = generate(f'{folder}/torch', awkward, '--backend=c', '--emit=torch,jax')
    for path in sources(f'{folder}/torch', '.py'):
        compile(read(path), path, 'exec')
    handlers = [text for path in sources(f'{folder}/torch', '_jax.cpp')
                for text in re.findall(r'^CGTP_JAX_HANDLER\((\w+), \w+, \d+\);$', read(path), re.M)]
    ok(len(handlers) == len(set(handlers)) > len(NAMES), f'JAX: {len(handlers)} handlers', *handlers[:3])
    schemas = [text.replace('"\n                "', '') for path in sources(f'{folder}/torch', '.cpp')
               for text in re.findall(r'def\((".*?")\);', read(path), re.S)]
    ok(len(schemas) > len(NAMES) and all(re.fullmatch(r'"\w+\((Tensor \w+_, )+[\w, ?=]+\) -> \((Tensor, )+Tensor\)"', text)
                                         for text in schemas), f'PyTorch: {len(schemas)} schemas', *schemas[:3])
    generate(f'{folder}/unity', awkward, '--backend=c', '--emit=header,source,unity')
    unit = write(f'{folder}/unity/all.c', ''.join(f'#include "out/{name}.unity.c"\n' for name in awkward))
    result = run('gcc', *WARNINGS, '-fsyntax-only', '-Iruntime', unit)
    ok(result.returncode == 0, 'all in one translation unit', result.stdout[:4000])
    result = generate(f'{folder}/cuda', awkward)
    ok(result.returncode == 0, 'CUDA', result.stdout)
    files = sources(f'{folder}/cuda', '.cu')
    if NVCC:
        for path in files[3], files[-3]:
            result = run(NVCC, '-arch=sm_80', '-std=c++17', '-O0', '-Iruntime', '-cubin', path, '-o', f'{folder}/cubin')
            ok(result.returncode == 0, f'nvcc {os.path.basename(path)}', result.stdout[:4000])
    else:
        skip('nvcc', 'no nvcc')
    result = run('g++', '-std=c++17', '-fsyntax-only', '-w', '-Itests/simt', '-Iruntime', '-x', 'c++', *files[::12])
    ok(result.returncode == 0, f'g++: {len(files[::12])} of {len(files)} kernels', result.stdout[:4000])


def test_words(folder):
    """What is made of a name is one of few words, and no name of the runtime or macro looks so."""
    names = 'zebra', 'yak', 'wolf', 'gnu', 'okapi', 'panda', 'quail', 'raven'
    products = {'plain': GRAPH + 'kernels:\n' + kernel(names), 'plain_batch': BATCH + 'kernels:\n' + kernel(names),
                'plain_atomic': GRAPH + 'edges: any\nkernels:\n' + kernel(names)}
    texts, found = [], set()
    for backend in 'c', 'cuda':
        generate(f'{folder}/{backend}', products, f'--backend={backend}')
        texts += [read(path) for path in sources(f'{folder}/{backend}', ('.c', '.cu', '.h'))]
    for text in texts:
        code = re.sub(r'/\*.*?\*/|"[^"\n]*"', ' ', text, flags=re.S)
        for name in names[1:]:
            ends = re.findall(rf'(?<!\w)(l\.|l->|\*)?(?:\w*_(?:gather|sum)_)?{name}(\w*)', code)
            found |= {(end if re.fullmatch('_' + LOCAL, end) else before + end) for before, end in ends}
    words = {word for word in found if not re.fullmatch(rf'_{LOCAL}|(l\.|l->|\*)_{MEMBER}', word)}
    ok(len(found) > 10 and not words, f'{len(found)} words behind names', *words)
    runtime = [re.sub(r'/\*.*?\*/', ' ', read(f'runtime/{name}'), flags=re.S) for name in os.listdir('runtime')
               if name.endswith('.h')]
    names = {name for text in runtime for name in re.findall(r'\b[A-Za-z]\w*', text)}
    equal({name for name in names if re.fullmatch(rf'\w+_{LOCAL}', name) and name[-1] != '_'}, set(),
          f'none of {len(names)} names of the runtime looks so')
    names, sources_of = set(), {'c': 'typedef float real;\n#include "cgtp_c.h"\n', 'cu': '#include "cgtp_cuda.h"\n'}
    for suffix, text in sources_of.items():
        source = write(f'{folder}/all.{suffix}', text)
        command = ['gcc', '-std=gnu17', '-dM'] if suffix == 'c' else [NVCC, '-Xcompiler', '-dM']
        if command[0]:
            names |= set(re.findall(r'^#define (\w+)', run(*command, '-E', '-Iruntime', source).stdout, re.M))
    names = {name for name in names if name[0] != '_'}
    equal((len(names) > 50, {name for name in names if re.fullmatch(rf'\w+_({LOCAL}|{MEMBER})', name)}), (True, set()),
          f'none of {len(names)} macros does')


def test_products(folder):
    products = {name: SMALL + 'kernels: [forward]\n' for name in PRODUCTS}
    for backend in 'c', 'cuda':
        result = generate(f'{folder}/{backend}', products, f'--backend={backend}', '--emit=header,source,hpp')
        ok(result.returncode == 0, f'{len(PRODUCTS)} products, {backend}', result.stdout)
    headers = ''.join(f'#include "{name}.h"\n' for name in PRODUCTS)
    users = {
        'headers.c': headers + '#include <math.h>\n#include <stdio.h>\n#include <string.h>\n',
        'system.c': '#include <stdint.h>\n#include <string.h>\n#include <math.h>\n#include <cgtp.h>\n' + headers,
        'headers.cc': headers + '#include <cmath>\n#include <cstring>\n#include <string>\n',
    }
    use = 'int main(void)\n{\n    return strlen("") || (int)fabs(0.0) || INT32_MAX < 0' + \
          ''.join(f' || !{name}_product.name' for name in PRODUCTS) + ';\n}\n'
    files = {name: write(f'{folder}/{name}', text + use) for name, text in users.items()}
    include = ['-Iruntime', f'-I{folder}/c/out']
    runtime = write(f'{folder}/cgtp.c', read('runtime/cgtp.c'))
    for compiler, standard in itertools.product(('gcc', 'clang'), ('gnu17', 'c11')):
        if not shutil.which(compiler):
            skip(compiler, 'it is not there')
            continue
        own = [*sources(f'{folder}/c', '.c'), *(files[user] for user in ('headers.c', 'system.c')), runtime]
        result = run('tests/compile.sh', compiler, f'-std={standard}', *WARNINGS, *include, '--', *own)
        ok(result.returncode == 0, f'{compiler} -std={standard}: all compile', result.stdout[:4000])
        products_and_runtime = [path[:-1] + 'o' for path in own if path not in files.values()]
        for user in 'headers.c', 'system.c':
            program = f'{folder}/program'
            result = run(compiler, f'{files[user][:-1]}o', *products_and_runtime, '-lm', '-o', program)
            result = run(program) if result.returncode == 0 else result
            ok(result.returncode == 0, f'{compiler} -std={standard}: {user}', result.stdout[:4000])
    result = run('g++', *WARNINGS, *include, '-fsyntax-only', files['headers.cc'])
    ok(result.returncode == 0, 'the headers in C++', result.stdout[:4000])
    spaces = write(f'{folder}/spaces.cc', '#include <cmath>\n#include <string>\n' +
                   headers.replace('.h"', '.hpp"') + 'int main()\n{\n    return cgtp::std::product().abi;\n}\n')
    result = run('g++', *WARNINGS, *include, '-fsyntax-only', spaces)
    ok(result.returncode == 0, 'and in namespaces', result.stdout[:4000])
    if NVCC:
        one = write(f'{folder}/one.cu', f'#include "{folder}/cuda/out/stdint_forward.cu"\n')
        result = run(NVCC, '-arch=sm_80', '-std=c++17', '-Iruntime', f'-I{folder}/cuda/out', '-cubin', one, '-o',
                     f'{folder}/cubin')
        ok(result.returncode == 0, 'nvcc', result.stdout[:4000])
    else:
        skip('nvcc', 'no nvcc')


def test_symbols(folder):
    def one(name):
        return SMALL + f'kernels: [{{name: {name}, of: forward}}]\n'

    # Products whose symbols are those that emitted files would use for themselves, and that begin alike.
    good = {'lay': one('out'), 'item': one('loops'), 'convolution': GRAPH + 'kernels: [{name: convolution, of: forward}]\n',
            'inputs': one('x_run'), 'x': one('run'), 'x_y': one('b'), 'forward': one('convolution'),
            'convolution_general': one('sum')}
    result = generate(f'{folder}/good', good, '--backend=c')
    main = write(f'{folder}/main.c', ''.join(f'#include "{name}.h"\n' for name in good) + 'int main(void)\n{\n    return !('
                 + ' && '.join(f'{name}_product.abi' for name in good) + ');\n}\n')
    program = f'{folder}/program'
    if result.returncode == 0:
        result = run('gcc', *WARNINGS, '-Iruntime', f'-I{folder}/good/out', main, *sources(f'{folder}/good', '.c'),
                     'runtime/cgtp.c', '-lm', '-o', program)
    result = run(program) if result.returncode == 0 else result
    ok(result.returncode == 0, f'{len(good)} products that begin alike in one program', result.stdout[:4000])
    generate(f'{folder}/cuda', good)
    result = run('g++', '-std=c++17', '-fsyntax-only', '-w', '-Itests/simt', '-Iruntime', '-include',
                 f'{folder}/cuda/out/forward.h', '-x', 'c++', *sources(f'{folder}/cuda', '.cu'))
    ok(result.returncode == 0, 'and their kernels', result.stdout[:4000])
    for first, second, symbol in ((('a', 'b_product'), ('a_b', 'k'), 'a_b_product'),
                                  (('a', 'x'), ('a_x', 'workspace'), 'a_x_workspace'),
                                  (('a', 'b_DIM_X'), ('a_b', 'k'), 'a_b_DIM_X'),
                                  (('a', 'b_c'), ('a_b', 'c'), 'a_b_c')):
        for pair in (first, second), (second, first):
            out = f'{folder}/bad'
            result = generate(out, {name: one(kernel_name) for name, kernel_name in pair})
            ok(result.returncode == 1 and not os.path.exists(f'{out}/out') and
               f'{pair[1][0]}.yaml: error: it defines {symbol}, and so does {out}/specs/{pair[0][0]}.yaml'
               in result.stdout, f'{pair}: {symbol}', result.stdout)


with tempfile.TemporaryDirectory() as top:
    for test in test_roles, test_words, test_products, test_symbols:
        test(f'{top}/{test.__name__}')
done()
