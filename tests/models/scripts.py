#!/usr/bin/env python3
"""TorchScript of models with kernels: what LAMMPS reads of MACE and SevenNet, by their own commands and wrappers, saved, and
read in a process that knows the kernels' libraries and PyTorch alone.

    tests/models/scripts.py mace|sevennet FOLDER
"""
import glob
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(f'{HERE}/../..')
sys.path[:0] = [HERE, f'{HERE}/..', f'{ROOT}/runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate  # noqa: E402
from tap import done, ok, skip  # noqa: E402

NAME, FOLDER = sys.argv[1], os.path.abspath(sys.argv[2])
KERNELS = f'{FOLDER}/scripts_kernels'
os.environ['CGTP_SCRIPT'] = '1'
# Counts calls of kernels; computes, where there are inputs.
READ = """
import glob, sys, torch
for path in sorted(glob.glob(sys.argv[2] + '/*/lib*_cpu.so')) + glob.glob(sys.argv[2] + '/*/libcgtp_script.so'):
    torch.ops.load_library(path)
model = torch.jit.load(sys.argv[1])
print(*(str(model.inlined_graph).count('cgtp_script::' + name) for name in ('convolve', 'tensor_product')))
if len(sys.argv) > 3:
    arguments = torch.load(sys.argv[3])
    torch.save(%s, sys.argv[3] + '.out')
"""
MACE_CALL = "{k: v.detach() for k, v in model(*arguments).items() if v is not None}"
SEVENNET_CALL = "[(e := model(*arguments)['inferred_total_energy'].sum()).detach(), " \
    "*torch.autograd.grad(e, arguments[0]['edge_vec'])]"


def read(path, call='None', *given):
    result = subprocess.run([sys.executable, '-W', 'ignore', '-c', READ % call, path, f'{KERNELS}/site', *given], text=True,
                            capture_output=True, env={k: v for k, v in os.environ.items() if k != 'PYTHONPATH'})
    ok(result.returncode == 0, f'{os.path.basename(path)} is read without cgtpgen', result.stderr[-1500:])
    return [int(word) for word in result.stdout.split()]


def distance(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def mace(case):
    from e3nn.util import jit
    from mace.calculators import LAMMPS_MACE
    arguments = case.inputs(torch.float64), torch.ones(8, dtype=torch.float64), True
    wanted = jit.compile(LAMMPS_MACE(case.like(torch.float64)))({k: v.clone() for k, v in arguments[0].items()}, *arguments[1:])
    torch.save(arguments, f'{FOLDER}/given')
    jit.compile(LAMMPS_MACE(accelerate(case.like(torch.float64), KERNELS, quiet=True))).save(f'{FOLDER}/lammps.pt')
    ok(read(f'{FOLDER}/lammps.pt', MACE_CALL, f'{FOLDER}/given') == [2, 0], 'both convolutions are kernels')
    found = torch.load(f'{FOLDER}/given.out')
    for key in 'total_energy_local', 'forces', 'virials':
        ok(distance(found[key], wanted[key].detach()) < 1e-13, f'LAMMPS_MACE: {key}', distance(found[key], wanted[key].detach()))


def sevennet(case):
    import e3nn.util.jit
    made = []
    for model in case.like(torch.float64), accelerate(case.like(torch.float64), KERNELS, quiet=True):
        model.eval_type_map = False
        model.set_is_batch_data(False)
        model.eval()
        model.onehot_idx_to_onehot._forward_hooks.clear()  # scripts take float32
        model.float()
        model.delete_module_by_key('force_output')
        made.append(torch.jit.freeze(e3nn.util.jit.script(model)))
    made[1].save(f'{FOLDER}/script.pt')
    inputs = case.inputs(torch.float32)
    inputs['x'] = (inputs['x'] == 14).long()
    inputs['edge_vec'] = inputs['edge_vec'].detach().requires_grad_()
    torch.save([inputs], f'{FOLDER}/given')
    energy = made[0](dict(inputs))['inferred_total_energy'].sum()
    wanted = [energy.detach(), *torch.autograd.grad(energy, inputs['edge_vec'])]
    ok(read(f'{FOLDER}/script.pt', SEVENNET_CALL, f'{FOLDER}/given') == [3, 2], 'three convolutions are kernels, and both gates')
    for what, a, b in zip(('energy', 'forces'), torch.load(f'{FOLDER}/given.out'), wanted):
        ok(distance(a, b) < 1e-5, f'a scripted SevenNet: {what}', distance(a, b))
    for words, files in ([], f'{FOLDER}/deployed.pt'), (['-p'], f'{FOLDER}/deployed/*.pt'):
        command = [sys.executable, '-W', 'ignore', '-m', 'cgtpgen.models', 'run', 'sevenn_get_model', '7net-0', '-o', f'{FOLDER}/deployed',
                   *words]
        result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | {
            'PYTHONPATH': f'{ROOT}/runtime/python', 'CGTP_KERNELS': KERNELS})
        ok(result.returncode == 0, f'sevenn_get_model {" ".join(words)}', result.stdout[-2000:])
        counts = [read(path) for path in sorted(glob.glob(files))]
        ok(counts == ([[5, 4]] if not words else [*[[1, 1]] * 4, [1, 0]]), 'all convolutions and gates of SevenNet-0 are kernels', counts)


if os.path.exists(f'{ROOT}/runtime/cgtp_script.cpp'):
    torch.set_default_dtype(torch.float64)
    {'mace': mace, 'sevennet': sevennet}[NAME](packages.CASES[NAME](packages.crystal(), 4))
else:
    skip(NAME, 'modules have no operators that TorchScript takes')
done()
