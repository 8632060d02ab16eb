#!/usr/bin/env python3
"""What LAMMPS's ML-IAP calls of MACE and SevenNet, without LAMMPS (ghosts.py): energies and forces are those of the periodic
crystal, with kernels as without. MACE's class has a model with kernels; SevenNet's builds one from a checkpoint when it is first
called, in a process of LAMMPS, and is written by SevenNet's own command. NequIP's is in commands.py.

    tests/models/mliap.py mace|sevennet FOLDER
"""
import os
import pickle
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(f'{HERE}/../..')
sys.path[:0] = [HERE, f'{HERE}/..', f'{ROOT}/runtime/python']
import ghosts  # noqa: E402
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate  # noqa: E402
from tap import done, ok  # noqa: E402

NAME, FOLDER = sys.argv[1], os.path.abspath(sys.argv[2])
INTERFACE = ghosts.interface(FOLDER)


def distance(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def exchanged(fast, plain):
    ok(fast.ntotal > 4 * fast.nlocal, 'most atoms are ghosts', fast.ntotal)
    ok(fast.exchanges == plain.exchanges and min(fast.exchanges) < 0 < max(fast.exchanges),
       'features are exchanged, and gradients back', fast.exchanges, plain.exchanges)


def mace():
    from mace.calculators.lammps_mliap_mace import LAMMPS_MLIAP_MACE
    torch.set_default_dtype(torch.float64)
    case = packages.CASES['mace'](packages.crystal(), 4)
    energy, forces, _ = case.call(case.like(torch.float64), case.inputs(torch.float64), stress=False)
    plain, fast = (ghosts.Lammps(case.atoms, case.cutoff, [case.elements.index(z) for z in case.atoms.numbers]) for _ in range(2))
    LAMMPS_MLIAP_MACE(case.like(torch.float64)).compute_forces(plain)
    model = accelerate(case.like(torch.float64), f'{FOLDER}/mace_kernels', quiet=True)
    wrapped = pickle.loads(pickle.dumps(LAMMPS_MLIAP_MACE(model)))  # as LAMMPS reads it from a file
    wrapped.compute_forces(fast)
    exchanged(fast, plain)
    ok(any(hasattr(type(part), 'cgtp_bases') and part.cgtp_made.products['float64'] for part in wrapped.model.modules()),
       'a wrapper from a file computes by kernels')
    for name, a, b in (('energy', torch.tensor(fast.energy), energy.detach()), ('energies of atoms', fast.eatoms, plain.eatoms),
                       ('forces', fast.forces, forces.detach()),
                       ('forces, beside those without kernels', fast.forces, plain.forces)):
        ok(distance(a, b) < 1e-11, f'{name} of the crystal' if 'beside' not in name else name, distance(a, b))


class Zero(packages.Trained):
    checkpoint = '7net-0'

    def build(self, dtype):
        torch.set_default_dtype(torch.float32)  # the checkpoint's, which sevenn compares with that of what it builds
        return super().build(dtype)


def sevennet():
    """The trained SevenNet-0 in float32, in which its class computes: within twice its own rounding."""
    from sevenn.mliap import SevenNetMLIAPWrapper
    case = Zero(packages.crystal(), 0, 5.0)
    energy, forces, _ = case.call(case.like(torch.float64), case.inputs(torch.float64))
    torch.set_default_dtype(torch.float32)
    plain, fast = (ghosts.Lammps(case.atoms, case.cutoff, case.atoms.numbers) for _ in range(2))
    SevenNetMLIAPWrapper('7net-0').compute_forces(plain)
    where = {'PYTHONPATH': f'{ROOT}/runtime/python:{INTERFACE}'}
    result = subprocess.run([sys.executable, '-W', 'ignore', '-m', 'cgtpgen.models', 'run', 'sevenn_get_model', '7net-0', '-mliap',
                             '-o', f'{FOLDER}/mliap.pt'], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env=os.environ | where | {'CGTP_KERNELS': f'{FOLDER}/trained_kernels'})
    ok(result.returncode == 0, 'sevenn_get_model -mliap', result.stdout[-2000:])
    [fast], _ = ghosts.called(f'{FOLDER}/mliap.pt', [fast], FOLDER, **where)
    ok(getattr(fast, 'fast', 0) >= 5, 'by kernels', getattr(fast, 'fast', 0))
    exchanged(fast, plain)
    for name, a, own, b in (('energy', fast.energy, plain.energy, energy.detach()),
                            ('forces', fast.forces, plain.forces, forces.detach()),
                            ('energies of atoms', fast.eatoms, plain.eatoms, plain.eatoms)):
        bound = 2 * max(distance(own, b), 4 * 2.0**-23)
        ok(distance(a, b) < bound, f'{name} of the crystal', f'{distance(a, b)}, bound {bound}')


{'mace': mace, 'sevennet': sevennet}[NAME]()
done()
