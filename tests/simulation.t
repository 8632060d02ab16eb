#!/usr/bin/env python3
"""docs/examples/forces, md and lammps, and what they share: forces are derivatives, energy is conserved, and processors
with ghosts compute what one without computes. The pair style runs on a stand-in for LAMMPS everywhere, and in LAMMPS
where its library and headers are."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, plain, skip  # noqa: E402

NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
CUDA = os.path.dirname(os.path.dirname(os.path.realpath(NVCC))) if shutil.which(NVCC) else None
LAMMPS = '/usr/include/lammps'
CC, CXX = os.environ.get('CC', 'cc'), os.environ.get('CXX', 'c++')
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(('MAKE', 'MFLAGS', 'CGTPGEN_', 'CXXFLAGS'))}
RUNTIME, HERE = plain('runtime'), plain('tests/simulation')
WARNINGS = ['-Wall', '-Wextra', '-Werror']
VARIABLES = [f"CGTPGEN={plain(os.environ.get('CGTPGEN', 'build/cgtpgen'))}", f'RUNTIME={RUNTIME}', f'CC={CC}',
             f'CXX={CXX}', f'NVCC={NVCC}']
CHECKED = ['CFLAGS=-O1 ' + ' '.join(WARNINGS)]
CARBON = '../common/carbon.xyz'
# Before a program that makes the mistake whose number is in its environment.
CHOSEN = '#include <cstdlib>\nstatic const int MISTAKE = std::atoi(std::getenv("MISTAKE"));\n'


def run(*command, folder=None):
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def make(folder, *arguments):
    result = run('make', *VARIABLES, *arguments, folder=folder)
    return ok(result.returncode == 0, f'{os.path.basename(folder)}: builds', result.stdout)


def compiled(name, *arguments, folder=None):
    result = run(CXX, '-std=c++17', *arguments, folder=folder)
    return ok(result.returncode == 0, f'{name} is compiled', result.stdout)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def replace(path, right, wrong):
    text = read(path)
    equal(text.count(right), 1, f'{os.path.basename(path)} has: {right}')
    write(path, text.replace(right, wrong))


def copy(name):
    """The examples in a folder of their own."""
    shutil.copytree('docs/examples', f'{ROOT}/{name}', ignore=shutil.ignore_patterns('cgtpgen-out'))
    return f'{ROOT}/{name}'


def forces_of(result):
    """The energy and the forces that a program prints, all as one list."""
    head = re.match(r'\S+ \d+ atoms, energy (\S+) eV\n', result.stdout)
    rows = re.findall(r'^C +(\S+) +(\S+) +(\S+)$', result.stdout, re.M)
    return [float(word) for row in [head.groups() if head else ('nan',), *rows] for word in row]


def same(one, other):
    """Numbers are printed with nine decimals, of which the last may be rounded otherwise."""
    return len(one) == len(other) > 1 and all(abs(a - b) < 1.5e-9 for a, b in zip(one, other))


def test_common(folder):
    """The neighbour list, the harmonics, and what is said to wrong input."""
    carbon = run(CC, '-O1', '-c', '-o', f'{ROOT}/carbon.o', f'-I{RUNTIME}', 'tests/demo/carbon.c')
    runtime = run(CC, '-O1', '-r', '-nostdlib', '-o', f'{ROOT}/cgtp.o', f'{RUNTIME}/cgtp.c', f'{RUNTIME}/cgtp_check.c')
    ok(carbon.returncode == runtime.returncode == 0, 'common: the demo and the runtime', carbon.stdout, runtime.stdout)
    if not compiled('common: geometry.cpp', '-O1', *WARNINGS, f'-I{folder}/common', '-Itests/demo', f'-I{RUNTIME}', '-o',
                    f'{ROOT}/geometry', f'{ROOT}/carbon.o', f'{ROOT}/cgtp.o', f'{HERE}/geometry.cpp'):
        return
    told = run(f'{ROOT}/geometry', folder=ROOT).stdout
    lines = re.findall(r'^(ok|not ok) \d+ - (.*)$', told, re.M)
    for word, name in lines:
        ok(word == 'ok', f'common: {name}', told)
    ok(told.endswith(f'1..{len(lines)}\n'), 'common: to the end', told)


def test_cuda(folder):
    """The same sources for a GPU: compiled where nvcc is, run where a GPU is."""
    if not CUDA:
        return skip('forces and md: with CUDA', 'no nvcc')
    for name in ('forces', 'md'):
        compiled(f'{name}: {name}.cpp for a GPU', '-DSIMULATION_CUDA', f'-I{CUDA}/include', '-Icgtpgen-out', f'-I{RUNTIME}',
                 '-fsyntax-only', f'{name}.cpp', folder=f'{folder}/{name}')
    if not os.path.exists('/dev/nvidia0'):
        return skip('forces and md: on a GPU', 'no GPU')
    there = copy('gpu')
    for name in ('forces', 'md'):
        if make(f'{there}/{name}', 'CGTPGEN_BACKEND=cuda', 'CFLAGS=-O1'):
            result = run(f'./{name}', CARBON, '--check', folder=f'{there}/{name}')
            ok(result.returncode == 0 and result.stdout.startswith('cuda: '), f'{name}: right on a GPU', result.stdout)


def check(folder, name, what):
    """A program finds its forces right."""
    result = run(f'./{name}', CARBON, '--check', folder=folder)
    ok(result.returncode == 0 and result.stdout.endswith(': right\n'), f'{name}: forces are right, {what}', result.stdout)


def test_forces(folder):
    here = f'{folder}/forces'
    ok(len(read(f'{here}/forces.cpp').splitlines()) <= 150, 'forces: 150 lines at most')
    if not make(here, *CHECKED):
        return
    check(here, 'forces', 'float64')
    found = forces_of(run('./forces', CARBON, folder=here))
    write(f'{here}/carbide.xyz', read(f'{here}/{CARBON}').replace('\nC ', '\nSi ', 8))
    other = forces_of(run('./forces', 'carbide.xyz', folder=here))
    ok(0 < abs(other[0] - found[0]), 'forces: elements differ', other, found)
    sums = [sum(found[1 + k::3]) for k in range(3)]
    ok(len(found) == 1 + 3 * 16 and max(map(abs, sums)) < 16e-9 < max(map(abs, found[1:])), 'forces: their sum is zero',
       sums)
    for arguments, status, words in [(['none.xyz'], 1, 'forces: none.xyz: cannot be read as extended XYZ\n'),
                                     ([], 2, 'usage: forces FILE.xyz [--check]\n'),
                                     ([CARBON, '--chek'], 2, 'usage: forces FILE.xyz [--check]\n')]:
        result = run('./forces', *arguments, folder=here)
        equal((result.returncode, result.stdout), (status, words), f'forces {" ".join(arguments)}: refused')


def test_forces_single(folder):
    """In single precision; and there the check sees what is wrong: the program makes the mistake whose number is in its
    environment."""
    here = f'{folder}/forces'
    replace(f'{here}/layer.yaml', 'float64', 'float32')
    mistakes = [('forces.cpp', 'by_direction[k] + along * r[k]', 'by_direction[k] + (MISTAKE == 0 ? 0 : along * r[k])'),
                ('../common/simulation.h', '{-q * ms, dq * c[m]', '{MISTAKE == 1 ? q * ms : -q * ms, dq * c[m]')]
    for path, right, wrong in mistakes:
        replace(f'{here}/{path}', right, wrong)
    write(f'{here}/forces.cpp', CHOSEN + read(f'{here}/forces.cpp'))
    if not make(here, 'CFLAGS=-O0'):
        return
    ENVIRONMENT['MISTAKE'] = '-1'
    check(here, 'forces', 'float32')
    for number, (path, *_) in enumerate(mistakes):
        ENVIRONMENT['MISTAKE'] = str(number)
        result = run('./forces', CARBON, '--check', folder=here)
        ok(result.returncode == 1 and result.stdout.endswith(': WRONG\n'), f'forces: a mistake in {path} is noticed',
           result.stdout)
    del ENVIRONMENT['MISTAKE']


def conserved(folder, step, steps):
    """The fluctuation and the drift of the total energy, in eV."""
    told = run('./md', CARBON, str(step), str(steps), folder=folder).stdout
    found = re.search(r'fluctuation (\S+) eV, drift (\S+) eV in 100 fs\n$', told)
    return [abs(float(word)) for word in found.groups()] if found else [0, 0]


def test_md(folder):
    """Velocity Verlet: the energy does not drift, and fluctuates by the square of the time step."""
    here = f'{folder}/md'
    if not make(here, *CHECKED):
        return
    check(here, 'md', 'through two layers')
    found = {step: conserved(here, step, round(100 / step)) for step in (0.5, 0.25, 0.125)}
    for step in (0.5, 0.25):
        ratio = found[step][0] / (found[step / 2][0] or 1)
        ok(abs(ratio - 4) < 0.5, f'md: steps of {step} and {step / 2} fs fluctuate as 4 to 1', ratio, found)
    ok(all(0 < fluctuation < 0.01 and drift < fluctuation / 4 for fluctuation, drift in found.values()),
       'md: less than 0.01 eV, of which no quarter is drift', found)
    usage = run('./md', CARBON, '-1', folder=here)
    write(f'{here}/silicon.xyz', read(f'{folder}/common/carbon.xyz').replace('\nC ', '\nSi '))
    equal(run('./md', 'silicon.xyz', folder=here).stdout, 'md: the potential knows carbon, C, alone: there is Si\n',
          'md: another element')
    ok(usage.returncode == 2 and usage.stdout.startswith('usage: md '), 'md: a time step that is none', usage.stdout)
    replace(f'{here}/potential.h', 'gh_[i * features + u] +=', 'gh_[i * features + u] =')
    if make(here, *CHECKED):
        wrong = [conserved(here, step, round(100 / step))[0] for step in (0.25, 0.125)]
        ok(0 < wrong[0] < 2 * wrong[1], 'md: without the second layer\'s forces a smaller step conserves no better', wrong)


def headers_of(folder, stand_in):
    """LAMMPS's headers that the pair style includes, each of which is the stand-in."""
    names = re.findall(r'^#include "(.*)"$', read(f'{folder}/pair_cgtp.cpp') + read(f'{folder}/pair_cgtp.h'), re.M)
    os.mkdir(stand_in)
    for name in set(names) - {'pair_cgtp.h', 'potential.h', 'neigh_request.h'}:
        write(f'{stand_in}/{name}', '#include "stand_in.h"\n')


def strained(path, axis, strain):
    """The structure, longer in one direction."""
    first, second, *rows = read(f'{ROOT}/right/common/carbon.xyz').splitlines()
    lattice = [float(word) for word in re.search('"(.*?)"', second)[1].split()]
    lattice = [x * (1 + strain * (i % 3 == axis)) for i, x in enumerate(lattice)]
    atoms = [[float(word) for word in row.split()[1:]] for row in rows]
    text = ['C ' + ' '.join(f'{x * (1 + strain * (k == axis)):.15g}' for k, x in enumerate(atom)) for atom in atoms]
    write(path, '\n'.join([first, f'Lattice="{" ".join(map(repr, lattice))}"', *text, '']))


def check_virial(folder, told):
    """-dE/d strain, by differences of the plain program's energies as check_forces has them."""
    found = re.search(r'^virial (\S+) (\S+) (\S+) eV, of atoms (\S+) eV$', told, re.M)
    for axis in range(3):
        energy = {}
        for part in (-2, -1, 1, 2):
            strained(f'{ROOT}/strained.xyz', axis, part * 1e-4)
            energy[part] = forces_of(run('./md', f'{ROOT}/strained.xyz', '--forces', folder=f'{folder}/md'))[0]
        half, whole = (energy[-1] - energy[1]) / 2e-4, (energy[-2] - energy[2]) / 4e-4
        allowed = abs(whole - half) + 2 * 1e-9 / 1e-4
        ok(found and abs(float(found[axis + 1]) - (4 * half - whole) / 3) < allowed < 1,
           f'lammps: the virial along axis {axis} is the derivative by strain', told, half, whole)


def test_lammps(folder):
    """The pair style on the stand-in: slabs of processors, one of them without atoms."""
    here, library = f'{folder}/lammps', '../md/cgtpgen-out/libcgtpgen.a'
    flags = ['-O0', *WARNINGS, '-pthread', f'-I{ROOT}/stand_in', f'-I{HERE}', '-I.', '-I../md', '-I../md/cgtpgen-out',
             f'-I{RUNTIME}']
    headers_of(here, f'{ROOT}/stand_in')
    if not compiled('lammps: the stand-in', *flags, '-c', '-o', f'{ROOT}/stand_in.o', f'{HERE}/stand_in.cpp',
                    folder=here) or not make(f'{folder}/md', *CHECKED):
        return
    plain = forces_of(run('./md', CARBON, '--forces', folder=f'{folder}/md'))

    def build(name):
        return compiled(f'lammps: {name}', *flags, '-o', f'{ROOT}/{name}', 'pair_cgtp.cpp', f'{ROOT}/stand_in.o', library,
                        folder=here)

    if not build('ghosts'):
        return
    for cuts in ([], ['0.5'], ['0.3', '0.30001', '0.6']):
        result = run(f'{ROOT}/ghosts', CARBON, *cuts, folder=here)
        ok(same(forces_of(result), plain), f'lammps: {1 + len(cuts)} slabs with ghosts compute what one without does',
           result.stdout)
        if not cuts:
            check_virial(folder, result.stdout)
    ok(result.stdout.count('\n0 atoms, ') == 1, 'lammps: one of them had no atoms', result.stdout)
    energies = re.search(r'energy (\S+) eV\n[^%]*of atoms (\S+) eV\n', result.stdout)
    ok(energies and same([float(word) for word in energies.groups()], plain[:1] * 2), 'lammps: energies of atoms',
       result.stdout)
    equal(run(f'{ROOT}/ghosts', '--refused').stdout, '''\
another element: Expected: pair_coeff * * C, with a C for each type of atoms
no element: Expected: pair_coeff * * C, with a C for each type of atoms
one type of two: Expected: pair_coeff * * C, with a C for each type of atoms
an argument: Pair style cgtp has no arguments
units real: Pair style cgtp needs units metal
newton off: Pair style cgtp needs newton on, for forces on ghosts
stress of atoms: Pair style cgtp has no stress of single atoms
''', 'lammps: what the style refuses')
    before, steps = read(f'{here}/pair_cgtp.cpp'), ('        forward_rows();', '        reverse_rows();')
    for number, step in enumerate(steps):
        replace(f'{here}/pair_cgtp.cpp', step, f'if (MISTAKE != {number}) {step.strip()}')
    write(f'{here}/pair_cgtp.cpp', CHOSEN + read(f'{here}/pair_cgtp.cpp'))
    if build('wrong'):
        for number, step in enumerate(steps):
            ENVIRONMENT['MISTAKE'] = str(number)
            result = run(f'{ROOT}/wrong', CARBON, '0.5', folder=here)
            ok(result.returncode == 0 and not same(forces_of(result), plain), f'lammps: noticed without {step.strip()}',
               result.stdout)
        del ENVIRONMENT['MISTAKE']
    write(f'{here}/pair_cgtp.cpp', before)


INPUT = '''units metal
atom_style atomic
newton on
read_data carbon.data
pair_style cgtp
pair_coeff * * C
mass 1 12.011
fix 1 all nve
timestep 0.0005
thermo_style custom step pe etotal
thermo_modify format float %.9f
dump 1 all custom 20 forces.txt id fx fy fz
dump_modify 1 sort id format float %.9f
run 20
'''


def data_of(path):
    """The structure in LAMMPS's format."""
    first, second, *rows = read(path).splitlines()
    lattice = re.search('"(.*?)"', second)[1].split()
    box = [f'0 {edge} {axis}lo {axis}hi' for edge, axis in zip(lattice[::4], 'xyz')]
    return '\n'.join(['carbon', '', f'{first} atoms', '1 atom types', *box, '', 'Atoms', '',
                      *(f'{i} 1 {row[1:]}' for i, row in enumerate(rows, 1)), ''])


def lammps(here, *launcher):
    """The energy and the forces of the first step and of the last."""
    result = run(*launcher, './lmp_cgtp', '-in', 'input', '-log', 'none', folder=here)
    energies = re.findall(r'^ +(?:0|20) +(\S+) +(\S+)\s*$', result.stdout, re.M)
    dumped = f'{here}/forces.txt'
    frames = read(dumped).split('ITEM: ATOMS id fx fy fz')[1:] if os.path.exists(dumped) else []
    rows = [re.findall(r'^\d+ (\S+) (\S+) (\S+) *$', frame, re.M) for frame in frames]
    if not ok(result.returncode == 0 and len(energies) == len(rows) == 2, f'lammps: {" ".join(launcher)} lmp_cgtp runs',
              result.stdout):
        return None
    os.remove(dumped)
    return [[float(word) for word in [pe, *(word for row in of for word in row)]] for (pe, _), of in zip(energies, rows)]


def test_lammps_itself(folder):
    here = f'{folder}/lammps'
    if not os.path.exists(f'{LAMMPS}/pair.h') or not shutil.which('mpicxx') or not shutil.which('pkg-config'):
        return skip('lammps: the pair style in LAMMPS itself', f'no {LAMMPS}/pair.h, mpicxx and pkg-config (liblammps-dev)')
    old = [] if 'add_request' in read(f'{LAMMPS}/neighbor.h') else ['-Idebian12']
    write(f'{here}/probe.cpp', '#include "pair.h"\n')
    probe = run('mpicxx', *old, '-std=c++17', f'-I{LAMMPS}', '-fsyntax-only', 'probe.cpp', folder=here)
    if probe.returncode:
        return skip('lammps: the pair style in LAMMPS itself', f'its headers: {probe.stdout.splitlines()[0]}')
    if not make(here, 'CFLAGS=-O0'):
        return
    write(f'{here}/carbon.data', data_of(f'{folder}/common/carbon.xyz'))
    write(f'{here}/input', INPUT)
    one = lammps(here)
    plain = forces_of(run('./md', CARBON, '--forces', folder=f'{folder}/md'))
    ok(one and same(one[0], plain), 'lammps: LAMMPS computes what the plain program does', one, plain)
    if not shutil.which('mpirun'):
        return skip('lammps: two processes', 'no mpirun')
    options = ['--allow-run-as-root', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1'] if \
        'Open MPI' in run('mpirun', '--version').stdout else []
    two = lammps(here, 'mpirun', *options, '-n', '2')
    ok(one and two and same(one[0], two[0]) and same(one[1], two[1]) and one[0] != one[1],
       'lammps: two processes compute what one does, and after 20 steps too', one, two)


with tempfile.TemporaryDirectory() as ROOT:
    RIGHT = copy('right')
    test_common(RIGHT)
    test_forces(RIGHT)
    test_forces_single(copy('single'))
    test_lammps(RIGHT)
    test_lammps_itself(RIGHT)
    test_cuda(RIGHT)
    test_md(RIGHT)
done()
