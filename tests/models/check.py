#!/usr/bin/env python3
"""A model of another package against itself with generated modules, on the CPU or, with --device=cuda, on a GPU.

    tests/models/check.py [--device=cuda] mace|nequip|sevennet|allegro FOLDER

FOLDER is where the kernels are generated and built. Energies, forces, stresses and the gradients of a training step by
all parameters differ by rounding; forces are the derivatives of the energy; and dynamics conserve it.
"""
import copy
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/..', f'{HERE}/../../runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate, radial, report, restore, specs  # noqa: E402
from cgtpgen.models.graphs import Step, given  # noqa: E402
from left_out import told  # noqa: E402
from tap import done, ok  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

DEVICE = 'cuda' if '--device=cuda' in sys.argv else 'cpu'
NAME, FOLDER = [word for word in sys.argv[1:] if not word.startswith('--')]
CHANNELS = {'cpu': 4, 'cuda': 32}[DEVICE]
TYPES = {'f64': torch.float64, 'f32': torch.float32}
radial.LEAST = 1  # small as the models are
STEPS = 16  # of dynamics, and as many again with half the step


def swapped(case, kind):
    model = accelerate(case.like(TYPES[kind], DEVICE), f'{FOLDER}/{NAME}_kernels', devices=[DEVICE], quiet=True)
    return model, sum(case.degree * len(part.product.instructions) for part in model.modules() if hasattr(part, 'product'))


def gradients(model, results):
    """By all parameters, by name, of a loss of energy, forces and stress: the forces are differentiated once more."""
    energy, forces, stress = results
    loss = energy / len(forces) + forces.square().mean() + 100 * stress.square().mean()
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    return {name: gradient for name, gradient in zip(parameters, found)}


def near(found, wanted, kind, terms, name):
    """As far apart as a sum of so many terms may be, in whichever order it is computed. kind: the type that it is
    computed in, whatever it is brought to afterwards."""
    bound = terms * torch.finfo(TYPES[kind]).eps * wanted.abs().max().item()
    error = (found - wanted).abs().max().item()
    ok(error <= bound, name, f'error {error:.2e}, bound {bound:.2e}, largest {wanted.abs().max().item():.2e}')
    return error / (wanted.abs().max().item() or 1)


def compare(case, kind):
    plain, (model, terms) = case.like(TYPES[kind], DEVICE), swapped(case, kind)
    inputs = case.inputs(TYPES[kind], DEVICE)
    worst, shared = {}, []
    own = radial.Both.forward
    radial.Both.forward = staticmethod(lambda ctx, rows, pairs: (shared.append(len(rows)), own(ctx, rows, pairs))[1])
    for training in False, True:
        wanted, found = case.call(plain, inputs, training), case.call(model, inputs, training)
        for name, a, b in zip(('energy', 'forces', 'stress'), found, wanted):
            worst[name] = near(a.detach(), b.detach(), kind, terms,
                               f'{kind}: {name}{", training" if training else ""}')
    wanted, found = gradients(plain, wanted), gradients(model, found)
    radial.Both.forward = own
    ok(DEVICE != 'cpu' or bool(shared) == (NAME != 'allegro'), f'{kind}: networks are computed once for a pair of edges', shared)
    ok(wanted.keys() == found.keys(), f'{kind}: the same parameters', *(wanted.keys() ^ found.keys()))
    same = [name for name in wanted if (wanted[name] is None) == (found[name] is None)]
    ok(len(same) == len(wanted), f'{kind}: the same parameters have gradients', *(wanted.keys() - set(same)))
    there = [name for name in same if wanted[name] is not None]
    worst['gradients'] = max(near(found[name], wanted[name], kind, terms, f'{kind}: gradient of {name}')
                             for name in there)
    print(f'# {kind}: largest differences, of the largest element:',
          ', '.join(f'{name} {error:.1e}' for name, error in worst.items()), flush=True)
    keeps(case, plain, model, kind, terms)


class Moved(TorchDispatchMode):
    """Elements that operators write which compute nothing."""

    names = re.compile(r'aten\.(cat|stack|clone|copy_|zero_|fill_|new_zeros|zeros(_like)?|slice_backward|select_backward|scatter_add_?|'
                       r'gather|index_select|index_add_?)\.')
    elements = 0

    def __torch_dispatch__(self, function, types, arguments=(), more=None):
        found = function(*arguments, **(more or {}))
        self.elements += found.numel() if self.names.match(str(function)) else 0
        return found


def moves(case, model):
    """Elements that a force step moves for each edge, where it is known that edges are in order."""
    convolutions = [module for module in model.modules() if hasattr(module, 'cgtp_ends')]
    inputs = case.inputs(torch.float64, DEVICE)
    graph = Step(model, convolutions, None).graph_of(inputs) if convolutions else None
    with given(convolutions, graph), Moved() as found:
        case.call(model, inputs, stress=False)
    return found.elements / len(case.receiver)


def by_edge(case, model):
    """Forces of edges, which NequIP computes where it is given vectors."""
    inputs = case.inputs(torch.float64, DEVICE)
    receiver, sender = inputs['edge_index']
    vectors = inputs['pos'][sender] - inputs['pos'][receiver] + inputs.pop('edge_cell_shift') @ inputs.pop('cell')[0]
    return model(inputs | {'edge_vectors': vectors})['edge_forces']


def by_atom(case, model):
    """Virials of atoms, which SevenNet makes of those of edges to them."""
    for module in model.modules():
        if hasattr(module, 'use_atomic_virial'):
            module.use_atomic_virial = True
    model.eval().set_is_batch_data(False)
    return model(case.inputs(torch.float64, DEVICE))['inferred_atomic_virial'].detach()


def keeps(case, plain, model, kind, terms):
    """What a model is beside its numbers: its state, copies, files, other types, and the way back."""
    def equal(found, wanted):
        """Bit for bit; on a GPU, where e3nn's sums and kernels' are in another order each time, to rounding."""
        bound = terms * torch.finfo(TYPES[kind]).eps
        return all(torch.equal(a, b) if DEVICE == 'cpu' else (a - b).abs().max() <= bound * b.abs().max() for a, b in zip(found, wanted))

    inputs, exactly = case.inputs(TYPES[kind], DEVICE), ', bit for bit' if DEVICE == 'cpu' else ''
    wanted, found = case.call(plain, inputs), case.call(model, inputs)
    state = model.state_dict()
    ok(list(state) == list(plain.state_dict()), f'{kind}: a state_dict is the same', *(state.keys() ^ plain.state_dict().keys()))
    plain.load_state_dict(state), model.load_state_dict(plain.state_dict())
    ok(equal(case.call(copy.deepcopy(model), inputs), found), f'{kind}: a copy computes the same')
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model, f'{folder}/model.pt')
        loaded = torch.load(f'{folder}/model.pt', weights_only=False)
    ok(equal(case.call(loaded, inputs), found), f'{kind}: from a file as well')
    ok(str(report(loaded)) == str(report(model)), f'{kind}: and is as accelerated')
    ok(equal(case.call(restore(loaded), inputs), wanted), f'{kind}: restored{exactly}')
    parameters = list(model.parameters())
    restore(model)
    ok(equal(case.call(model, inputs), wanted), f'{kind}: the model itself, too')
    ok(all(a is b for a, b in zip(parameters, model.parameters())), f'{kind}: its parameters are the same objects')
    ok([type(m).__qualname__ for m in model.modules()] == [type(m).__qualname__ for m in plain.modules()] and
       not any(hasattr(type(m), 'cgtp_bases') for m in model.modules()), f'{kind}: and all classes')
    ok([sorted(m.__dict__) for m in model.modules()] == [sorted(m.__dict__) for m in plain.modules()],
       f'{kind}: nothing is left behind')


def moved(case, model, positions):
    energy, forces, _ = case.call(model, case.inputs(torch.float64, DEVICE, positions))
    return energy.item(), forces.detach().cpu()


def differences(case, model, terms):
    """Two formulas of fourth order, one of twice the other's step: forces are as near to one as these are to each other,
    and as far off as the rounding of energies makes them."""
    start, step = torch.tensor(case.atoms.positions), 1e-3
    for seed in 0, 1:
        torch.manual_seed(seed)
        way = torch.randn(start.shape, dtype=torch.float64)
        way /= way.norm()
        energy, forces = moved(case, model, start)
        at = {n: moved(case, model, start + n * step * way)[0] for n in (-4, -2, -1, 1, 2, 4)}
        near_one, far_one = ((8 * (at[n] - at[-n]) - (at[2 * n] - at[-2 * n])) / (12 * n * step) for n in (1, 2))
        found = -(forces * way).sum().item()
        bound = abs(near_one - far_one) + terms * torch.finfo(torch.float64).eps * abs(energy) / step
        ok(abs(found - near_one) <= bound, f'forces are the derivatives of the energy, direction {seed}',
           f'{found} of autograd, {near_one} and {far_one} of differences, bound {bound:.1e}')


def trajectory(case, model, steps, step):
    """Total energies of velocity Verlet, masses of one."""
    torch.manual_seed(5)
    positions = torch.tensor(case.atoms.positions)
    velocity = torch.randn(positions.shape, dtype=torch.float64)
    velocity *= 0.01 * STEPS / steps / step / velocity.abs().max()
    energy, forces = moved(case, model, positions)
    found = [energy + 0.5 * velocity.square().sum().item()]
    for _ in range(steps):
        velocity = velocity + 0.5 * step * forces
        positions = positions + step * velocity
        energy, forces = moved(case, model, positions)
        velocity = velocity + 0.5 * step * forces
        found.append(energy + 0.5 * velocity.square().sum().item())
    return found


def dynamics(case, model, terms):
    """Energy is conserved to the integrator's second order: half the step, a quarter of the deviation at equal times."""
    forces = moved(case, model, torch.tensor(case.atoms.positions))[1]
    step = (1e-3 / forces.abs().max().item()) ** 0.5
    coarse, fine = trajectory(case, model, STEPS, step), trajectory(case, model, 2 * STEPS, step / 2)
    far, half = (max(abs(energy - found[0]) for energy in found) for found in (coarse, fine[::2]))
    ok(3 < far / half < 5, f'{STEPS} steps conserve the energy, twice as many four times as well', f'{far} and {half}')
    rounding = terms * torch.finfo(torch.float64).eps * abs(coarse[0])
    ok(half > rounding, 'and what is left is the integrator\'s', f'{half}, rounding {rounding}')
    print(f'# NVE: the total energy moves by {far:.1e} in {STEPS} steps, {half:.1e} in {2 * STEPS} of half the length; '
          f'kinetic energy {coarse[0] - moved(case, model, torch.tensor(case.atoms.positions))[0]:.1e}', flush=True)


def main():
    case = packages.CASES[NAME](packages.crystal(), CHANNELS)
    longest = case.vectors(case.inputs(torch.float64)).norm(dim=1).max().item()
    ok(0.8 * case.cutoff < longest < case.cutoff, 'all edges are of atoms that see each other', longest)
    for kind in TYPES:
        compare(case, kind)
    torch.set_default_dtype(torch.float64)
    model, terms = swapped(case, 'f64')
    if NAME == 'nequip':
        near(by_edge(case, model), by_edge(case, case.like(torch.float64, DEVICE)), 'f64', terms, 'f64: forces of single edges')
    if NAME == 'sevennet':
        near(by_atom(case, copy.deepcopy(model)), by_atom(case, case.like(torch.float64, DEVICE)), 'f64', terms, 'f64: virials of atoms')
    if NAME == 'allegro':
        both = moves(case, model), moves(case, case.like(torch.float64, DEVICE))
        ok(0 < both[0] < both[1], f'a force step moves {both[0]:.0f} elements of an edge, Allegro itself {both[1]:.0f}')
    with tempfile.TemporaryDirectory() as folder:
        specs(case.like(torch.float64, DEVICE), folder)
        found = told(folder)
        ok(found and not any(found.values()), f'specs: the generator warns of none of the {len(found)}', found)
    differences(case, model, terms)
    dynamics(case, model, terms)
    done()


main()
