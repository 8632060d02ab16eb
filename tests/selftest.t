#!/usr/bin/env python3
"""--emit=selftest: the program passes on right kernels of all kinds, with both compilers, fails on others."""
import os
import re
import resource
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen')
WARNINGS = '-std=c11 -Wall -Wextra -Wpedantic -Werror'.split()
GENERATED, LIBRARY = '-O0', '-O2'  # how products are compiled (golden_optimized.t optimises), and runtime/
if BUILD.endswith('/san'):
    WARNINGS += '-g -fsanitize=address,undefined -fno-sanitize-recover=all'.split()

# Every mode, with and without weights, several paths into one segment, one of weight zero, odd dimensions.
MODES = """
irreps:
  x: 5x1o + 3x0e + 4x2e
  y: 5x1o + 2x1e + 4x0e
  z: 5x1e + 5x0e + 10x2e + 2x0o + 4x2e + 6x2e + 3x1e + 3x1o + 8x2e
instructions:
  - [0, 0, 0, uuu]
  - [0, 0, 1, uuw, true, 2.0]
  - [0, 0, 2, uvu<v]
  - [0, 1, 3, uvv]
  - [2, 2, 4, uvu]
  - [2, 2, 4, uuu, false]
  - [0, 0, 5, uvw, true, 0.25]
  - [1, 1, 6, uvu]
  - [1, 1, 6, uvu, false]
  - [1, 0, 7, uvu, true, 0]
  - [2, 1, 8, uvuv]
  - [0, 0, 1, u<vw]
  - [2, 2, 4, uvv, false]
"""
ALL = 'kernels: [forward, backward, double_backward, triple_backward, jvp]\n'
LAYER = """
irreps: {x: 8x0e + 8x1o, y: 0e + 1o + 2e, z: 0e + 1o + 2e}
instructions: channelwise
"""
CONVOLUTION = LAYER + 'index: {x: sender, y: item, w: item, z: receiver}\n'
CASES = {
    'modes': MODES + ALL,
    'modes_float64': MODES + 'precision: float64\n' + ALL,
    'shared': MODES + 'index: {x: item, y: item, w: shared, z: item}\naccumulate: compensated\n',
    'graph': CONVOLUTION + ALL,
    'wide_graph': CONVOLUTION + 'index_type: int64\naccumulate: compensated\nprecision: float64\n',
    'allegro': LAYER + 'index: {x: item, y: sender, w: shared, z: item}\nedges: any\nreduction: atomic\n',
    'scattered': LAYER + 'index: {x: receiver, y: shared, w: sender, z: sender}\n'
                         'kernels: [forward, backward]\n',
    'layouts': MODES + 'layout: {x: ir_mul, z: ir_mul}\nkernels: [forward, backward, double_backward]\n',
    'layout_y': MODES + 'layout: {y: ir_mul}\nprecision: float64\nkernels: [forward, backward, double_backward]\n',
    'layout_graph': CONVOLUTION + 'layout: ir_mul\n',
    'own_kernels': CONVOLUTION + """kernels:
  - {name: forces, of: backward, outputs: [gy]}
  - {name: mixed, arguments: {by: d y, v: w, cw: d w, p: x},
     outputs: {q: [Q_g(x, by, v), Q_g(p, y, cw), Q_g(p, y, w)], inputs: [Q_w(x, y, gz), Q_w(p, by, gz)],
               rx: [Q_x(y, v, gz)]}}
""",
    'unweighted': """
irreps: {x: 3x0e + 3x1o, y: 3x0e + 3x1o, z: 0e}
instructions: elementwise
kernels: [forward, backward, double_backward]
""",
    'wide': """
irreps: {x: 65536x0e + 65536x1o, y: 0e + 1o, z: 0e + 1o}
instructions: channelwise
index: {x: sender, z: receiver}
kernels: [forward]
""",
    'no_paths': """
irreps: {x: 3x0e, y: 0e, z: 3x0e + 2x1o}
instructions: []
kernels: [forward]
""",
}


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


class Product:
    def __init__(self, name, text, backend='c'):
        self.name, self.folder = name, f'{BUILD}/selftest/{name}'
        self.compiled = {}  # object: the text that it was made of
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        spec = f'{self.folder}/{name}.yaml'
        with open(spec, 'w') as f:
            f.write(f'cgtp: 1\nname: {name}\n{text.lstrip()}')
        self.options = ['-Wno-all', '--emit=header,source,selftest', '-o', self.folder, spec]
        self.log = run(GENERATOR, f'--backend={backend}', *self.options)
        self.files = run(GENERATOR, f'--backend={backend}', '--list', *self.options).stdout.split()

    def path(self, file):
        return f'{self.folder}/{self.name}{file}'

    def build(self, compiler):
        """The program's name, or None after complaining."""
        program = f'{self.folder}/selftest-{compiler}'
        objects = [runtime(compiler, 'cgtp_selftest'), runtime(compiler, 'cgtp')]
        sources = [source for source in self.files if source.endswith('.c')]
        logs = self.together(sources) if compiler == 'clang' else \
            [self.compile(compiler, source, f'{source}.{compiler}.o') for source in sources]
        objects += [f'{source[:-2]}.o' if compiler == 'clang' else f'{source}.{compiler}.o' for source in sources]
        linked = run(compiler, *WARNINGS, '-o', program, *objects, '-lm')
        return program if ok(linked.returncode == 0 and not any(logs), f'{self.name}: {compiler} builds it', *logs,
                             linked.stdout) else None

    def together(self, sources):
        """What clang, which starts once, says of all."""
        return [run('tests/compile.sh', 'clang', *WARNINGS, GENERATED, '-Iruntime', f'-I{self.folder}', '--', *sources).stdout]

    def compile(self, compiler, source, target):
        """What the compiler says; nothing is done where the text is that of the object that is there."""
        with open(source) as f:
            text = f.read()
        if self.compiled.get(target) == text:
            return ''
        log = run(compiler, *WARNINGS, GENERATED, '-Iruntime', f'-I{self.folder}', '-c', '-o', target, source)
        self.compiled[target] = text if log.returncode == 0 else None
        return log.stdout


def runtime(compiler, name, _done={}):
    """The object of a source of runtime/, compiled once."""
    target = f'{BUILD}/selftest/{name}-{compiler}.o'
    if target not in _done:
        _done[target] = run(compiler, *WARNINGS, LIBRARY, '-Iruntime', '-c', '-o', target, f'runtime/{name}.c')
        equal(_done[target].stdout, '', f'{compiler} compiles runtime/{name}.c')
    return target


def tests_of(output):
    return re.findall(r'^(ok|not ok) \d+ - (.*)$', output, re.M)


def little_memory():
    """Some hundred bytes for each element of an item of the product `wide`, of its arrays and of all else."""
    resource.setrlimit(resource.RLIMIT_AS, (256 << 20,) * 2)


def check_passes(product, program, note=''):
    """Runs a self-test that must pass; returns what it tested."""
    limited = product.name == 'wide' and not BUILD.endswith('/san')
    result = run(program, preexec_fn=little_memory if limited else None)
    tests = tests_of(result.stdout)
    plan = re.match(r'1\.\.(\d+)$', result.stdout.split('\n')[0])
    passed = (result.returncode == 0 and plan and len(tests) == int(plan.group(1)) and
              all(verdict == 'ok' for verdict, _ in tests))
    ok(passed, f'{product.name}{note}: passes its {len(tests)} tests', f'exit status {result.returncode}',
       result.stdout)
    return [name.split(':')[0] for _, name in tests]


def check_fails(product, program, note, wanted):
    """Runs a self-test that must fail, saying `wanted`."""
    result = run(program)
    failed = [name for verdict, name in tests_of(result.stdout) if verdict == 'not ok']
    ok(result.returncode == 1 and any(re.match(wanted, name) for name in failed),
       f'{product.name}, {note}: fails', f'exit status {result.returncode}; failed: {failed}',
       f'wanted: {wanted}')


def rewrite(path, pattern, replacement, which=0):
    """One match of the pattern in a file is replaced; the text that it was."""
    with open(path) as f:
        text = f.read()
    match = list(re.finditer(pattern, text, re.M))[which]
    with open(path, 'w') as f:
        f.write(text[:match.start()] + match.expand(replacement) + text[match.end():])
    return text


def restore(path, text):
    with open(path, 'w') as f:
        f.write(text)


os.makedirs(f'{BUILD}/selftest', exist_ok=True)
compilers = [name for name in ('gcc', 'clang') if shutil.which(name)]
products = {name: Product(name, text) for name, text in CASES.items()}
for name, product in products.items():
    equal((product.log.returncode, product.log.stdout), (0, ''), f'{name}: is generated')
    for compiler in compilers:
        program = product.build(compiler)
        tested = check_passes(product, program) if program else []
        if name == 'modes':
            alone = [f'{kernel}, path {p} alone' for p in range(13)
                     for kernel in ('forward', 'backward', 'double_backward', 'triple_backward', 'jvp')]
            equal(sorted(set(alone) - set(tested)), [],
                  f'{name}: {compiler}: every instruction of every kernel is tested')
        if name == 'wide':
            equal([t for t in tested if re.match(r'forward, \d\d* edges', t)],
                  ['forward, 0 edges, 0 senders, 0 receivers', 'forward, 0 edges, 3 senders, 2 receivers',
                   'forward, 1 edges, 1 senders, 1 receivers', 'forward, 3 edges, 2 senders, 2 receivers'],
                  f'{name}: {compiler}: on few edges, for these have a million elements')
        if name == 'own_kernels':
            equal([t for t in tested if t.startswith('mixed, 33 ')],
                  ['mixed, 33 edges, 6 senders, 11 receivers'],
                  f'{name}: {compiler}: and the kernel that the spec spells out')
for compiler in ('gcc', 'clang'):
    if compiler not in compilers:
        skip(compiler, f'no {compiler}')

# Wrong kernels. A constant's sign is that of one or two of the entries of C that it is a factor of.
graph = products['graph']
for kernel, which in (('forward', 0), ('forward', 1), ('backward', 2), ('double_backward', 0)):
    file = graph.path(f'_{kernel}.c')
    text = rewrite(file, r'\b(const real K\w+ = )(0x)', r'\1-\2', which)
    program = graph.build(compilers[0])
    restore(file, text)
    if program:
        check_fails(graph, program, f'the sign of constant {which} of {kernel} flipped',
                    rf'{kernel}, path \d+ alone')
file = graph.path('_forward.c')
text = rewrite(file, r'^( +)(z_\[[^]]*\]) (\+=|= \2 \+) ', r'\1\2 = ')
program = graph.build(compilers[0])
restore(file, text)
if program:
    check_fails(graph, program, 'a sum overwritten', r'forward, 33 edges')

# Wrong tables: the file is not believed more than the kernels are.
file = graph.path('_selftest.c')
text = rewrite(file, r'(\{0, 1, 1, )(0x)', r'\1-\2')
program = graph.build(compilers[0])
restore(file, text)
if program:
    check_fails(graph, program, "the sign of a tensor's entry flipped", r'forward, path \d+ alone')
text = rewrite(file, r'(\{0, 1, 1, 0x1\.)[0-9a-f]+', r'\g<1>f')
program = graph.build(compilers[0])
restore(file, text)
if program:
    check_fails(graph, program, "a tensor's entry changed", r'\d+ Clebsch-Gordan tensors are orthogonal')
text = rewrite(file, r'(\.digest = )\w+', r'\g<1>"0123456789abcdef"')
program = graph.build(compilers[0])
restore(file, text)
if program:
    result = run(program)
    ok(result.returncode == 2 and 'Bail out!' in result.stdout, 'graph, kernels of another spec: gives up',
       result.stdout)

# Rows in another layout than the file says, which the descriptor does not tell.
layouts = products['layouts']
texts = [rewrite(layouts.path(file), r'\.layout = \{CGTP_IR_MUL', '.layout = {CGTP_MUL_IR')
         for file in ('.c', '_selftest.c')]
program = layouts.build(compilers[0])
for file, text in zip(('.c', '_selftest.c'), texts):
    restore(layouts.path(file), text)
if program:
    check_fails(layouts, program, 'x in layout ir_mul where mul_ir is expected', r'forward, path \d+ alone')

# CUDA, on the CPU: device memory through the shim.
equal(run(GENERATOR, '--list', '--backend=cuda', *graph.options).stdout.split()[-1],
      graph.path('_selftest.c'), 'the self-test of CUDA kernels is C too')
cuda = Product('cuda', CONVOLUTION.replace('8x', '32x') + 'layout: {x: ir_mul}\nkernels: [forward, backward]\n', 'cuda')
with open(graph.path('_selftest.c')) as c, open(cuda.path('_selftest.c')) as d:
    equal(*[re.search(r'static const cgtp_selftest_entry.*?\n\n', f.read(), re.S).group() for f in (c, d)],
          'with the same tables')
if shutil.which('g++'):
    program = f'{cuda.folder}/selftest'
    sources = [file for file in cuda.files if not file.endswith('.h')]
    built = run('tests/simt/build.sh', program, *sources, 'runtime/cgtp_selftest.c', 'runtime/cgtp.c',
                env=dict(os.environ, CXX='g++', BUILD=BUILD,
                         SIMT_FLAGS='-DCGTP_SELFTEST_CUDA -Itests/selftest'))
    if ok(built.returncode == 0, 'cuda: builds on the shim', built.stdout):
        check_passes(cuda, program, ', on the shim')
else:
    skip('cuda: builds on the shim', 'no g++')
done()
