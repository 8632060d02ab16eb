#!/usr/bin/env python3
"""--emit=tune: the program that times other plans of a product's kernels chooses what is faster, twice and by more than
the noise, goes on where it was interrupted, sees wrong results, and prints knobs that the generator takes."""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, has_terminals, ok, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen')
FOLDER = f'{BUILD}/tuner'
SPEC = """cgtp: 1
name: small
irreps: {x: 64x1o, y: 1o, z: 64x0e}
instructions: channelwise
kernels: [forward]
tune: {sm_80: {stages: 3, forward: {warps: 8}}, sm_90: {code: 30, forward: {paths: 5}}}
"""
GRAPH = """cgtp: 1
name: scattered
irreps: {x: 3x0e + 2x1o, y: 0e + 1o, z: 3x0e + 2x1o}
instructions: channelwise
index: {x: receiver, y: shared, w: sender, z: sender}
kernels: [forward]
"""


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


class Tuner:
    """A product's program, on the shim, with its log."""

    def __init__(self, text):
        self.name = re.search(r'^name: (\w+)', text, re.M).group(1)
        self.folder, self.text = f'{FOLDER}/{self.name}', text
        self.log = f'{self.folder}/log.tsv'
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        with open(f'{self.folder}/{self.name}.yaml', 'w') as file:
            file.write(text)
        self.command = [GENERATOR, '-Wno-all', '--emit=header,source,tune', '-o', self.folder, f'{self.folder}/{self.name}.yaml']
        made = run(*self.command)
        equal((made.returncode, made.stdout), (0, ''), f'{self.name}: is generated')
        self.files = run(*self.command, '--list').stdout.split()
        self.alternatives = [file for file in self.files if re.search(r'\.tune\d+\.cu$', file)]

    def build(self):
        sources = [file for file in self.files if file.endswith(('.c', '.cu'))]
        built = run('tests/simt/build.sh', f'{self.folder}/tune', *sources, 'runtime/cgtp.c', 'runtime/cgtp_tune.c',
                    'tests/tuner/device.c', env=dict(os.environ, BUILD=BUILD,
                                                     SIMT_FLAGS='-DCGTP_SELFTEST_CUDA -Itests/selftest'))
        return ok(built.returncode == 0, f'{self.name}: builds on the shim', built.stdout)

    def tune(self, *arguments, ms=None, again=False, **environment):
        """Runs it; ms: what the plans take, in their order. From the beginning, or once again."""
        if not again and os.path.exists(self.log):
            os.remove(self.log)
        more = {'CGTP_TUNE_MS': ' '.join(map(str, ms or []))} | {f'CGTP_TUNE_{k}': str(v) for k, v in environment.items()}
        return run(f'{self.folder}/tune', '--runs=3', f'--log={self.log}', *arguments, env=dict(os.environ, **more))

    def rows(self):
        with open(self.log) as file:
            return [line.rstrip('\n').split('\t') for line in file]


def shown_on_terminal(command):
    """What it writes to standard error, which is a terminal."""
    master, slave = os.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=slave) as process:
        os.close(slave)
        shown = b''
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # nobody has the other end any more
                piece = b''
            if not piece:
                break
            shown += piece
    os.close(master)
    return shown.decode()


def table(output):
    """The rows of the only kernel: (ms, knobs and what follows)."""
    return re.findall(r'^ +([\d.]+|-) +(?:[\d.]+|-)  (.*)$', output, re.M)


if not (shutil.which('clang++') or shutil.which('g++')):
    skip('the program', 'no compiler of C++')
    done()
small = Tuner(SPEC)
count = len(small.alternatives)
ok(8 <= count <= 24, f'{count} alternatives', *small.files)
listed = run(*small.command, '--list').stdout.split()
equal(len(set(listed)), len(listed), 'each file has a name of its own')
built = small.build()
knobs = re.findall(r'^    (\S.*)$', small.tune('--list').stdout, re.M) if built else []
equal((len(knobs), len(set(knobs))), (count, count), 'as many are listed, none twice')
if built:
    fast = knobs.index('warps: 8') + 1
    ms = [4.0] * (1 + count)
    ms[fast], ms[2] = 3.0, 3.5
    result = small.tune('--items=100', ms=[*ms, 3.1, 4.0])
    times = table(result.stdout)
    equal((result.returncode, len(times), times[0], times[1][0]), (0, 1 + count, ('3.0000', 'warps: 8  <- chosen'), '3.5000'),
          'the fastest plan is chosen')
    equal([row[3] for row in small.rows()[1:]], ['-', *knobs, 'warps: 8', '-'],
          'every plan is timed once, the fastest and the own once again')
    equal({row[8] for row in small.rows()[1:]}, {'0.0000'}, 'all plans compute the same')
    block = result.stdout[result.stdout.index('\ntune:\n') + 1:]
    equal(block, 'tune:\n  sm_80:\n    stages: 3\n    forward: {warps: 8}\n  sm_90:\n    code: 30\n'
          '    forward: {paths: 5, warps: 8}\n', "the key has what the spec had and the plan's knobs")

    # The key in the spec, and what becomes of it.
    with open(f'{small.folder}/tuned.yaml', 'w') as file:
        file.write(re.sub(r'^tune:.*\n', '', SPEC, flags=re.M) + block)
    tuned = run(GENERATOR, '-o', f'{FOLDER}/tuned', f'{small.folder}/tuned.yaml')
    equal((tuned.returncode, tuned.stdout), (0, ''), 'the generator takes the key')
    with open(f'{FOLDER}/tuned/small_forward.cu') as file:
        source = file.read().split('*/', 1)[1]
    with open(f'{small.folder}/small_forward.tune{fast}.cu') as file:
        ok(source in file.read(), 'and makes the source that was timed')
    kept = run(GENERATOR, '-o', small.folder, '--prune', f'{small.folder}/small.yaml')
    ok(kept.stdout == '' and all(map(os.path.exists, small.files)), 'alternatives are not left over', kept.stdout)

    # Interrupted: what the log has is not measured again.
    result = small.tune('--items=100', ms=ms, STOP=3)
    equal((result.returncode, len(small.rows())), (-signal.SIGKILL, 4), 'it is killed after three plans')
    with open(small.log, 'a') as file:
        file.write('shim\t100 items\tforw')
    result = small.tune('--items=100', again=True, ms=[*ms[3:], 3.1, 4.0])
    again = table(result.stdout)
    equal((result.returncode, sorted(again), small.rows()[4]), (0, sorted(times), ['shim', '100 items', 'forw']),
          'the next run goes on with the fourth, after a line that was cut short')
    result = small.tune('--items=100', again=True, ms=[9.0])
    equal((table(result.stdout), len(small.rows())), (again, 4 + 1 + (count - 2) + 2), 'and the third measures nothing')
    with open(small.log, 'rb') as file:
        head, rest = file.read().split(b'\n', 1)
    with open(small.log, 'wb') as file:
        file.write(head + b'\n\0 zeros\n' + rest)
    result = small.tune('--items=100', again=True, ms=[9.0])
    equal((table(result.stdout), len(small.rows())), (again, 4 + 1 + (count - 2) + 2 + 1),
          'nor does one after a line that begins with a zero byte hide what follows')
    result = small.tune('--items=101', again=True, ms=[7.0])
    ok(('7.0000', 'as planned') in table(result.stdout), 'another problem has times of its own', result.stdout)

    # On a terminal, a bar.
    if has_terminals():
        shown = shown_on_terminal([f'{small.folder}/tune', '--runs=1', '--items=100', f'--log={small.log}.bar'])
        bars = re.findall(r'\r\[(#*)(\.*)\] (\d+) of (\d+)  forward: (\S.*?) *(?=\r|$)', shown)
        equal([(int(done_), text) for _, _, done_, _, text in bars[:1 + count]], list(enumerate(['as planned', *knobs])),
              'a terminal is shown how far it is')
        ok(all(len(full) == 24 * int(d) // int(n) and len(full + rest) == 24 for full, rest, d, n, _ in bars), 'by a bar', *bars)
    else:
        skip('a terminal is shown how far it is', 'no pseudo terminals')

    # Noise.
    one = [4.0, *[5.0] * count]
    one[fast] = 3.95
    result = small.tune('--items=100', ms=one)
    ok('the spec stays as it is' in result.stdout and result.returncode == 0, 'a gain of 1 % is none', result.stdout)
    ok('forward: {paths: 5, warps: 8}' in small.tune('--items=100', '--gain=1', ms=[*one, 3.9, 4.0]).stdout,
       'but where that is enough')
    result = small.tune('--items=100', ms=[*ms, 3.99, 4.0, 3.4, 4.0])
    ok(f'{knobs[1]}  <- chosen' in result.stdout, 'what is not faster a second time is not chosen, but the next',
       result.stdout)

    # Wrong results, failures.
    file = f'{small.folder}/small_forward.tune{fast}.cu'
    with open(file) as opened:
        right = opened.read()
    with open(file, 'w') as opened:
        opened.write(re.sub(r'(constexpr real K\w+ = 0x1)\.2', r'\1.3', right, count=1))
    if small.build():
        result = small.tune('--items=100', ms=ms)
        ok(result.returncode == 1 and ('3.0000', "warps: 8: WRONG: another result than the product's own") in
           table(result.stdout) and 'warps: 8}' not in result.stdout.split('sm_90')[-1],
           'a plan that computes something else is not chosen', result.stdout)
    result = small.tune('--items=100', ms=ms, FAIL=2)
    equal((result.returncode, 'run this again' in result.stdout, small.rows()[3][3:]),
          (1, True, [knobs[1], small.rows()[3][4], '1', 'it fails']), 'a plan that fails ends the program, and is in the log')
    result = small.tune('--items=100', again=True, ms=ms[3:])
    ok(('-', f'{knobs[1]}: it fails') in table(result.stdout), 'the next run goes on', result.stdout)

    for arguments, wanted in ((['--items=x'], 'usage:'), (['--edges='], 'usage:'), (['--gain=-1'], 'usage:'), (['-h'], 'usage:'),
                              (['--kernel=backward'], 'small has no kernel backward')):
        result = small.tune(*arguments)
        ok(result.returncode == 2 and wanted in result.stdout, f'{" ".join(arguments)}: refused', result.stdout)

empty = Tuner('cgtp: 1\nname: empty\nirreps: {x: 3x0e, y: 0e, z: 3x0e}\ninstructions: []\nkernels: [forward]\n')
equal(empty.alternatives, [], 'empty: there is no alternative')
graph = Tuner(GRAPH)
if graph.build():
    edges = f'{graph.folder}/edges.txt'
    for text, wanted, status in (('# sender receiver\n2 0\n\n1 3\n0 3 \n', '3 edges of 4 nodes', 0),
                                 ('2 0\n1 two\n', 'edges.txt:2: expected the numbers', 2),
                                 ('2 0\n1 -2\n', 'edges.txt:2: expected the numbers', 2),
                                 ('2 0 1\n', 'edges.txt:1: expected the numbers', 2)):
        with open(edges, 'w') as file:
            file.write(text)
        result = graph.tune(f'--edges={edges}')
        ok(result.returncode == status and wanted in result.stdout, f'edges {text!r}', result.stdout)
    with open(edges, 'w') as file:
        file.write('2 0\n1 3\n')
    named = [graph.tune(*arguments).stdout.split('\n')[0] for arguments in (
        [f'--edges={edges}', '--nodes=9'], ['--nodes=5', '--degree=3'])]
    ok('2 edges of 9 nodes' in named[0] and '15 edges of 5 nodes' in named[1], 'nodes without edges; a random graph', *named)
    result = graph.tune('--edges=/nowhere')
    ok(result.returncode == 2 and '/nowhere: No such file' in result.stdout, 'no such file', result.stdout)

# The C is clean; nvcc compiles what the makefile says.
if shutil.which('gcc'):
    for source in ('runtime/cgtp_tune.c', f'{small.folder}/small.tune.c', f'{empty.folder}/empty.tune.c'):
        made = run('gcc', '-std=c11', '-D_POSIX_C_SOURCE=200809L', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-Iruntime',
                   f'-I{os.path.dirname(source)}', '-c', '-o', '/dev/null', source)
        equal((made.returncode, made.stdout), (0, ''), f'{source}: no warnings')
nvcc = shutil.which('nvcc') or next(filter(os.path.exists, ['/usr/local/cuda/bin/nvcc']), None)
if nvcc:
    wanted = [f'{small.folder}/{name}.o' for name in
              ('small.tune.c', 'small_forward.tune1.cu', 'cgtp_tune.c', 'cgtp_tune.cu')]
    for name in wanted:
        if os.path.exists(name):
            os.remove(name)
    made = run('make', '-sf', f'{small.folder}/small.tune.mk', f'NVCC={nvcc}', 'CGTPGEN_DATA=runtime', *wanted,
               env={k: v for k, v in os.environ.items() if not k.startswith('MAKE')})
    ok((made.returncode, made.stdout) == (0, '') and all(map(os.path.exists, wanted)),
       'nvcc compiles a plan and the program, and make says nothing', made.stdout)
else:
    skip('nvcc compiles a plan and the program, and make says nothing', 'no nvcc')
done()
