#!/usr/bin/env python3
"""What small specs may cost, whatever they say: they are generated or refused in little processor time and memory, which
the system bounds. What would take more than there may be is refused before any code of it is made."""
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
sys.path.insert(0, 'tests/bench')
import compile  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
COUNT, SEED = 200, 36
SEEDS = [f'specs/{name}.yaml' for name in ('mace_medium', 'nequip_water', 'tetris_poly_2', 'sevennet_l3i5_layer2', 'allegro_lmax2')]
WORDS = ['forward', 'backward', 'double_backward', 'triple_backward', 'jvp', 'backward_jvp', 'double_backward_jvp']


def generate(text, backend, seconds, megabytes):
    """(exit status, messages) within bounds of processor time and address space."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    result = subprocess.run([GENERATOR, f'--backend={backend}', '-Wno-all', '-o', '-', '-'], input=text, text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=bound)
    return result.returncode, result.stderr


def changed(draw, text):
    """A small change or some: numbers, segments, degrees, kernels."""
    for _ in range(draw.randint(1, 4)):
        kind = draw.randrange(4)
        if kind == 0:  # another number
            at = draw.choice(list(re.finditer(r'\d+', text)))
            text = text[:at.start()] + draw.choice(['0', '1', '2', '7', '32', '128', '100000', '-1']) + text[at.end():]
        elif kind == 1:  # a segment twice, or another degree
            found = list(re.finditer(r'\d+x(\d+)([eo])', text))
            if found:
                at = draw.choice(found)
                text = text[:at.end()] + f' + {draw.randint(1, 9)}x{draw.randint(0, 5)}{draw.choice("eo")}' + text[at.end():]
        elif kind == 2:  # other kernels
            some = draw.sample(WORDS, draw.randint(1, 4))
            text = re.sub(r'^kernels:.*\n', '', text, flags=re.M) + f'kernels: [{", ".join(some)}]\n'
        else:  # a line less
            lines = text.splitlines(True)
            del lines[draw.randrange(len(lines))]
            text = ''.join(lines)
    return text


def test_large():
    """Seven kernels of all degrees, of both parities, in 470 bytes."""
    both, one = (' + '.join(f'{l}{p}' for l in range(12) for p in parities(l)) for parities in (lambda l: 'eo', lambda l: 'eo'[l % 2]))
    text = f'cgtp: 1\nname: large\nirreps: {{x: {both}, y: {one}, z: {both}}}\ninstructions: channelwise\n'
    for backend in 'c', 'cuda':
        status, told = generate(text + f'kernels: [{", ".join(WORDS)}]\n', backend, 1, 200)
        ok(status == 1 and '30805734 terms of coefficients' in told and '[limit]' in told,
           f'{backend}: what is too much is counted, and refused in a second and 200 MB', status, told)
    status, told = generate(text + 'kernels: [forward]\n', 'c', 20, 900)
    equal((status, told), (0, ''), 'one kernel of it is not too much')


def test_small():
    draw = random.Random(SEED)
    specs = []
    for path in SEEDS:
        if os.path.exists(path):
            with open(path) as file:
                specs.append(file.read())
    ok(len(specs) >= 3 and max(map(len, specs)) < 1600, 'small specs to begin with', [len(spec) for spec in specs])
    wrong, statuses = [], []
    for number in range(COUNT):
        text = changed(draw, draw.choice(specs))
        status, told = generate(text, draw.choice(['c', 'cuda']), 2, 300)
        statuses.append(status)
        if status not in (0, 1):
            wrong += [f'{number}: status {status}', told[:300], text]
    ok(not wrong, f'{COUNT} changed specs: each is generated or refused in 2 seconds and 300 MB', *wrong[:30])
    generated = statuses.count(0)
    ok(40 <= generated <= COUNT - 20, f'{generated} are generated, others refused')


def test_many():
    """Specs of one call: each is forgotten when its files are made, and the folder's names are read once."""
    count, megabytes = 2000, 400
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            with open(f'{folder}/s{number}.yaml', 'w') as file:
                file.write(f'cgtp: 1\nname: s{number}\nirreps: {{x: 8x0e + {number % 7 + 1}x1o, y: 0e + 1o}}\n'
                           'instructions: channelwise\n')
        with open(f'{folder}/all', 'w') as file:
            file.write('\n'.join(f'{folder}/s{number}.yaml' for number in range(count)))

        def bound():
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        for backend in 'c', 'cuda':
            subprocess.run([GENERATOR, f'--backend={backend}', '-o', f'{folder}/{backend}', f'{folder}/s17.yaml'], check=True)
            stays = f's17_gone.{"c" if backend == "c" else "cu"}'
            with open(f'{folder}/{backend}/s17.h') as file:
                banner = file.read()
            for name in stays, 's1700.x', 's1.tune.x':
                with open(f'{folder}/{backend}/{name}', 'w') as file:
                    file.write(banner.replace('s17:', name.split('.')[0].split('_')[0] + ':', 1))
            result = subprocess.run([GENERATOR, f'--backend={backend}', '-o', f'{folder}/{backend}', f'@{folder}/all'],
                                    capture_output=True, text=True, preexec_fn=bound)
            told = result.stderr.splitlines()
            equal((result.returncode, len(told)), (0, 3), f'{backend}: {count} specs in one call, in {megabytes} MB')
            equal(len(os.listdir(f'{folder}/{backend}')), 5 * count + 3, f'{backend}: all files are there')
            equal(sorted(name for line in told for name in re.findall(r'/([\w.]+) is left over', line)), sorted([stays, 's1700.x', 's1.tune.x']),
                  f'{backend}: what is left over is found among them')


def test_compilers():
    """What is predicted of compilers, of kernels that the rates were not fitted to: how far off it is of what was measured."""
    for backend, right, worst in (('c', 76, 2.7), ('cuda', 77, 2.0)):
        unseen = compile.table(backend, 'unseen')
        said = compile.said(backend, unseen)
        off = sorted((compile.off(said[kernel]['compile_seconds'], seconds), kernel) for kernel, seconds in unseen.items())
        ok(len(off) == 80 and off[right - 1][0] <= compile.MANY and off[-1][0] <= worst,
           f'{backend}: of {len(off)} kernels {right} are predicted within a factor of {compile.MANY}, all within {worst}', off)
        last = [times for times, kernel in off if '_311_' in kernel]
        ok(len(last) == 20 and last[-1] <= compile.MANY, f'{backend}: of the last {len(last)} all are', last)
        fitted = compile.table(backend, 'fit')
        ok(len(fitted) > 150 and not fitted.keys() & unseen.keys(), f'{backend}: {len(fitted)} others are for the fit')


if '/san' in os.environ.get('BUILD', 'build'):
    skip('effort', 'a sanitizer takes more')
else:
    test_large()
    test_small()
    test_many()
test_compilers()
done()
