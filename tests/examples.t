#!/usr/bin/env python3
"""docs/examples/ does what it says, built outside of this tree."""
import glob
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
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(('MAKE', 'MFLAGS'))}
VARIABLES = [f"CGTPGEN={plain(os.environ.get('CGTPGEN', 'build/cgtpgen'))}",
             f"RUNTIME={plain('runtime')}", f"CC={os.environ.get('CC', 'cc')}", f'NVCC={NVCC}',
             'CFLAGS=-O1 -Wall -Wextra -Werror']


def make(folder, *arguments):
    return subprocess.run(['make', *VARIABLES, *arguments], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def program(folder):
    return subprocess.run([f'{folder}/fallback'], stdout=subprocess.PIPE, text=True).stdout


def test_fallback(folder):
    """A product in C and in CUDA in one program. Without a GPU both builds run the same."""
    made = make(folder)
    ok(made.returncode == 0, 'fallback: builds without CUDA', made.stdout)
    alone = program(folder)
    found = re.fullmatch(r'layer_cpu \(c\): sum of z\^2 = (\S+)\n', alone)
    ok(found and float(found.group(1)) > 1, 'fallback: runs on the CPU', alone)
    if not shutil.which(NVCC):
        return skip('fallback: with CUDA', 'no nvcc')
    os.remove(f'{folder}/fallback')
    made = make(folder, 'GPU=1')
    ok(made.returncode == 0, 'fallback: builds with CUDA', made.stdout)
    both = program(folder)
    sums = [text.split('= ')[-1] for text in (alone, both)]
    if os.path.exists('/dev/nvidia0'):
        ok(both.startswith('layer_gpu (cuda): ') and sums[0] == sums[1], 'fallback: runs on the GPU', alone, both)
    else:
        equal(both, alone, 'fallback: without a GPU the same program runs on the CPU')
    symbols = subprocess.run(['nm', f'{folder}/fallback'], stdout=subprocess.PIPE, text=True).stdout
    ok({'layer_cpu_forward', 'layer_gpu_forward'} <= set(re.findall(r' T (\w+)', symbols)),
       'fallback: and has both products', symbols)


def test_names(folder, name, product):
    """A runtime and a generator in folders with spaces; what is one's own among the generated files stays."""
    here = os.path.dirname(folder)
    links = {word[:word.index('=')]: word.split('=', 1)[1] for word in VARIABLES if word.startswith(('CGTPGEN=', 'RUNTIME='))}
    os.makedirs(f'{here}/with spaces', exist_ok=True)
    for variable, path in links.items():
        if not os.path.exists(f'{here}/with spaces/{variable}'):
            os.symlink(path, f'{here}/with spaces/{variable}')
    spaced = [f'{variable}={here}/with spaces/{variable}' for variable in links]
    run = make(folder, 'clean')
    ok(run.returncode == 0 and not os.path.exists(f'{folder}/gen') and not os.path.exists(f'{folder}/{product}'),
       f'{name}: make clean removes all that was made', run.stdout)
    os.makedirs(f'{folder}/gen')
    with open(f'{folder}/gen/mine.c', 'w') as file:
        file.write('int mine;\n')
    run = make(folder, *spaced)
    ok(run.returncode == 0, f'{name}: builds by folders with spaces', run.stdout)
    run = make(folder, *spaced, 'clean')
    ok(run.returncode == 0 and os.listdir(f'{folder}/gen') == ['mine.c'], f"{name}: make clean leaves one's own file", run.stdout)


def test_graph(folder):
    made = make(folder)
    ok(made.returncode == 0, 'graph: builds', made.stdout)
    told = subprocess.run([f'{folder}/graph'], stdout=subprocess.PIPE, text=True).stdout
    wanted = ''.join(f'z[{r}] = {z}\n' for r, z in enumerate([10 * 3 + 100 * 4, 100 * 1 + 1 * 5, 1 * 2 + 10 * 6]))
    equal(told, wanted, 'graph: sums over edges that came in another order')


def test_no_runtime(folder):
    """Nothing is installed, and no RUNTIME is given: the first line says what to do, and is all there is."""
    shutil.copytree('docs/examples', folder)
    nowhere = ENVIRONMENT | {'PKG_CONFIG_LIBDIR': f'{folder}/nowhere', 'PKG_CONFIG_PATH': '', 'LC_ALL': 'C'}
    given = [word for word in VARIABLES if not word.startswith('RUNTIME=')]
    for path in sorted(glob.glob(f'{folder}/*/Makefile')):
        run = subprocess.run(['make', '-s', *given], cwd=os.path.dirname(path), env=nowhere, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        name = os.path.basename(os.path.dirname(path))
        ok(run.returncode == 2 and re.fullmatch(r'Makefile:\d+: \*\*\* pkg-config finds no installed cgtpgen: say make RUNTIME=FOLDER, '
                                                r'.* in PKG_CONFIG_PATH\.  Stop\.\n', run.stdout),
           f'{name}: without a runtime one line says what to do', run.stdout)


def test_ctypes(folder):
    made = make(folder)
    ok(made.returncode == 0, 'ctypes: builds', made.stdout)
    told = subprocess.run([sys.executable, '-B', f'{folder}/layer.py'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True).stdout.splitlines()
    if not ok(len(told) == 6 and re.fullmatch('edges in the order( \\d+){12}', told[0]), 'ctypes: sorts', *told):
        return
    ok(sorted(told[0].split()[4:], key=int) != told[0].split()[4:], 'ctypes: what was not sorted', told[0])
    numbers = [float(re.fullmatch(r'\w+ \. \w+ = (\S+)', line)[1]) for line in told[1:5]]
    ok(abs(numbers[0]) > 0.1 and max(numbers) - min(numbers) < 1e-4, 'ctypes: all derivatives give the same', *told)
    ok(told[5].startswith('the graph has an index out of range'), 'ctypes: statuses have their texts', told[5])


def test_shared(folder):
    """One library, from C++ and from Python, built by make and by CMake: the same bits."""
    def told(program, *arguments):
        return subprocess.run([*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

    made = make(folder)
    ok(made.returncode == 0, 'shared: make', made.stdout)
    lines = told([f'{folder}/program']).splitlines()
    ok(len(lines) == 5 and float(lines[0].split()[1]) > 1, 'shared: the program in C++', *lines)
    python = [sys.executable, '-B', f'{folder}/energy.py']
    wanted = [*lines, f'0, by the kernel alone {lines[0].split()[1]}']
    equal(told(python).splitlines(), wanted, 'shared: Python has the same numbers, of the library and of its kernel')
    later = ('import builtins, math, runpy, sys; builtins.sum = math.fsum; '
             'runpy.run_path(sys.argv.pop(1), run_name="__main__")')  # the sum of Python 3.12 is not rounded at each step
    equal(told([sys.executable, '-B', '-c', later, f'{folder}/energy.py', f'{folder}/libenergy.so']).splitlines(), wanted,
          'shared: a later Python too')
    if not shutil.which('cmake'):
        return skip('shared: CMake', 'it is not there')
    made = subprocess.run(['cmake', '-S', folder, '-B', f'{folder}/out', f'-Dcgtpgen_DIR={os.path.abspath("runtime")}',
                           f'-D{VARIABLES[0].replace("CGTPGEN=", "CGTPGEN_EXECUTABLE=")}'], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    built = subprocess.run(['cmake', '--build', f'{folder}/out'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env=ENVIRONMENT)
    ok(made.returncode == 0 == built.returncode, 'shared: CMake', made.stdout, built.stdout)
    lines = told([f'{folder}/out/program']).splitlines()
    wanted = [*lines, f'0, by the kernel alone {lines[0].split()[1]}'] if lines else None
    equal(told(python, f'{folder}/out/libenergy.so').splitlines(), wanted, 'shared: and of that library')
    return None


def test_report(folder):
    """The page of the layer that the log is of is what the generator writes today."""
    generator = VARIABLES[0].split('=', 1)[1]
    fresh = subprocess.run([generator, '--check', '--emit=report', f'--measured={folder}/mace_large.tsv', '-o', folder,
                            'specs/mace_large.yaml'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ok(fresh.returncode == 0, 'report: is fresh (make generated brings it up to date)', fresh.stdout)


# Of the examples that generate by a rule of their own, what they make.
PRODUCT = {'fallback': 'fallback', 'graph': 'graph', 'ctypes': 'liblayer.so'}
TESTS = {'ctypes': test_ctypes, 'fallback': test_fallback, 'graph': test_graph, 'report': test_report,
         'shared': test_shared}
ELSEWHERE = ['common', 'ddp', 'forces', 'lammps', 'md', 'ranks']  # tests/simulation.t, torch.t, ranks.t
equal(sorted(os.listdir('docs/examples')), sorted([*TESTS, *ELSEWHERE]), 'every example is tested')
with tempfile.TemporaryDirectory() as ROOT:
    for name, test in TESTS.items():
        shutil.copytree(f'docs/examples/{name}', f'{ROOT}/{name}')
        test(f'{ROOT}/{name}')
        if name in PRODUCT:
            test_names(f'{ROOT}/{name}', name, PRODUCT[name])
    test_no_runtime(f'{ROOT}/no runtime')
done()
