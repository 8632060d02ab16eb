#!/usr/bin/env python3
"""The trained checkpoints that sevenn's wheel holds, with kernels against without: energies, forces, stress, a Hessian, a
training step, a relaxation by ASE and dynamics.

    tests/models/trained.py [--device=cuda] [--steps=1000] FOLDER [MODEL..]
"""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/..', f'{HERE}/../../runtime/python']
import ase.build  # noqa: E402
import ase.io  # noqa: E402
import ase.md.velocitydistribution  # noqa: E402
import ase.md.verlet  # noqa: E402
import ase.optimize  # noqa: E402
import ase.units  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate, radial  # noqa: E402
from tap import done, ok  # noqa: E402

DEVICE = 'cuda' if '--device=cuda' in sys.argv else 'cpu'
STEPS = next((int(word[8:]) for word in sys.argv if word.startswith('--steps=')), 1000)
FOLDER, *NAMED = [word for word in sys.argv[1:] if not word.startswith('--')]
MODELS = {'7net-0': {}, '7net-l3i5': {}, '7net-mf-0': {'modal': 'PBE'}}
radial.LEAST = 1  # small as the systems are
EPSILON = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def salt(seed=1):
    atoms = ase.build.bulk('NaCl', 'rocksalt', a=5.7, cubic=True)
    atoms.rattle(0.1, seed=seed)
    atoms.set_cell(atoms.cell.array @ (numpy.eye(3) + 0.02 * numpy.random.default_rng(seed).uniform(-1, 1, (3, 3))),
                   scale_atoms=True)
    return atoms


def slab():
    atoms = ase.build.fcc111('Cu', (2, 2, 2), vacuum=8)
    atoms.rattle(0.1, seed=2)
    return atoms


def molecule():
    atoms = ase.build.molecule('CH3CH2OH', vacuum=6)
    atoms.pbc = True
    atoms.rattle(0.05, seed=3)
    return atoms


def exact(model):
    """3j symbols as they are: those of a float32 checkpoint are rounded to it, also where the model is float64."""
    from e3nn import o3
    for name, buffer in model.named_buffers():
        if '_w3j_' in name:
            buffer.copy_(o3.wigner_3j(*map(int, name.split('_w3j_')[1].split('_')), dtype=torch.float64))


def fresh(name, dtype, rounded=False):
    """A calculator of a trained model in a type. rounded: with 3j symbols as its checkpoint has them."""
    from sevenn.calculator import SevenNetCalculator
    calculator = SevenNetCalculator(name, device=DEVICE, **MODELS[name])
    model = calculator.model.to(dtype)
    rounded or exact(model)
    model.onehot_idx_to_onehot.register_forward_hook(
        lambda module, arguments, data: data.update({key: data[key].to(dtype) for key in ('x', 'node_attr')}) or data)
    return calculator


def inputs(calculator, atoms, dtype, positions=None):
    import sevenn._keys as KEY
    from sevenn.atom_graph_data import AtomGraphData
    from sevenn.train.dataload import unlabeled_atoms_to_graph
    data = AtomGraphData.from_numpy_dict(unlabeled_atoms_to_graph(atoms, calculator.cutoff, with_shift=True)).to(DEVICE)
    for key, value in data.to_dict().items():
        if torch.is_tensor(value) and value.is_floating_point():
            data[key] = value.to(dtype)
    if calculator.modal:
        data[KEY.DATA_MODALITY] = calculator.modal
    if positions is not None:
        receiver, sender = data['edge_index']
        cell = torch.tensor(atoms.cell.array, dtype=dtype, device=DEVICE)
        data['edge_vec'] = positions[sender] - positions[receiver] + data['pbc_shift'].to(dtype) @ cell
    return data


def call(calculator, atoms, dtype):
    out = calculator.model(inputs(calculator, atoms, dtype))
    return [out[key].detach().double() for key in ('inferred_total_energy', 'inferred_force', 'inferred_stress')]


def distance(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def numbers(name):
    """float64 to 1e-13; float32 within twice the rounding that the package's own float32 has."""
    made = {dtype: (fresh(name, dtype), fresh(name, dtype)) for dtype in EPSILON}
    for plain, fast in made.values():
        accelerate(fast, f'{FOLDER}/trained_kernels', quiet=True)
    for atoms in salt(), slab(), molecule():
        plain, fast = made[torch.float64]
        exactly = call(plain, atoms, torch.float64)
        for what, a, b in zip(('energy', 'forces', 'stress'), call(fast, atoms, torch.float64), exactly):
            ok(distance(a, b) < 1e-13, f'{name}, {atoms.symbols}, float64: {what}', distance(a, b))
        plain, fast = made[torch.float32]
        for what, a, own, b in zip(('energy', 'forces', 'stress'), call(fast, atoms, torch.float32),
                                   call(plain, atoms, torch.float32), exactly):
            bound = 2 * max(distance(own, b), 4 * EPSILON[torch.float32])
            ok(distance(a, b) < bound, f'{name}, {atoms.symbols}, float32: {what}', f'{distance(a, b)}, bound {bound}')
            print(f'# {name}, {atoms.symbols}, float32: {what} {distance(a, b):.1e}, its own {distance(own, b):.1e}')


def hessian(calculator, atoms):
    positions = torch.tensor(atoms.positions, device=DEVICE, requires_grad=True)
    model = calculator.model.train()  # keeps the graph
    energy = model(inputs(calculator, atoms, torch.float64, positions))['inferred_total_energy']
    model.eval()
    [gradient] = torch.autograd.grad(energy, positions, create_graph=True)
    return torch.stack([torch.autograd.grad(value, positions, retain_graph=True)[0].flatten() for value in gradient.flatten()])


def gradients(calculator, atoms):
    model = calculator.model.train()
    out = model(inputs(calculator, atoms, torch.float64))
    loss = out['inferred_total_energy'] / len(atoms) + out['inferred_force'].square().mean() + \
        100 * out['inferred_stress'].square().mean()
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = dict(zip(named, torch.autograd.grad(loss, list(named.values()), allow_unused=True)))
    model.eval()
    return {name: g for name, g in found.items() if g is not None}


def symbols(name):
    """A float32 checkpoint's 3j symbols, which a model of float64 keeps, are what its numbers differ by from exact ones."""
    (_, forces, _), (_, exactly, _) = (call(fresh(name, torch.float64, rounded), salt(), torch.float64) for rounded in (True, False))
    ok(1e-11 < distance(forces, exactly) < 1e-7, f'{name}: 3j symbols of a float32 checkpoint are rounded', distance(forces, exactly))


def derivatives(name):
    plain, fast = fresh(name, torch.float64), accelerate(fresh(name, torch.float64), f'{FOLDER}/trained_kernels', quiet=True)
    atoms = salt()
    a, b = hessian(fast, atoms), hessian(plain, atoms)
    ok(distance(a, b) < 1e-12, f'{name}: Hessian', distance(a, b))
    ok(distance(a, a.T) < 1e-12, f'{name}: which is symmetric')
    found, wanted = gradients(fast, atoms), gradients(plain, atoms)
    ok(found.keys() == wanted.keys() and len(found) > 20, f'{name}: gradients of {len(found)} parameters')
    largest = max(g.abs().max().item() for g in wanted.values())
    for key in wanted:
        error = (found[key] - wanted[key]).abs().max().item() / max(wanted[key].abs().max().item(), 1e-6 * largest)
        ok(error < 1e-11, f'{name}: gradient of {key}', error)


def relaxed(calculator):
    atoms = salt(4)
    atoms.calc = calculator
    optimiser = ase.optimize.BFGS(atoms, logfile=None)
    optimiser.run(fmax=0.01, steps=100)
    return atoms, optimiser.nsteps


def dynamics(name):
    """ASE's own, by the package's calculator in its own type. Along the way its energies and forces are as near to those of
    float64 as the package's are, so that it conserves what the package does."""
    from sevenn.calculator import SevenNetCalculator
    plain, fast = (SevenNetCalculator(name, device=DEVICE, **MODELS[name]) for _ in range(2))
    accelerate(fast, f'{FOLDER}/trained_kernels', quiet=True)
    precise = fresh(name, torch.float64)
    (one, steps), (two, other) = relaxed(fast), relaxed(plain)
    ok(abs(one.get_potential_energy() - two.get_potential_energy()) < 1e-4 and abs(steps - other) <= 2,
       f'{name}: a relaxation ends where the package\'s does', one.get_potential_energy(), two.get_potential_energy(), steps, other)
    atoms = one
    numpy.random.seed(5)
    ase.md.velocitydistribution.MaxwellBoltzmannDistribution(atoms, temperature_K=600)
    md = ase.md.verlet.VelocityVerlet(atoms, 1 * ase.units.fs)
    energies, kinetic, errors = [], [], []

    def look():
        energies.append(atoms.get_total_energy())
        kinetic.append(atoms.get_kinetic_energy())
        if md.nsteps % (STEPS // 20) == 0:
            same = atoms.copy()
            same.calc = plain
            exactly = [value.cpu().numpy() for value in call(precise, atoms, torch.float64)[:2]]
            errors.append([[abs(of.get_potential_energy() - exactly[0].item()), abs(of.get_forces() - exactly[1]).max()]
                           for of in (atoms, same)] + [[1, abs(exactly[1]).max()]])
    md.attach(look)
    md.run(STEPS)
    slope = numpy.polyfit(numpy.arange(len(energies)), energies, 1)[0] * len(energies) / len(atoms)
    swing = (max(energies) - min(energies)) / len(atoms)
    ok(len(energies) == STEPS + 1 and abs(slope) < 2e-4 and swing < 0.02 * max(kinetic),
       f'{name}: {STEPS} steps of dynamics conserve energy', f'drift {slope} eV an atom, swing {swing}, kinetic {max(kinetic)}')
    (energy, force), (own_energy, own_force), (_, largest) = numpy.max(errors, 0)
    ok(energy < 2 * max(own_energy, 1e-6 * len(atoms)) and force < 2 * max(own_force, 4 * EPSILON[torch.float32] * largest),
       f'{name}: rounding at {len(errors)} points of the way is at most twice the package\'s', energy, own_energy, force, own_force)
    print(f'# {name}: {STEPS} steps: drift {slope:.1e} eV an atom, swing {swing:.1e}; rounding of energies {energy:.1e} eV, the '
          f'package\'s {own_energy:.1e}, of forces {force / largest:.1e} of the largest, {own_force / largest:.1e}', flush=True)


for named in NAMED or MODELS:
    numbers(named)
    symbols(named)
    derivatives(named)
    torch.set_default_dtype(torch.float32)
    dynamics(named)
done()
