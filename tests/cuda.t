#!/usr/bin/env python3
"""The plan for a GPU gives each path the right evaluation; generated CUDA compiles for all architectures without
a warning, does not spill, and is what its plan says.

Needs nvcc (NVCC=..), no GPU; without nvcc only the choice is checked. Each architecture is planned for as such.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
import stored  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen')
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
FLAGS = ['-std=c++17', '-O3', '-Xcompiler=-Wall,-Wextra', '-Xptxas=-v', '-Iruntime']
OBJECT, CODE = '-c', '-cubin'  # CODE: without the half that runs on the host
JOBS = 2
KERNELS = ('forward', 'backward', 'double_backward')
# On one architecture products of all evaluations, on the others what shows that theirs is known: small products.
PRODUCTS = {'sm_80': ['nequip_water', 'batch_128', 'gemm_tied_f64'],  # whose tensor cores have other products in float64
            'sm_90': ['mace_large', 'conv_mixed', 'batch_mixed', 'diffdock_l1', 'tiled_wide', 'gemm_pairs', 'nodal_pairs',
                      'lanes_columns', 'paired_pairs'],
            'sm_86': ['nequip_water', 'batch_128', 'staged_graph'], 'sm_89': ['conv_64', 'batch_128_bf16'],
            'sm_100': ['conv_64_bf16', 'batch_128'], 'sm_120': ['conv_64', 'batch_128_bf16']}
SUFFIXES = {'f64': 'float64', 'bf16': 'bfloat16'}  # of products in other precisions than their specs'
HOSTED = ('sm_86', 'sm_90')  # where the host's half is compiled too, of each product once
DETAILED = ('sm_90', 'mace_large')  # whose registers and shared memory are compared with the plan
MIXED = 'tests/simt/specs/conv_mixed.yaml'  # paths for the convolution and others
LEFT = {'7': 'not uvu', '9': 'not uvu', '10': 'not uvu'}
# What sends all paths of a product to evaluations for any path: a change of that spec, and the reason given.
WHOLE = [
    ('index: .*', 'index: {w: item, z: receiver}', 'not a convolution (x sender, y item, z receiver)'),
    ('w: item', 'w: shared', 'weights not of the edge'),
]
BATCH = 'tests/simt/specs/batch_mixed.yaml'  # the same without a graph
BATCH_LEFT = {'7': 'not uvu with one channel of y', '10': 'not uvu with one channel of y'}
BATCH_WHOLE = [
    ('kernels: ', 'index: {y: shared}\nkernels: ', 'not a batch (x, y and z of the item)'),
    ('kernels: ', 'index: {w: sender}\nkernels: ', 'weights of nodes'),
    (r'\b(32|64|96)x', '6x', 'channels for less than a quarter of a warp'),
    ('(?s).+', lambda text: re.sub(r'\b(32|64|96)x', '8x', text[0]).replace('kernels: ', 'index: {w: shared}\nkernels: '),
     'channels for less than half of a warp'),
    ('y: .*', 'y: 2x0e + 2x1o + 2x2e + 2x1o', 'no path for it'),
]
STAGED = 'tests/simt/specs/staged_mixed.yaml'  # weights that connect channels, and other paths
STAGED_NEVER = [
    ('38x0e', '38383x0e', 'rows larger than shared memory'),
    ('kernels: ', 'index: {x: sender, z: receiver}\naccumulate: compensated\nkernels: ', 'no way to sum as the spec asks'),
]
TILED = 'tests/simt/specs/tiled_wide.yaml'  # few weights that all items share
TILED_NEVER = [
    ('index: .*', 'index: {x: sender, w: shared}', 'rows of nodes'),
    ('index: .*', 'index: {y: shared, w: shared}', 'shared rows that are no weights'),
    ('index: .*', 'index: {w: shared}\naccumulate: compensated', 'no way to sum as the spec asks'),
    ('16x0e', '1616x0e', 'rows of a tile larger than shared memory'),
    ('6x0e, y', '120x0e, y', 'rows of a tile larger than shared memory'),
]
GEMM = 'tests/simt/specs/gemm_wide.yaml'  # many weights that all items share
GEMM_LARGE = 'tests/simt/specs/gemm_large.yaml'
GEMM_NEVER = [
    ('index: .*', 'index: {x: sender, w: shared}', 'rows of nodes'),
    ('index: .*', 'index: {}', 'weights not of all items'),
    ('index: .*', 'index: {y: shared, w: shared}', 'shared rows that are no weights'),
    ('index: .*', 'index: {w: shared}\naccumulate: compensated', 'no way to sum as the spec asks'),
    ('40x0e', '4040x0e', 'rows of a tile larger than shared memory'),
]
NODAL = 'tests/simt/specs/nodal_pairs.yaml'
NODAL_NEVER = [
    ('y: sender', 'y: item', 'y is no row of a node'),
    ('z: item', 'z: receiver', 'rows of x or z that are not the item\'s own'),
    ('w: shared', 'w: item', 'weights not of all items'),
    (r'\b16x', '12x', 'channels that are no multiple of 8'),
    (r'16x2e', '16x2e + 8x3e', 'segments of several numbers of channels'),
    ('16x2o', '16x2o + 16x5o + 16x5e', 'more than 32 components of x or z'),
    ('index: ', 'accumulate: compensated\nindex: ', 'no way to sum as the spec asks'),
]
LANES = 'tests/simt/specs/lanes_columns.yaml'
LANES_NEVER = [
    ('y: sender', 'y: item', 'y is no row of a node'),
    ('z: item', 'z: receiver', 'rows of x or z that are not the item\'s own'),
    (r'  - \[1, 3, 5, uuu\]\n', '', 'cells that are not alike by parity'),
    (r'\[0, 0, 0, uuu\]', '[0, 0, 0, uuu, false]', 'cells that are not alike by parity'),
    (r'\b16x', '24x', 'channels that do not fill warps'),
    (r'\b16x', '8x', 'channels that do not fill warps'),
    # of one parity, 9 by 25 numbers of a lane
    (r'(?s)irreps.*index', 'irreps: {x: 32x4e, y: 32x4e, z: 32x0e + 32x1e + 32x2e + 32x3e + 32x4e}\ninstructions:\n'
     '  [[0, 0, 0, uuu], [0, 0, 1, uuu], [0, 0, 2, uuu], [0, 0, 3, uuu], [0, 0, 4, uuu]]\nindex',
     'rows larger than shared memory, or matrices than registers'),
    ('index: ', 'accumulate: compensated\nindex: ', 'no way to sum as the spec asks'),
]
PAIRED = 'tests/simt/specs/paired_pairs.yaml'
PAIRED_NEVER = [
    ('x: item', 'x: shared', 'sums of x, y or z over all items'),
    (r'\[0, 0, 0, uuu\]', '[0, 0, 0, uvw]', 'sums over all items of paths that are not tied'),
    (r'\b12x', '4096x', 'rows larger than shared memory'),
    ('kernels: ', 'accumulate: compensated\nkernels: ', 'no way to sum as the spec asks'),
    ('uuu', 'uvw', 'no path for it'),
]
SHARED_BYTES = 228 << 10  # of a multiprocessor of sm_90; each block takes 1 KiB more than it asks for
# Layers whose convolutions need almost all registers, or the most path sets that compile in seconds, and which of
# their kernels are compiled (a kernel of benzene takes nvcc 14 to 21 s); with TEST_ALL all of all layers. And those
# that are also tried with gradients of x by reductions. Of nequip_lips, and of mace_large's batch in float32, sass.t compiles the
# same kernels: they spill no more than nothing there, and take the registers predicted.
TIGHT = {'flashtp_table5_lmax3': ('forward', 'backward'), 'mace_mp_large_layer2': KERNELS, 'nequip_revmd17_benzene': ('backward',)}
ATOMIC = ('flashtp_table5_lmax3', 'mace_large')
# Segments of x that differ in parity alone make path sets that do, in gradients (forward sums by z): what leaves one of
# each pair, or those of large l; the first is compiled of which every path set that is left out is smaller than another
# in every respect (with TEST_ALL everything is).
ALIKE = {'flashtp_table5_lmax3': [(rf'^ *- \[[{some}],.*\n', '') for some in ('01237', '567', '0127')],
         'nequip_revmd17_benzene': [('^  x: .*', '  x: 64x0o + 64x0e + 64x1o + 64x2o + 64x3o')]}
BATCHES = ('mace_large',)  # layers that are also compiled as batches, with TEST_ALL in both precisions
# Predicted registers, less those that ptxas takes: at most, of a kernel, and in the mean of all. Measured were 7 in the
# mean and 27 at most, of 62 kernels of specs/.
MOST_OFF, MEAN_OFF = 36, 10


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def plan_of(text):
    """The kernels of a spec, as planned."""
    report = subprocess.run([GENERATOR, '--backend=cuda', '-Wno-all', '--print=json', '-'],
                            input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not ok(report.returncode == 0, 'the spec is planned', report.stdout):
        return []
    return json.loads(report.stdout)['kernels']


def check_choice():
    """Each path has the evaluation that can compute it, and the plan says which and why."""
    with open(MIXED) as f:
        text = f.read()
    general = [int(path) for path in LEFT]
    convolved = [path for path in range(12) if path not in general]
    for kernel in plan_of(text):
        name, schedules = kernel['name'], kernel['schedules']
        first = [one for one in schedules if one['evaluation'] == 'convolution']
        rest = [one for one in schedules if one['evaluation'] == 'general']
        ok(first and rest, f'conv_mixed {name}: both evaluations', schedules)
        for one in first:
            equal(one['paths'], convolved, f'conv_mixed {name}: the convolution has the paths that it can compute')
            equal(sorted(path for path_set in one['path_sets'] for path in path_set['paths']), convolved,
                  f'conv_mixed {name}: each of them in a path set')
        for one in rest:
            equal((one['adds'], one['paths']), (True, general),
                  f'conv_mixed {name}: the general evaluation adds the others')
            ok(any(set(one['outputs']) <= set(before['outputs']) for before in schedules[:schedules.index(one)]),
               f'conv_mixed {name}: a convolution before has written {", ".join(one["outputs"])}')
        said = [verdict for verdict in kernel['verdicts'] if verdict['evaluation'] == 'convolution']
        equal([verdict['path_reasons'] for verdict in said], [LEFT] * len(said), f'conv_mixed {name}: it says why')
        equal({verdict['evaluation'] for verdict in kernel['verdicts']},
              {'convolution', 'batch', 'tiled', 'gemm', 'nodal', 'lanes', 'paired', 'staged', 'general'},
              f'conv_mixed {name}: all were asked')
    for pattern, replacement, reason in WHOLE:
        changed = plan_of(re.sub(pattern, replacement, text))
        found = {one['evaluation'] for kernel in changed for one in kernel['schedules']}
        ok(found and found <= {'general', 'staged', 'tiled'}, f'all others: {reason}', found)
        said = {verdict['reason'] for kernel in changed for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'convolution'}
        equal(said, {reason}, f'all others: it says why, {reason}')
    lines = text.splitlines(keepends=True)
    first = lines.index('instructions:\n') + 1
    kept = ''.join(line for number, line in enumerate(lines) if str(number - first) not in LEFT)
    for kernel in plan_of(kept):
        equal([(one['evaluation'], one['paths']) for one in kernel['schedules']],
              [('convolution', list(range(len(convolved))))] * len(kernel['schedules']),
              f'without the others, {kernel["name"]} is the convolution alone')
    with open('tests/simt/specs/conv_sums.yaml') as f:
        text = f.read()
    for kernel in plan_of(text.replace('paths: 3', 'paths: 1')):
        for one in kernel['schedules']:
            equal(sorted(sorted(path_set['paths']) for path_set in one['path_sets']), [[0, 1, 2], [3, 4, 5], [6]],
                  f'conv_sums {kernel["name"]}: paths into one segment of z are computed together')


def check_batch_choice():
    """The same for items without a graph."""
    with open(BATCH) as f:
        text = f.read()
    general = [int(path) for path in BATCH_LEFT]
    for kernel in plan_of(text):
        name = kernel['name']
        equal([(one['evaluation'], one['adds'], one['paths']) for one in kernel['schedules']],
              [('batch', False, [path for path in range(11) if path not in general]), ('general', True, general)],
              f'batch_mixed {name}: the batch, and the general evaluation adds the others')
        said = [verdict for verdict in kernel['verdicts'] if verdict['evaluation'] == 'batch']
        equal([verdict['path_reasons'] for verdict in said], [BATCH_LEFT], f'batch_mixed {name}: it says why')
    for pattern, replacement, reason in BATCH_WHOLE:
        changed = plan_of(re.sub(pattern, replacement, text))
        found = {one['evaluation'] for kernel in changed for one in kernel['schedules']}
        ok(found and found <= {'general', 'staged', 'tiled'}, f'all others: {reason}', found)
        said = {verdict['reason'] for kernel in changed for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'batch'}
        equal(said, {reason}, f'all others: it says why, {reason}')
    with open('tests/simt/specs/batch_widths.yaml') as f:
        said = {verdict['reason'] for kernel in plan_of(f.read() + 'precision: bfloat16\n') for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'batch'}
    equal(said, {'rows of 16 bits that begin at odd numbers'}, 'batch_widths in bfloat16: it says why')
    with open('specs/nequip_revmd17_benzene.yaml') as f:
        text = re.sub('^index: .*', 'index: {}', f.read(), flags=re.M)
    phases = [(kernel['schedules'][0]['phases'] > 1, kernel['schedules'][0]['channels_per_lane']) for kernel in plan_of(text)]
    equal(phases, [(False, 2), (True, 2), (True, 2)],
          'several loops where one is longer than the cache for instructions')
    text = re.sub('  x: .*', '  x: 64x3o', text)
    text = re.sub('  z: .*', '  z: ' + ' + '.join(f'64x{l}{p}' for l in range(9) for p in 'eo'), text)
    phases = [(kernel['schedules'][0]['phases'] > 1, kernel['schedules'][0]['channels_per_lane']) for kernel in plan_of(text)]
    equal(phases[2], (False, 1), 'one channel per lane where segments of x allow one loop only')


def check_staged_choice():
    """Staged items are for all paths, where rows fit and sums are as the spec asks."""
    with open(STAGED) as f:
        text = re.sub('kernels: .*', 'kernels: [double_backward]', f.read())
    for kernel in plan_of(text):
        equal([(one['evaluation'], one['paths'], one['passes_by_columns'] > 0) for one in kernel['schedules']],
              [('staged', list(range(8)), True)], f'staged_mixed {kernel["name"]}: staged items')
    for pattern, replacement, reason in STAGED_NEVER:
        changed = plan_of(re.sub(pattern, replacement, text))
        said = {verdict['reason'] for kernel in changed for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'staged'}
        ok(reason in said, f'no staged items: it says why, {reason}', said)
    for kernel in plan_of(text.replace('38x0e', '3838x0e')):
        equal([(one['evaluation'], one['paths'], one['adds']) for one in kernel['schedules']],
              [('staged', [0, 2, 7], False), ('general', [1, 3, 4, 5, 6], True)],
              f'staged_mixed {kernel["name"]}: rows too long, and paths whose weights do not come in parts')
        ok(kernel['schedules'][0]['parts'] > 1, 'weights come in parts', kernel['schedules'][0])


def check_tiled_choice():
    """Tiled items are for short rows of items and weights of all."""
    with open(TILED) as f:
        text = f.read()
    for kernel in plan_of(text):
        equal([(one['evaluation'], one['paths'], one['pieces']) for one in kernel['schedules']],
              [('tiled', list(range(9)), 4)], f'tiled_wide {kernel["name"]}: tiled items')
    for pattern, replacement, reason in TILED_NEVER:
        changed = plan_of(re.sub(pattern, replacement, text))
        said = {verdict['reason'] for kernel in changed for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'tiled'}
        ok(reason in said, f'no tiled items: it says why, {reason}', said)


def check_gemm_choice():
    """Items by GEMM are for weights of all items that connect many channels; what ties channels is left."""
    with open(GEMM) as f:
        text = f.read()
    for kernel in plan_of(text):
        equal([(one['evaluation'], one['paths']) for one in kernel['schedules']], [('gemm', list(range(8)))],
              f'gemm_wide {kernel["name"]}: items by GEMM')
    for pattern, replacement, reason in GEMM_NEVER:
        changed = plan_of(re.sub(pattern, replacement, text))
        said = {verdict['reason'] for kernel in changed for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'gemm'}
        ok(reason in said, f'no items by GEMM: it says why, {reason}', said)
    changed = re.sub(r'z: ', 'z: 5x1e + ', re.sub(r'y: ', 'y: 50x1e + 40x0e + ', text))
    changed = re.sub(r'(?s)instructions:.*index', 'instructions:\n  - [0, 1, 1, uvw]\n  - [2, 1, 0, uvu]\n  - [0, 1, 1, uuw]\n'
                     '  - [2, 0, 0, uvw]\nindex', changed)
    for kernel in plan_of(changed):
        for verdict in kernel['verdicts']:
            if verdict['evaluation'] == 'gemm':
                equal(verdict['path_reasons'], {'1': 'no weights that connect channels', '3': 'more channels of y than of x'},
                      'other paths are left, with a reason')
    with open(GEMM_LARGE) as f:
        backward = plan_of(f.read())[1]
    equal([one['evaluation'] for one in backward['schedules']], ['gemm', 'general'], 'gemm_large: other paths are added')
    one = backward['schedules'][0]
    equal((one['x_weights_in_shared_memory'], one['sum_sets']), (False, 2),
          'gemm_large: weights are read where they are, and blocks sum them together')



def check_nodal_choice():
    """Matrices of nodes are for channels that are tied, of items and nodes, and say why they are not for others."""
    with open(NODAL) as f:
        text = f.read()
    for kernel in plan_of(text):
        equal([(one['evaluation'], one['paths']) for one in kernel['schedules']], [('nodal', list(range(9)))],
              f'nodal_pairs {kernel["name"]}: matrices of nodes')
    for pattern, replacement, reason in NODAL_NEVER:
        changed = plan_of(re.sub(pattern, replacement, text))
        said = {verdict['reason'] for kernel in changed for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'nodal'}
        ok(reason in said, f'no matrices of nodes: it says why, {reason}', said)


def check_lanes_choice():
    """Matrices in lanes are for cells of which those of each parity of x and z are alike, in whole warps of channels."""
    with open(LANES) as f:
        text = f.read()
    for kernel in plan_of(text):
        equal([(one['evaluation'], one['paths']) for one in kernel['schedules']], [('lanes', list(range(12)))],
              f'lanes_columns {kernel["name"]}: matrices in lanes')
    for pattern, replacement, reason in LANES_NEVER:
        changed = plan_of(re.sub(pattern, replacement, text))
        said = {verdict['reason'] for kernel in changed for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'lanes'}
        ok(reason in said, f'no matrices in lanes: it says why, {reason}', said)


def check_paired_choice():
    """Paired items are for channels that are tied, where rows fit and sums are as the spec asks."""
    with open(PAIRED) as f:
        text = re.sub('kernels: .*', 'kernels: [forward, backward]', f.read())
    for kernel in plan_of(text):
        equal([(one['evaluation'], one['paths']) for one in kernel['schedules']], [('paired', list(range(20)))],
              f'paired_pairs {kernel["name"]}: paired items')
        sets = kernel['schedules'][0]['path_sets']
        equal(sorted(path for one in sets for path in one['paths']), list(range(20)),
              f'paired_pairs {kernel["name"]}: each path in a path set')
    for pattern, replacement, reason in PAIRED_NEVER:
        changed = plan_of(re.sub(pattern, replacement, text))
        said = {verdict['reason'] for kernel in changed for verdict in kernel['verdicts']
                if verdict['evaluation'] == 'paired'}
        ok(reason in said, f'no paired items: it says why, {reason}', said)


def check_slots_apart():
    """Many paths whose weights come in parts are too much code for one kernel of z and of all else."""
    paths = [f'[{x}, {y}, {z}, uvw]' for x, l1 in enumerate((1, 3, 2)) for y, l2 in enumerate((2, 3, 1))
             for z in range(4) if abs(l1 - l2) <= z <= l1 + l2]
    kernel, = plan_of('cgtp: 1\nname: t\nirreps: {x: 62x1e + 33x3e + 32x2e, y: 1x2e + 1x3e + 1x1e, '
                      f'z: 32x0e + 32x1e + 32x2e + 35x3e}}\ninstructions: [{", ".join(paths)}]\n'
                      'precision: float32\nkernels: [double_backward]\n')
    equal([one['outputs'] for one in kernel['schedules']], [['d_gz'], ['d_x', 'd_y', 'd_w']], 'double backward of many paths: z by itself')
    equal([one['name'] for one in kernel['schedules']], ['staged_z', 'staged_items'], 'and under a name of its own')


def spec_of(product):
    """The file of a product's spec; NAME_f64, NAME_bf16: of one that is written, that product in float64, in bfloat16."""
    name, _, suffix = product.rpartition('_')
    if suffix not in SUFFIXES:
        name = product
    path = next(path for path in (f'specs/{name}.yaml', f'tests/simt/specs/{name}.yaml') if os.path.exists(path))
    if name == product:
        return path
    with open(path) as spec:
        text = re.sub('^(precision|kernels|tune):.*\n', '', spec.read(), flags=re.M)
    os.makedirs(f'{BUILD}/cuda', exist_ok=True)
    with open(f'{BUILD}/cuda/{product}.yaml', 'w') as spec:
        spec.write(text.replace(f'name: {name}\n', f'name: {product}\n') +
                   f'precision: {SUFFIXES[suffix]}\nkernels: [{", ".join(KERNELS)}]\n')
    return spec.name


def unit(arch, product):
    """All kernels of a product as one translation unit, where the headers are read once and not for each of them; what
    every file has under the same name, in a namespace of its own, is told apart."""
    stem = f'{BUILD}/cuda/{arch}/{product}'
    with open(f'{stem}_unit.cu', 'w') as f:
        for kernel in KERNELS:
            words = [(word, f'{word}_{KERNELS.index(kernel)}') for word in ('code', 'launch', 'layout', 'refused')]
            f.write(''.join(f'#define {word} {other}\n' for word, other in words) + f'#include "{product}_{kernel}.cu"\n' +
                    ''.join(f'#undef {word}\n' for word, _ in words))
    return f'{stem}_unit'


def nvcc(arch, stem, ending, *more, kept=()):
    """Of STEM.cu: the object, or the device's code alone; `kept`: endings of what more is to be there then."""
    form = OBJECT if ending == 'o' else CODE
    return stored.run([NVCC, *FLAGS, *more, form, f'-arch={arch}', '-o', f'{stem}.{ending}', f'{stem}.cu'], f'{stem}.cu',
                      *(f'{stem}.{one}' for one in (ending, *kept)))


def compile_product(job):
    """What nvcc says of each kernel, of those compiled together the same."""
    arch, product = job
    if arch not in known:
        return {}
    ending = 'o' if arch in HOSTED else 'cubin'
    if job != DETAILED:
        return dict.fromkeys(KERNELS, nvcc(arch, unit(arch, product), ending))
    stems = {kernel: f'{BUILD}/cuda/{arch}/{product}_{kernel}' for kernel in KERNELS}
    return {kernel: nvcc(arch, stem, ending, '--keep', '--keep-dir', os.path.dirname(stem), kept=['ptx'])
            for kernel, stem in stems.items()}


def reported(log):
    """What ptxas says of each kernel (named without its types), and the lines that are not of this report."""
    kernels, other, now = {}, [], None
    for line in log.splitlines():
        name = re.search(r"Compiling entry function '\w+_cu_[0-9a-f]{8}(?:\dcode(?:_\d)?)?\d+([a-z]\w*?)(?:ILi(n?\d+)E)?E+v?NS_", line)
        spill = re.search(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads', line)
        used = re.search(r'Used (\d+) registers', line)
        if name:
            variant = f'{name.group(1)}<{name.group(2)}>' if name.group(2) else name.group(1)
            now = kernels.setdefault(variant, {'shared': 0})
        elif spill and now is not None:
            now['stack'], now['stores'], now['loads'] = map(int, spill.groups())
        elif used and now is not None:
            now['registers'] = int(used.group(1))
            shared = re.search(r'(\d+) bytes smem', line)
            now['shared'] = int(shared.group(1)) if shared else 0
        elif not re.match(r'ptxas info\s*:', line) and line.strip():
            other.append(line)
    return kernels, other


def assemble(kernel, function, registers):
    """Bytes that the kernel's variant for many edges spills when it may use so many registers: the code that was
    compiled, bounded otherwise, is assembled again, for that variant alone."""
    arch, product = DETAILED
    stem = f'{BUILD}/cuda/{arch}/{product}_{kernel}'
    with open(f'{stem}.ptx') as f:
        code = f.read()
    for entry in re.findall(r'^\.entry .*?^\}\n', code, re.M | re.S):
        name = entry[:entry.index('(')]
        bounded = re.sub(r'^\.minnctapersm \d+$', f'.maxnreg {registers}', entry, flags=re.M)
        code = code.replace(entry, bounded if f'{function}ILi0E' in name else '')
    with open(f'{stem}_{registers}.ptx', 'w') as f:
        f.write(code)
    ptxas = os.path.join(os.path.dirname(os.path.realpath(shutil.which(NVCC))), 'ptxas')
    stem = f'{stem}_{registers}'
    log = stored.run([ptxas, '-v', f'-arch={arch}', '-o', f'{stem}.cubin', f'{stem}.ptx'], f'{stem}.ptx', f'{stem}.cubin').stdout
    return reported(log)[0][f'{function}<0>']['stores']


def registers_of(schedule, key='registers'):
    """The most of any path set of a pipelined kernel."""
    return max(one[key] for one in [schedule] + schedule['path_sets'] if key in one)


def check_registers(kernel, function, least):
    """A kernel takes whatever registers it may; what it needs shows where it may use no more."""
    product, enough = DETAILED[1], (least + 7) // 8 * 8
    few = enough - 40
    enough = min(enough, 255)
    with ThreadPoolExecutor(JOBS) as pool:
        needless, needed = pool.map(lambda most: assemble(kernel, function, most), (enough, few))
    equal(needless, 0, f'{product} {kernel}: {function} spills nothing in {enough} registers; it is to need {least}')
    ok(needed > 0, f'{product} {kernel}: {function} spills in {few} registers')


def check_plan(kernel, plan, log):
    """The schedules of one kernel against the emitted launch and what ptxas reports."""
    arch, product = DETAILED
    kernels, _ = reported(log)
    with open(f'{BUILD}/cuda/{arch}/{product}_{kernel}.cu') as f:
        source = f.read()
    for name, k in kernels.items():
        ok(max(k['stores'], k['loads']) == 0, f'{product} {kernel}: {name} spills nothing',
           f'{k["stores"]} bytes of spill stores, {k["loads"]} of loads, a stack of {k["stack"]}')
    for gpu, nodes in [(gpu, nodes) for gpu in plan['schedules'] for nodes in (0, 1)]:
        function = f'{kernel}_{gpu["name"]}'
        name = f'{function}<{nodes}>'
        if not ok(gpu['evaluation'] == 'convolution' and name in kernels,
                  f'{product} {kernel}: {name} is the pipelined convolution', gpu, sorted(kernels)):
            continue
        used, most = kernels[name]['registers'], gpu['registers_most']
        predicted, least = registers_of(gpu), registers_of(gpu, 'registers_least')
        print(f'# {product} {kernel}, {name}: {used} registers, {predicted} predicted '
              f'({used - predicted:+d}), {most} allowed; a stack of {kernels[name]["stack"]} bytes')
        if nodes == 0:
            check_registers(kernel, function, least)
        ok(least <= most, f'{product} {kernel}: {name} is planned to fit its registers', least, most)
        ok(used <= most, f'{product} {kernel}: {name} uses at most those of its occupancy', used, most)
        threads, blocks = gpu['warps_per_block'] * 32, gpu['blocks_per_multiprocessor']
        bounds = re.search(rf'CGTP_KERNEL\((\d+), (\d+)\) {function}\(', source)
        equal(bounds and bounds.groups(), (str(threads), str(blocks)),
              f'{product} {kernel}: {name}, launch bounds')
        launch = re.search(rf'cgtp_launch_early\((?:partition\.teams\s+\?\s+code::{function}<CGTP_TEAMS>\s+:\s+)?few\s+\?\s+'
                           rf'code::{function}<[^;]*?,\s+(\d+),\s+sizeof\(code::{function}_block\),\s+stream,', source, re.S)
        size = re.search(rf'sizeof\({function}_block\) == (\d+)', source)
        static, dynamic = kernels[name]['shared'], gpu['shared_bytes_per_block']
        equal((launch and launch.group(1), size and size.group(1)), (str(threads), str(dynamic)),
              f'{product} {kernel}: {name}, launch')
        together = (dynamic + static + 1024) * blocks
        print(f'# {product} {kernel}, {name}: {static} bytes of shared memory beside the {dynamic} planned; '
              f'{together} of {SHARED_BYTES} in use')
        ok(together <= SHARED_BYTES, f'{product} {kernel}: {name}, its blocks fit a multiprocessor', together)


def check_spills(arch):
    """No path set of a convolution and no batch needs more registers than there are; and all take about as many as
    are predicted."""
    layers = sorted(os.path.basename(spec)[:-5] for spec in glob.glob('specs/*.yaml'))
    jobs = []
    every = os.environ.get('TEST_ALL')
    for layer in layers if every else TIGHT:
        jobs += [(layer, '', kernel) for kernel in (KERNELS if every else TIGHT[layer])]
    jobs += [(layer, 'reduction: atomic\n', kernel) for layer in ATOMIC for kernel in KERNELS[1:]]
    jobs += [(layer, f'index: {{}}\nprecision: {precision}\n', kernel) for layer in BATCHES for kernel in KERNELS
             for precision in (('float32', 'float64') if every else ('float64',))]

    def generator(text, *how):
        return subprocess.run([GENERATOR, '--backend=cuda', f'--arch={arch}', '-Wno-all', *how, '-'], input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def schedules_of(text):
        return json.loads(generator(text, '--print=json').stdout)['kernels'][0]['schedules']

    def path_sets(text):
        """What is planned for each path set, its paths counted; but stages, of which smaller ones have more."""
        return [{key: len(value) if key == 'paths' else value for key, value in path_set.items() if key != 'stages'}
                for one in schedules_of(text) for path_set in one['path_sets']]

    def covers(text, whole):
        """Is each path set of the whole there, or one that is larger in every respect?"""
        there = path_sets(text)
        return all(any(all(more[key] >= less[key] for key in less) for more in there) for less in path_sets(whole))

    def compiled(job):
        layer, more, kernel = job
        folder = f'{BUILD}/cuda/{arch}/{layer}_{kernel}_' + re.sub(r'\W+', '_', more)
        keys = '|'.join(re.findall(r'^(\w+):', more, re.M) + ['kernels'])
        with open(f'specs/{layer}.yaml') as spec:
            text = re.sub(f'^({keys}):.*\n', '', spec.read(), flags=re.M) + f'{more}kernels: [{kernel}]\n'
        less = (re.sub(*change, text, flags=re.M) for change in ALIKE.get(layer, ()) if not every)
        text = next((one for one in less if covers(one, text)), text)
        written = generator(text, '-o', folder)
        if written.returncode:
            return written, {}
        predicted = {f'{kernel}_{one["name"]}': registers_of(one) for one in schedules_of(text)
                     if 'registers_most' in one}
        stem = f'{folder}/{layer}_{kernel}'
        return nvcc(arch, stem, 'cubin'), predicted

    off = {}
    with ThreadPoolExecutor(JOBS) as pool:
        for (layer, more, kernel), (result, predicted) in zip(jobs, pool.map(compiled, jobs)):
            kernels = {name: k for name, k in reported(result.stdout)[0].items()
                       if '_convolution<' in name or name.endswith('_batch')}
            spills = {name: k for name, k in kernels.items() if k['stack'] or k['stores'] or k['loads']}
            some = kernels or (every and layer not in (*TIGHT, *ATOMIC))
            ok(result.returncode == 0 and some and not spills,
               f'{layer} {kernel}, {" ".join(more.split())}: {len(kernels)} variants of a pipelined kernel spill '
               'nothing', result.stdout if result.returncode or not some else spills)
            for name, k in kernels.items():
                if not re.search('<n?[1-9]>$', name):
                    function = name.replace('<0>', '')
                    off[' '.join([layer, *more.split(), function])] = predicted[function] - k['registers']
    for name, registers in off.items():
        print(f'# {name}: {registers:+d} registers predicted beyond those taken')
    ok(off and all(abs(registers) <= MOST_OFF for registers in off.values()),
       f'{len(off)} kernels take the registers predicted, but for {MOST_OFF}', off)
    mean = sum(map(abs, off.values())) / max(len(off), 1)
    ok(mean <= MEAN_OFF, f'and in the mean but for {MEAN_OFF}', mean)


def build_selftest(arch, product):
    """The self-test of one product with the memory of a device; it needs one to run."""
    folder = f'{BUILD}/cuda/{arch}'
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which(NVCC))))
    written = run(GENERATOR, '--backend=cuda', f'--arch={arch}', '--emit=selftest', '-o', folder,
                  f'specs/{product}.yaml')
    equal((written.returncode, written.stdout), (0, ''), f'{product}: a self-test is written')
    objects = [f'{folder}/{product}_unit.o']
    for source in (f'{folder}/{product}.c', f'{folder}/{product}_selftest.c', 'runtime/cgtp_selftest.c',
                   'runtime/cgtp.c'):
        objects.append(f'{folder}/{os.path.basename(source)}.o')
        built = run(os.environ.get('CC', 'gcc'), '-std=c11', '-Wall', '-Wextra',
                    '-DCGTP_SELFTEST_CUDA', '-Iruntime', f'-I{folder}', '-isystem', f'{toolkit}/include', '-c',
                    '-o', objects[-1], source)
        equal((built.returncode, built.stdout), (0, ''), f'{os.path.basename(source)} compiles with CUDA')
    linked = run(NVCC, f'-arch={arch}', '-o', f'{folder}/selftest', *objects, '-lm')
    equal((linked.returncode, linked.stdout), (0, ''), f'{product}: its self-test links')


check_choice()
check_batch_choice()
check_staged_choice()
check_tiled_choice()
check_gemm_choice()
check_nodal_choice()
check_lanes_choice()
check_paired_choice()
check_slots_apart()
products = [(arch, product) for arch, some in PRODUCTS.items() for product in some]
jobs = [(*product, kernel) for product in products for kernel in KERNELS]
if not shutil.which(NVCC):
    for job in jobs:
        skip('{1} {2} for {0}'.format(*job), 'no nvcc')
    skip('registers and shared memory', 'no nvcc')
    skip('pipelined kernels spill nothing', 'no nvcc')
    skip('a self-test builds', 'no nvcc')
    done()
planned = []
for product in PRODUCTS[DETAILED[0]]:
    with open(spec_of(product)) as spec:
        planned += plan_of(spec.read())
equal({one['evaluation'] for kernel in planned for one in kernel['schedules']},
      {verdict['evaluation'] for kernel in planned for verdict in kernel['verdicts']}, f'all evaluations are compiled for {DETAILED[0]}')
known = set(run(NVCC, '--list-gpu-arch').stdout.replace('compute_', 'sm_').split())
for arch, some in PRODUCTS.items():
    written = run(GENERATOR, '--backend=cuda', '-Wno-all', f'--arch={arch}', '-o', f'{BUILD}/cuda/{arch}', *map(spec_of, some))
    if written.returncode or written.stdout:
        ok(False, f'{arch}: is generated', written.stdout)
        sys.exit(1)
with ThreadPoolExecutor(JOBS) as pool:
    results = {(*product, kernel): result for product, compiled in zip(products, pool.map(compile_product, products))
               for kernel, result in compiled.items()}
for job in jobs:
    name = '{1} {2} compiles for {0}'.format(*job)
    if job in results:
        kernels, other = reported(results[job].stdout)
        ok(results[job].returncode == 0 and not other and any(kernel.startswith(f'{job[2]}_') for kernel in kernels), name, *other)
    else:
        skip(name, 'nvcc does not know it')
static = [k['shared'] for result in results.values() for k in reported(result.stdout)[0].values()]
with open('runtime/cgtp_cuda.h') as f:
    left = int(re.search(r'shared > 48 \* 1024 - (\d+)\)', f.read()).group(1))
ok(not static or 0 < max(static) <= left,
   f'{len(static)} kernels have at most the {left} bytes of their own that a launch leaves of 48 KiB', max(static, default=0))
arch, product = DETAILED
report = json.loads(run(GENERATOR, '--backend=cuda', f'--arch={arch}', '--print=json',
                        f'specs/{product}.yaml').stdout)
equal([kernel['name'] for kernel in report['kernels']], list(KERNELS), f'{product}: its kernels are planned')
for kernel in report['kernels']:
    result = results.get((arch, product, kernel['name']))
    if result:
        check_plan(kernel['name'], kernel, result.stdout)
    else:
        skip(f'{product} {kernel["name"]}: registers and shared memory', f'nvcc does not know {arch}')
if DETAILED[0] in known:
    check_spills(DETAILED[0])
else:
    skip('pipelined kernels spill nothing', f'nvcc does not know {DETAILED[0]}')
if 'sm_86' in known:
    build_selftest('sm_86', 'nequip_water')
else:
    skip('a self-test builds', 'nvcc does not know sm_86')
done()
