#!/usr/bin/env python3
"""A stranger's first hour: `pip install` of the wheel into an environment that has MACE, and nothing of a checkout; a model in a
folder whose name has a space; the command, and the two lines of Python.

    tests/models/wheel.py FOLDER
"""
import glob
import os
import shutil
import site
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(f'{HERE}/../..')
sys.path[:0] = [HERE, f'{HERE}/..']
import packages  # noqa: E402
import torch  # noqa: E402
from e3nn import o3  # noqa: E402
from tap import done, equal, ok  # noqa: E402

FOLDER = os.path.abspath(f'{sys.argv[1]}/stranger')
VENV, HOME = f'{FOLDER}/venv', f"{FOLDER}/a model's folder"
OWN = {'CGTPGEN', 'CGTP_RUNTIME', 'CGTP_KERNELS', 'BUILD', 'MAKEFLAGS', 'MFLAGS', 'MAKELEVEL'}  # what a stranger has not set
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in OWN}
USE = '''
import os, sys, cgtpgen, torch
from cgtpgen.models import accelerate, restore
inputs = torch.load("inputs.pt", weights_only=False)
def numbers(model):
    out = model(dict(inputs), compute_force=True, compute_stress=True)
    return [out[key].detach() for key in ("energy", "forces", "stress")]
model = torch.load(sys.argv[1], weights_only=False)
made = [numbers(accelerate(model, dtypes=["float64"])), numbers(restore(model))]
torch.save(made, "numbers.pt")
print(os.path.dirname(cgtpgen.__file__), cgtpgen.generator(), sep="\\n")
'''


def run(*command, folder=HOME):
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, text=True, capture_output=True)


def command(*words):
    return run(f'{VENV}/bin/python', '-m', 'cgtpgen.models', *words, '--dtypes', 'float64')


def install():
    """The wheel into an environment of its own, which sees this one's packages behind its own."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(HOME)
    made = run('make', '-s', 'wheel', f'PYTHON={sys.executable}', f'BUILD={FOLDER}/build', folder=ROOT)
    wheels = glob.glob(f'{FOLDER}/build/wheel/*.whl')
    if not ok(made.returncode == 0 and len(wheels) == 1, 'make wheel', made.stdout[-1500:], made.stderr[-1500:]):
        return False
    run(sys.executable, '-m', 'venv', VENV)
    [packages_of] = glob.glob(f'{VENV}/lib/python*/site-packages')
    with open(f'{packages_of}/those_behind.pth', 'w') as file:
        file.writelines(f'{path}\n' for path in site.getsitepackages())
    made = run(f'{VENV}/bin/python', '-m', 'pip', 'install', '--no-index', '--no-deps', *wheels)
    return ok(made.returncode == 0, 'pip install', made.stdout, made.stderr)


def error(found, wanted):
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(found, wanted))


def ahead():
    """python3 -m cgtpgen.models specs, check, build."""
    made = command('specs', 'model.pt')
    names = sorted(os.path.basename(path)[:-5] for path in glob.glob(f'{glob.escape(HOME)}/cgtp_kernels/specs/*.yaml'))
    ok(made.returncode == 0 and len(names) > 3, 'specs', made.stdout, made.stderr)
    equal(made.stdout.splitlines(), names, 'which prints the names of what it wrote, and nothing else')
    made = command('check', 'model.pt')
    ok(made.returncode == 1 and all(name in made.stdout for name in names), 'check: none of them is built', made.stdout,
       made.stderr)
    made = command('build', 'model.pt', '-o', 'fast.pt')
    with open(f'{HOME}/cgtp_kernels/build/log') as file:
        log = file.read()
    ok(made.returncode == 0 and 'cgtpgen: built in ' in made.stderr and log and 'warning' not in log,
       'build, of which no compiler warns', made.stdout, made.stderr, log[-2000:])
    made = command('check', 'model.pt')
    ok(made.returncode == 0 and 'not built' not in made.stdout, 'check: all of them are built', made.stdout, made.stderr)
    made = command('check', 'no such model.pt')
    said = [line for line in made.stderr.splitlines() if line.startswith('cgtpgen: ')]
    ok(made.returncode == 1 and len(said) == 1 and 'no such model.pt: there is no such file, ' in said[0] and
       'Traceback' not in made.stderr, 'a file that is not there is one line', made.stderr)


def use(wanted):
    for path in 'model.pt', 'fast.pt':
        made = run(f'{VENV}/bin/python', '-W', 'ignore', '-c', USE, path)
        taken = made.returncode == 0 and 'building' not in made.stderr
        if not ok(taken, f'accelerate({path}) takes what is built', made.stderr[-1500:]):
            continue
        package, program = made.stdout.splitlines()[-2:]
        ok(package.startswith(f'{VENV}/lib/') and program.startswith(package), "by the wheel's own package and generator",
           made.stdout)
        fast, restored = torch.load(f'{HOME}/numbers.pt')
        ok(error(fast, wanted) < 1e-13 and not all(torch.equal(*both) for both in zip(fast, wanted)),
           'its energy, forces and stress are those of the model, by kernels', error(fast, wanted))
        ok(all(torch.equal(*both) for both in zip(restored, wanted)), 'and restored they are the same bits')


def main():
    packages.Mace.more = {'hidden_irreps': o3.Irreps('4x0e + 4x1o'), 'max_ell': 2, 'correlation': 2}  # soon built
    case = packages.Mace(packages.crystal(), 4)
    model, inputs = case.like(torch.float64), case.inputs(torch.float64)
    if install():
        torch.save(model, f'{HOME}/model.pt')
        torch.save(inputs, f'{HOME}/inputs.pt')
        out = model(dict(inputs), compute_force=True, compute_stress=True)
        ahead()
        use([out[key].detach() for key in ('energy', 'forces', 'stress')])
    done()


main()
