#!/usr/bin/env python3
"""Knobs of the planner (key tune) change plan and kernels as asked, for their own architecture alone."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, has_terminals, ok, skip  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
SPEC = """cgtp: 1
name: tuned
irreps: {x: 128x0e + 128x1o, y: 0e + 1o + 2e, z: 128x0e + 128x1o + 128x2e}
instructions: channelwise
"""
CONNECTED = """cgtp: 1
name: tuned
irreps: {x: 40x0e + 8x1o, y: 0e + 1o, z: 32x0e + 8x1o}
instructions: fully_connected
"""
GRAPH = '{x: sender, y: item, w: item, z: receiver}'


class Generated:
    """What becomes of the spec with these knobs: the schedules, and the text of each kernel's file."""

    def __init__(self, knobs='', arch='sm_90', backend='cuda', kernels='[forward, backward]',
                 index=GRAPH, spec=SPEC):
        spec += f'index: {index}\nkernels: {kernels}\n' + (f'tune: {knobs}\n' if knobs else '')
        with tempfile.TemporaryDirectory() as folder:
            options = [GENERATOR, f'--backend={backend}', '--print=json', '-o', folder, '-']
            if backend == 'cuda':
                options.insert(1, f'--arch={arch}')
            run = subprocess.run(options, input=spec, capture_output=True, text=True)
            if run.returncode or run.stderr:
                ok(False, f'{knobs}: is generated', run.stderr)
                sys.exit(1)
            self.report = json.loads(run.stdout)
            self.schedules = [p for kernel in self.report['kernels'] for p in kernel['schedules']]
            self.text = {}
            for kernel in self.report['kernels']:
                with open(f'{folder}/tuned_{kernel["name"]}.{"cu" if backend == "cuda" else "c"}') as f:
                    self.text[kernel['name']] = f.read()

    def planned(self, field):
        return [p[field] for p in self.schedules]

    def path_sets(self, field):
        return [path_set[field] for p in self.schedules for path_set in p['path_sets']]

    def found(self, pattern):
        """What the pattern's group matched in the code of each kernel."""
        return [value for text in self.text.values() for value in re.findall(pattern, text)]

    def code(self):
        """The text without its checksum."""
        return {kernel: re.sub(r'\(text \w+\)', '', text) for kernel, text in self.text.items()}


free = Generated()
equal(set(free.planned('evaluation')), {'convolution'}, 'all passes are the pipelined convolution')
for stages in (2, 3):
    tuned = Generated(f'{{sm_90: {{stages: {stages}}}}}')
    equal(set(tuned.planned('stages')), {stages}, f'stages: {stages} is planned')
    equal(set(tuned.found(r'stage_\d+ ring\[(\d+)\]')), {str(stages)}, f'stages: {stages} is emitted')
    equal(len(tuned.found(r'stage_\d+ ring\[(\d+)\]')), len(tuned.path_sets('paths')),
          f'stages: {stages}: in every path set')
    equal(set(tuned.found(r'\* +stages (\d+), ')), {str(stages)}, f'stages: {stages}: the banner says so')
ok(Generated('{sm_90: {stages: 2}}').code() != Generated('{sm_90: {stages: 3}}').code(),
   'stages change the code')
for channels in (1, 2):
    tuned = Generated(f'{{sm_90: {{channels: {channels}}}}}')
    equal(set(tuned.path_sets('channels_per_lane')), {channels}, f'channels: {channels} is planned')
    equal(set(tuned.path_sets('channel_blocks')), {128 // 32 // channels},
          f'channels: {channels}: so many warps share them')
    equal(set(tuned.found(r'(\d+) channels? per lane')), {str(channels)}, f'channels: {channels} is emitted')
ok(Generated('{sm_90: {channels: 1}}').code() != Generated('{sm_90: {channels: 2}}').code(),
   'channels change the code')
for warps in (8, 16):
    tuned = Generated(f'{{sm_90: {{warps: {warps}, stages: 2}}}}')
    held = [a * b for a, b in zip(tuned.planned('warps_per_block'),
                                  tuned.planned('blocks_per_multiprocessor'))]
    equal(set(held), {warps}, f'warps: {warps} is planned')
    bounds = [(int(a) // 32 * int(b)) for a, b in tuned.found(r'CGTP_KERNEL\((\d+), (\d+)\) \w+_convolution\(')]
    equal(set(bounds), {warps}, f'warps: {warps} is emitted as launch bounds')
tuned = Generated('{sm_90: {paths: 2}}')
ok(max(map(len, tuned.path_sets('paths'))) == 2, 'paths: 2 is planned', tuned.path_sets('paths'))
equal(sorted(path for path_set in tuned.planned('path_sets')[0] for path in path_set['paths']),
      list(range(len(tuned.report['paths']))), 'paths: 2: every path is in one path set')
equal(len(re.findall(r'^/\* Path set \d+: \d+ paths?, ', tuned.text['forward'], re.M)), len(tuned.planned('path_sets')[0]),
      'paths: 2: each path set is emitted')
for passes, planned in ((1, [['d_gz', 'd_x', 'd_y', 'd_w']]), (2, [['d_gz'], ['d_x', 'd_y', 'd_w']])):
    tuned = Generated(f'{{sm_90: {{passes: {passes}}}}}', kernels='[double_backward]')
    equal([sorted(outputs) for outputs in tuned.planned('outputs')], [sorted(outputs) for outputs in planned],
          f'passes: {passes} is planned')
    equal(len(tuned.found(r'cgtp_launch_early\([\w.]+\s*\?\s*code::(\w+)<')), passes, f'passes: {passes}: so many kernels are launched')
for keep in (1, 2):
    tuned = Generated(f'{{sm_90: {{keep: {keep}}}}}', kernels='[double_backward]')
    equal(set(tuned.planned('receivers_in_shared_memory')), {keep == 2}, f'keep: {keep} is planned')
    equal(len(tuned.found(r'(cgtp_keep_segments)<')), (keep - 1) * len(tuned.path_sets('paths')),
          f'keep: {keep}: in every path set')
for parts in (1, 2, 3):
    tuned = Generated(f'{{sm_90: {{parts: {parts}, stages: 3}}}}', index='{}', spec=CONNECTED)
    equal([tuned.planned('parts'), tuned.planned('stages')], [[parts] * 2, [3] * 2], f'parts: {parts} are planned')
    equal(len(tuned.found(r'(auto load\d* = )')), 2 * parts, f'parts: {parts}: the copies of each are emitted')
for phases in (1, 2):
    tuned = Generated(f'{{sm_90: {{phases: {phases}}}}}', kernels='[backward]', index='{}')
    equal(tuned.planned('phases'), [phases], f'phases: {phases} is planned')
    equal(len(tuned.found(r'(for \(int done = 0; done < turns;\))')), phases, f'phases: {phases}: so many loops are emitted')
    equal(tuned.found(r'cgtp_reduce_lanes<9, (\w+)>'), ['CGTP_STORE', 'CGTP_ADD'][:phases],
          f'phases: {phases}: the first stores gradients of y, others add')
for l, most, channels in ((2, 3, 2), (3, 4, 1), (4, 4, 2)):
    long = (f'cgtp: 1\nname: tuned\nirreps: {{x: 128x{l}e, y: ' + ' + '.join(f'1x{i}{"eo"[i % 2]}' for i in range(most + 1)) +
            '}\ninstructions: channelwise\n')
    plan, = Generated(kernels='[backward]', index='{}', spec=long).schedules
    equal((plan['evaluation'], plan['phases'], plan['channels_per_lane']), ('batch', 1, channels),
          f'one segment of x of degree {l}: one channel per lane where that makes the loop short enough, and two do not')
for knob, values, of in (('stages', (2, 3), lambda plan: plan['stages']), ('channels', (1, 2), lambda plan: plan['channels_per_lane']),
                         ('warps', (8, 12, 16), lambda plan: plan['warps_per_block'] * plan['blocks_per_multiprocessor'])):
    for value in values:
        tuned = Generated(f'{{sm_90: {{{knob}: {value}}}}}', kernels='[forward, backward, double_backward]', index='{}')
        equal([(plan['evaluation'], of(plan)) for plan in tuned.schedules], [('batch', value)] * 3,
              f'{knob}: {value} is planned for a batch')
tuned = Generated('{sm_90: {stages: 8, warps: 16}}', kernels='[forward, backward]', index='{}')
equal([(plan['stages'], plan['warps_per_block'] * plan['blocks_per_multiprocessor'] < 16) for plan in tuned.schedules],
      [(8, False), (8, True)], 'as many warps as there is shared memory for so many stages')
for code in (4, 8):
    tuned = Generated(f'{{sm_90: {{code: {code}}}}}', kernels='[backward]')
    longest = max(n for n, paths in zip(tuned.path_sets('instructions_per_edge'), tuned.path_sets('paths')) if len(paths) > 1)
    ok(longest * 16 <= code << 10, f'code: {code}: no loop of several paths is longer', longest)
ok(max(Generated('{sm_90: {code: 8}}').path_sets('instructions_per_edge')) * 16 > 4 << 10, 'code: 8 allows longer ones than 4')
PARITIES = SPEC.replace('128x0e + 128x1o, y: 0e + 1o + 2e, z: 128x0e + 128x1o + 128x2e',
                        '128x1e + 128x1o, y: 1o, z: 128x0o + 128x1o + 128x0e + 128x1e').replace(
    'instructions: channelwise', 'instructions: [[0, 0, 0, uvu], [0, 0, 1, uvu], [1, 0, 2, uvu], [1, 0, 3, uvu]]')
for share in (1, 2):
    tuned = Generated(f'{{sm_90: {{share: {share}, code: 1}}}}', kernels='[forward]', spec=PARITIES)
    sets = tuned.planned('path_sets')[0]
    equal([s.get('loop_of_path_set') for s in sets], [None] * 4 if share == 1 else [0, 0, 2, 2], f'share: {share} is planned')
    equal(len(tuned.found(r'\nCGTP_DEVICE void (forward_convolution_\d+)\(')), 4 // share, f'share: {share}: so many loops are emitted')
for table in (1, 2):
    tuned = Generated(f'{{sm_90: {{table: {table}}}}}')
    equal([(p['evaluation'], p.get('by_table', False)) for p in tuned.schedules],
          [('staged', True) if table == 2 else ('convolution', False)] * 2, f'table: {table} is planned')
    equal(bool(tuned.found(r'CGTP_DEVICE void (by_table)\(')), table == 2, f'table: {table} is emitted')
    equal(bool(tuned.found(r'CGTP_DEVICE void (uvu_1_2_1)\(')), table == 1, f'table: {table}: or its arithmetic')

DENSE = re.sub(r'(?m)^index.*\n|^tune.*\n( .*\n)*', '', open('specs/e3tools_transformer.yaml').read().replace('name: e3tools_transformer', 'name: tuned'))
dense = {knob: Generated(f'{{sm_90: {{{knob}}}}}', kernels='[double_backward]', index='{w: shared}', spec=DENSE)
         for knob in ('stages: 2', 'channels: 1', 'code: 1')}
equal([tuned.planned('sum_warps_per_block') for tuned in dense.values()], [[6], [8], [6]], 'channels: 1: warps of a GEMM have fewer sums each')
loops = r'CGTP_UNROLL\n +(for \(int [uc] = )'
equal([bool(tuned.found(loops)) for tuned in dense.values()], [True, True, False], 'code: 1: no loop of a GEMM is unrolled')

tuned = Generated('{sm_90: {evaluation: staged}}', index='{}', spec=CONNECTED)
equal(set(tuned.planned('evaluation')), {'staged'}, 'evaluation: staged takes what it would have')
tuned = Generated('{sm_90: {forward: {evaluation: general}}}')
equal(tuned.planned('evaluation'), ['general', 'convolution'], 'evaluation: general is planned, for the one kernel')
ok(tuned.found(r'CGTP_KERNEL\(\w+, \d+\) forward_(general)\('), 'evaluation: general is emitted')
equal(Generated('{sm_90: {evaluation: batch}}').code(), free.code(), 'evaluation: one that refuses changes nothing')
tuned = Generated(kernels='[forward]', spec=re.sub('.*index.*\n|kernels.*\n', '', open('specs/mace_large.yaml').read()
                                                  .replace('name: mace_large', 'name: tuned').replace('float32', 'float64')))
equal([(plan['stages'], len(plan['path_sets'])) for plan in tuned.schedules], [(3, 1)],
      'one path set with three stages rather than two path sets with two')
for reduction, joined in (('atomic', True), ('deterministic', False)):
    tuned = Generated(kernels='[backward]', spec=re.sub('.*index.*\n|kernels.*\n|reduction.*\n', '', open('specs/nequip_revmd17_benzene.yaml').read()
                                                       .replace('nequip_revmd17_benzene', 'tuned')) + f'reduction: {reduction}\n')
    equal(bool(tuned.found(r'(uvu_3_3)\(')), joined, f'{reduction}: paths are joined where that saves enough beside a buffer of edges')
knobs = '{sm_90: {stages: 3, backward: {stages: 2}}}'
equal(Generated(knobs, spec=SPEC + 'precision: bfloat16\n').planned('stages'), [3, 2],
      "stages: a kernel's own knob is stronger, in bfloat16 too")
tuned = Generated(knobs)
equal(tuned.planned('stages'), [3, 2], "stages: a kernel's own knob is stronger")
equal([tuned.code()[kernel] == Generated(f'{{sm_90: {{stages: {stages}}}}}').code()[kernel]
       for kernel, stages in (('forward', 3), ('backward', 2))], [True, True], 'and each is emitted as if for all')
equal(Generated('{sm_90: {stages: 3, jvp: {stages: 2}}}').code(), Generated('{sm_90: {stages: 3}}').code(),
      'knobs of a known kernel that is not there change nothing')
knobs = '{sm_80: {stages: 2, channels: 1}}'
equal(Generated(knobs).code(), free.code(), "another architecture's knobs change nothing")
tuned = Generated(knobs, arch='sm_80')
equal((tuned.report['arch'], set(tuned.planned('stages')), set(tuned.path_sets('channels_per_lane'))),
      ('sm_80', {2}, {1}), '--arch chooses whose knobs apply')
equal(set(tuned.found(r'stage_\d+ ring\[(\d+)\]')), {'2'}, 'and they are emitted')
equal(Generated(knobs, backend='c').code(), Generated(backend='c').code(),
      'knobs of a GPU leave the C backend alone')
equal(free.code(), Generated('{sm_90: {}}').code(), 'no knob, no change')


def tuner(knobs):
    """The program of --emit=tune for sm_90: the lines of knobs that it writes besides its own, and the knobs of each
    alternative of the backward kernel, alone and with the kernel's."""
    with tempfile.TemporaryDirectory() as folder:
        spec = SPEC + f'index: {GRAPH}\nkernels: [forward, backward]\ntune: {knobs}\n'
        subprocess.run([GENERATOR, '--backend=cuda', '--emit=tune', '-o', folder, '-'], input=spec, text=True, check=True)
        with open(folder + '/tuned.tune.c') as file:
            program = file.read()
        own = []
        for name in sorted(os.listdir(folder)):
            if name.startswith('tuned_backward.tune'):
                with open(f'{folder}/{name}') as file:
                    own += re.findall(r'cgtp_tune_backward_\d+ = \{\n    "(.*)",\n    "(.*)",', file.read())
    return re.findall(r'^ +(?:&test, "sm_90", )?"( .*)\\n"', program, re.M), own


def alternatives(spec):
    """The kernel, knobs and text of each alternative that --emit=tune writes of the spec."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([GENERATOR, '-Wno-all', '--emit=tune', '-o', folder, '-'], input=spec, text=True, check=True)
        for path in sorted(glob.glob(f'{folder}/*.tune[0-9]*.cu')):
            with open(path) as file:
                text = file.read()
            yield *re.search(r'cgtp_tune_([a-z_]+)_\d+ = \{\n    "(.*)",\n', text).groups(), text


def alone(spec, kernel, knobs):
    """The kernel's source that the spec with these knobs makes by itself, behind its banner."""
    spec += f'tune: {{sm_90: {{{kernel}: {{{knobs}}}}}}}\n'
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([GENERATOR, '-Wno-all', '--emit=source', '-o', folder, '-'], input=spec, text=True, check=True)
        with open(f'{folder}/tuned_{kernel}.cu') as file:
            text = file.read()
    return text[text.index('*/'):]


def at_terminal(*options):
    """What goes to standard error, a terminal."""
    ours, theirs = os.openpty()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([GENERATOR, *options, '-o', folder, '-'], input=SPEC + 'kernels: [forward, backward]\n', text=True,
                       stderr=theirs, check=True)
    os.close(theirs)
    told = b''
    try:
        while part := os.read(ours, 65536):
            told += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return told.decode()


if has_terminals():
    shown = at_terminal('--emit=tune')
    equal([line.rstrip() for line in shown.split('\r')],
          ['', *(f'tuned: other plans of {kernel}, kernel {i} of 2\r'.rstrip() if not odd else ''
                 for i, kernel in ((1, 'forward'), (2, 'backward')) for odd in (False, True)), '', ''],
          '--emit=tune on a terminal says what it is at, and clears the line')
    equal({len(line) for line in shown.split('\r') if line}, {78}, 'over all of what stood there')
    equal(at_terminal('--emit=header'), '', 'other output says nothing')
else:
    skip('what is said on a terminal', 'the system has none to give')

lines, own = tuner('{sm_90: {warps: 8, backward: {stages: 3, keep: 1}}, sm_80: {stages: 2, forward: {warps: 8}}, '
                   'sm_100: {channels: 1}}')
equal(lines, ['    warps: 8', '  sm_80:', '    stages: 2', '    forward: {warps: 8}', '  sm_100:', '    channels: 1'],
      "a tuner writes other devices' knobs as they were, and those of all kernels")
equal([whole for _, whole in own],
      [', '.join([knob for knob in ('stages: 3', 'keep: 1') if knob.split(':')[0] + ':' not in knobs] + [knobs])
       for knobs, _ in own], "and with an alternative's knobs the kernel's own that it has not")
ok(len(own) > 10 and any('stages' in knobs for knobs, _ in own) and any('stages' not in knobs for knobs, _ in own),
   'of alternatives with and without such knobs')

# A tuner's plans take from each other what is known of their kernel; a plan by itself has nothing to take.
for text in ('irreps: {x: 32x0e + 32x1o + 20x2e + 6x3o, y: 0e + 1o + 2e}', 'irreps: {x: 48x0e + 48x0o + 48x1e + 48x1o, y: 0e + 1o + 2e + 3o}',
             'irreps: {x: 5x0e + 64x1o, y: 3x0e + 3x1o}\nprecision: float64'):
    layer = (f'cgtp: 1\nname: tuned\n{text}\ninstructions: channelwise\nindex: {GRAPH}\n'
             'kernels: [forward, backward, double_backward]\n')
    made = list(alternatives(layer))
    equal([(kernel, knobs) for kernel, knobs, source in made if alone(layer, kernel, knobs) not in source], [],
          f'{text.splitlines()}: alternatives are what their knobs make by themselves')
    ok(len(made) > 30, f'{text.splitlines()}: of many', len(made))
    equal([kernel for kernel, knobs, _ in made if knobs == 'together: 2'], ['backward', 'double_backward', 'forward'],
          f'{text.splitlines()}: codes of several paths are tried')
    # What a tuner leaves out without planning it is the planner's own plan, or (of evaluations) too dear.
    for kernel in ('forward', 'backward', 'double_backward'):
        own = alone(layer, kernel, '')
        tried = [f'evaluation: {word}' for word in ('convolution', 'batch', 'tiled', 'gemm', 'nodal', 'lanes', 'paired')]
        tried += [f'{knob}: {value}' for knob in ('parts', 'phases', 'passes') for value in (1, 2)]
        known = [own, *(source for of, _, source in made if of == kernel)]
        equal([knobs for knobs in tried if not any(alone(layer, kernel, knobs) in source for source in known)], [],
              f'{text.splitlines()}, {kernel}: no plan of these knobs is missing among {len(known)}')
done()
