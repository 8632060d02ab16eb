#!/usr/bin/env python3
"""What LAMMPS's ML-IAP calls of MACE, LAMMPS_MLIAP_MACE, on the CPU and without LAMMPS: atoms with ghosts, whose features are
exchanged between layers, there and back. Energies and forces are those of the periodic crystal, with kernels as without.

    tests/models/mliap.py FOLDER
"""
import os
import pickle
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/..', f'{HERE}/../../runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate  # noqa: E402
from mace.calculators.lammps_mliap_mace import LAMMPS_MLIAP_MACE  # noqa: E402
from tap import done, ok  # noqa: E402

torch.set_default_dtype(torch.float64)


class Lammps:
    """What ML-IAP gives a model: local atoms, then ghosts, each the image of one of them; and takes: forces of pairs."""

    def __init__(self, case):
        inputs = case.inputs(torch.float64)
        sender, receiver = inputs['edge_index']
        images, owner = {}, list(range(len(case.atoms)))
        for atom, shift in zip(sender.tolist(), case.shift.tolist()):
            if any(shift) and (atom, *shift) not in images:
                images[atom, *shift] = len(owner)
                owner.append(atom)
        self.owner = torch.tensor(owner)
        self.nlocal, self.ntotal, self.npairs = len(case.atoms), len(owner), len(sender)
        self.pair_i = receiver
        self.pair_j = torch.tensor([images[atom, *shift] if any(shift) else atom
                                    for atom, shift in zip(sender.tolist(), case.shift.tolist())])
        self.rij = inputs['positions'][sender] - inputs['positions'][receiver] - inputs['shifts']  # which are receivers'
        self.elems = inputs['node_attrs'].argmax(1)[self.owner]
        self.eatoms, self.energy, self.exchanges = torch.zeros(self.nlocal), 0.0, []

    def forward_exchange(self, features, into, width):
        into.copy_(features[self.owner])
        self.exchanges.append(width)

    def reverse_exchange(self, gradient, into, width):
        into.zero_()
        into.index_add_(0, self.owner, gradient)
        self.exchanges.append(-width)

    def update_pair_forces_gpu(self, forces):
        self.forces = torch.zeros(self.nlocal, 3)
        self.forces.index_add_(0, self.pair_i, forces).index_add_(0, self.owner[self.pair_j], -forces)


def distance(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


case = packages.CASES['mace'](packages.crystal(), 4)
energy, forces, _ = case.call(case.like(torch.float64), case.inputs(torch.float64), stress=False)
plain, fast = Lammps(case), Lammps(case)
LAMMPS_MLIAP_MACE(case.like(torch.float64)).compute_forces(plain)
model = accelerate(case.like(torch.float64), f'{sys.argv[1]}/mace_kernels', quiet=True)
wrapped = pickle.loads(pickle.dumps(LAMMPS_MLIAP_MACE(model)))  # as LAMMPS reads it from a file
wrapped.compute_forces(fast)
ok(fast.ntotal > 4 * fast.nlocal, 'most atoms are ghosts', fast.ntotal)
ok(any(hasattr(type(part), 'cgtp_bases') and part.cgtp_made.products['float64'] for part in wrapped.model.modules()),
   'a wrapper from a file computes by kernels')
ok(fast.exchanges == plain.exchanges and min(fast.exchanges) < 0 < max(fast.exchanges), 'features are exchanged, and gradients back',
   fast.exchanges, plain.exchanges)
for name, a, b in (('energy', torch.tensor(fast.energy), energy.detach()), ('energies of atoms', fast.eatoms, plain.eatoms),
                   ('forces', fast.forces, forces.detach()), ('forces, beside those without kernels', fast.forces, plain.forces)):
    ok(distance(a, b) < 1e-11, f'{name} of the crystal' if 'beside' not in name else name, distance(a, b))
done()
