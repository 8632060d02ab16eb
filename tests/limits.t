#!/usr/bin/env python3
"""What the generator does grows as a spec and its result do, up to sorting, and has limits that docs/spec.md names.

Work is counted, not timed: calls of functions, by a generator that is compiled to count them, and bytes of memory.
Four times as much of a spec must take no more than about four times as much of both.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from generator import counting  # noqa: E402
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
CC = os.environ.get('CC', 'gcc').split()
SEGMENTS = PATHS = 4096
OF_KERNELS = 16384
MORE = 1.35  # than four times: sorting, arrays that double, numbers of more digits


def repeated(term, n):
    return '+'.join([term] * n)


def spec(x, y, z=None, instructions='channelwise', kernels='[forward]', more=''):
    z = '' if z is None else f', z: "{z}"'
    if not isinstance(instructions, str):
        instructions = ''.join(f'\n  - {entry}' for entry in instructions)
    return (f'cgtp: 1\nname: large\nirreps: {{x: "{x}", y: "{y}"{z}}}\ninstructions: {instructions}\n'
            f'kernels: {kernels}\n{more}')


def pairs_of_nothing(n, instructions):
    return spec(repeated('0e+1o', n // 2), repeated('0e+1o', n // 2), '11o', instructions)


CONVOLUTION = 'index: {x: sender, z: receiver}\n'
GROWING = {
    'channelwise pairs that make nothing': lambda n: pairs_of_nothing(n, 'channelwise'),
    'full pairs that make nothing': lambda n: pairs_of_nothing(n, 'full'),
    'fully connected triples that make nothing':
        lambda n: spec(repeated('0e', n), repeated('0e', n), repeated('11o', n), 'fully_connected'),
    'segments of x': lambda n: spec(repeated('32x0e', n), '0e'),
    'segments of x, a graph': lambda n: spec(repeated('32x0e', n), '0e', more=CONVOLUTION),
    'pairs of elementwise': lambda n: spec(repeated('0e+0o', n // 2), repeated('0e', n), instructions='elementwise'),
    'instructions':
        lambda n: spec(repeated('32x0e', n), '0e', repeated('32x0e', n), [f'[{i}, 0, {i}, uvu]' for i in range(n)]),
    'instructions into one segment, each with a weight of its own':
        lambda n: spec('32x1o', '1o', '32x1e', [f'[0, 0, 0, uvu, true, {i + 1}]' for i in range(n)]),
    'segments that weights connect with one of z':
        lambda n: spec(repeated('9x0e', n), '0e', '16x0e', [f'[{i}, 0, 0, uvw]' for i in range(n)]),
    'a graph, each instruction with a weight of its own':
        lambda n: spec('32x1o', '1o', '32x1e', [f'[0, 0, 0, uvu, true, {i + 1}]' for i in range(n)],
                       more=CONVOLUTION),
}


def work(counter, text, backend, specs='-'):
    """(calls, bytes) that a spec takes, or what went wrong; or specs, the words for which are `text`."""
    run = subprocess.run([counter, f'--backend={backend}', '--list', '-d', 'm', specs], input=text, text=True,
                         capture_output=True)
    counted = re.search(r': (\d+) bytes of memory at most so far\n(\d+) calls\n\Z', run.stderr, flags=re.M)
    return (int(counted.group(2)), int(counted.group(1))) if run.returncode == 0 and counted else run.stderr[:500]


def check_growth(counter):
    n = PATHS
    for name, make in GROWING.items():
        for backend in 'c', 'cuda':
            less, more = work(counter, make(n // 4), backend), work(counter, make(n), backend)
            if not ok(isinstance(less, tuple) and isinstance(more, tuple), f'{name}, {backend}: generates', less, more):
                continue
            for what, one, four in zip(('calls', 'bytes'), less, more):
                ok(four <= 4 * MORE * one, f'{name}, {backend}: {four} {what} for {n}, {one} for {n // 4}')


def check_specs(folder, counter):
    """Whether they collide is found without comparing each with each other."""
    n, names = 1024, []
    for i in range(n):
        names.append(f'{folder}/n{i}.yaml')
        with open(names[-1], 'w') as file:
            file.write(spec('0e', '0e').replace('large', f'n{i}', 1))
    less, more = (work(counter, '\n'.join(names[:count]), 'c', '@-') for count in (n // 4, n))
    ok(isinstance(less, tuple) and isinstance(more, tuple) and more[0] <= 4 * MORE * less[0],
       f'specs of a call: {more} calls and bytes for {n}, {less} for {n // 4}')


def calls_of(counter, *arguments):
    """Functions that are called; one thread counts."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([counter, '--jobs=1', *arguments, '-o', folder], capture_output=True, text=True)
    return int(re.search(r'(\d+) calls\n\Z', run.stderr).group(1)) if run.returncode == 0 else run.stderr[:500]


def check_tuner(counter):
    """A hundred or so plans of each kernel are weighed for a tuner, and two dozen written: most of what a plan takes is
    done of those alone, and none is made that is known."""
    for name in 'mace_medium', 'nequip_water':
        once, tried = (calls_of(counter, f'--emit={words}', f'specs/{name}.yaml') for words in ('header,source', 'tune'))
        ok(isinstance(once, int) and isinstance(tried, int) and tried < 35 * once, f'{name}: the tuner takes {tried} calls, its kernels {once}')


def check_small(folder, counter):
    """Of small specs, of which a call may have thousands."""
    count, names = 40, []
    for number in range(count):
        names.append(f'{folder}/s{number}.yaml')
        with open(names[-1], 'w') as file:
            file.write(f'cgtp: 1\nname: s{number}\nirreps: {{x: 8x0e + {number % 7 + 1}x1o, y: 0e + 1o}}\ninstructions: channelwise\n')
    calls = calls_of(counter, *names)
    ok(isinstance(calls, int) and calls < 1000000 * count, f'{count} small specs of three kernels: {calls} calls')


def check_error(text, place, message):
    """The spec has just this one error."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([GENERATOR, '--backend=c', '-o', folder, '-'], input=text, text=True, capture_output=True)
        lines = re.findall('^.*: (?:error|note): .*$', run.stderr, flags=re.M)
        equal((run.returncode, lines, os.listdir(folder)), (1, [f'<stdin>:{place}error: {message} [limit]'], []), message)


def check_limits():
    most, one_more = repeated('0e', SEGMENTS), repeated('0e', SEGMENTS + 1)
    for slot, irreps in {'x': (one_more, '0e', '0e'), 'y': ('0e', one_more, '0e'), 'z': ('0e', '0e', one_more)}.items():
        column = 9 + sum(len(f'{name}: "{value}", ') for name, value in zip('xyz', irreps) if name < slot) + 4
        for instructions in 'channelwise', 'fully_connected':
            check_error(spec(*irreps, instructions=instructions), f'3:{column}: ',
                        f'{slot} has {SEGMENTS + 1} segments, more than the largest number supported, {SEGMENTS}')
    check_error(spec(most, '0e+0o'), '4:15: ',
                f'this makes more than {PATHS} instructions, the largest number supported')
    check_error(spec('0e', '0e', '0e', ['[0, 0, 0, uvu]'] * (PATHS + 1)), f'{PATHS + 5}:5: ',
                f'these are more than {PATHS} instructions, the largest number supported')
    kernels = OF_KERNELS // PATHS
    names = [f'{{name: k{i}k, of: forward}}' for i in range(kernels + 1)]
    check_error(spec(most, '0e', kernels=f'[{", ".join(names)}]'), '4:15: ',
                f'{PATHS} instructions in {kernels + 1} kernels are {PATHS * (kernels + 1)}, more than the largest number '
                f'supported, {OF_KERNELS}')
    entries = [f'[0, 0, 0, uvu, true, {i + 1}]' for i in range(PATHS)]
    check_error(spec('32x11o', '11o', '32x11e', entries), ' ',
                'it takes more than 900 MiB of memory: it needs fewer paths, fewer kernels, or to be several specs')


def check_longest_rows():
    """Their scratch has more elements than an enumerator of C can say."""
    with tempfile.TemporaryDirectory() as folder:
        text = spec(repeated('1048576x11e', 44), '0e', kernels='[backward]')
        subprocess.run([GENERATOR, '--backend=c', '-o', folder, '-'], input=text, text=True)
        path = f'{folder}/large_backward.c'
        with open(path) as file:
            numbers = [int(number) for number in re.findall(r'\d+', file.read()) if len(number) < 19]
        run = subprocess.run([*CC, '-std=c11', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsyntax-only', '-Iruntime', path],
                             capture_output=True, text=True)
        ok(max(numbers) >= 2**31 and run.returncode == 0, 'rows of 2^30 elements compile without a warning', run.stderr)


def check_limits_of_kernels():
    """How many kernels, outputs, terms and arguments docs/spec.md allows: as many pass, one more does not."""
    def kernels(n):
        return ', '.join(f'{{name: k{i}, of: forward}}' for i in range(n))

    def terms(n):
        names = [f'a{i}' for i in range(40)]
        made = [f'"Q_x({y}, w, {g})"' for y in names for g in ('gz', *names)][:n]
        given = ', '.join([f'{name}: y' for name in names[:20]] + [f'{name}: g' for name in names[20:]])
        return f'{{name: a, arguments: {{{given}}}, outputs: {{o: [{", ".join(made)}]}}}}'

    def outputs(n):
        return '{name: a, outputs: {%s}}' % ', '.join(f'o{i}: ["Q_x(y, w, gz)"]' for i in range(n))

    def part(n):
        return '{name: a, of: forward, outputs: [%s]}' % ', '.join(f'o{i}' for i in range(n))

    def arguments(n):
        return '{name: a, arguments: {%s}, outputs: {o: ["Q_x(y, w, gz)"]}}' % ', '.join(f'a{i}: d x' for i in range(n))

    for make, most, message in ((kernels, 256, 'a spec has at most 256 kernels'),
                                (terms, 1024, "output 'o' has more than 1024 terms"),
                                (outputs, 64, 'a kernel has at most 64 outputs'),
                                (part, 64, 'a kernel has at most 64 outputs'),
                                (arguments, 64, 'a kernel has at most 64 arguments of its own')):
        found = [message in subprocess.run([GENERATOR, '--lint', '-'], input=spec('0e', '0e', kernels=f'[{make(n)}]'), text=True,
                                           capture_output=True).stderr for n in (most, most + 1)]
        equal(found, [False, True], f'{message}, no fewer')


with tempfile.TemporaryDirectory() as own:
    program, said = counting()
    COUNTING = program if ok(not said, 'the generator compiles with its calls counted', said) else None
    if COUNTING:
        check_specs(own, COUNTING)
        check_growth(COUNTING)
        check_tuner(COUNTING)
        check_small(own, COUNTING)
check_limits()
check_longest_rows()
check_limits_of_kernels()
done()
