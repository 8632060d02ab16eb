#!/usr/bin/env python3
"""MACE's other kinds of model: every correlation, block, density and basis that its constructors take, with kernels against
without, float64; and what is refused, before anything is built.

    tests/models/kinds.py FOLDER [KIND..]
"""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/..', f'{HERE}/../../runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import BuildError, accelerate, radial, report, restore  # noqa: E402
from tap import done, ok  # noqa: E402

FOLDER = sys.argv[1]
radial.LEAST = 1  # small as the models are
RESIDUAL, PLAIN = 'RealAgnosticResidualInteractionBlock', 'RealAgnosticInteractionBlock'
NONLINEAR = 'RealAgnosticResidualNonLinearInteractionBlock'
KINDS = {
    'correlation 1': {'correlation': 1},
    'correlation 2': {'correlation': 2},
    'correlation 3 and 2': {'correlation': [3, 2]},
    'correlation 4': {'correlation': 4, 'max_ell': 2, 'hidden_irreps': '4x0e + 4x1o'},
    'correlation 4 to l = 2': {'correlation': 4, 'max_ell': 2, 'hidden_irreps': '2x0e + 2x1o + 2x2e'},
    'scalars alone': {'hidden_irreps': '8x0e'},
    'first block without residual': {'interaction_cls_first': PLAIN},
    'density': {'interaction_cls_first': 'RealAgnosticDensityInteractionBlock',
                'interaction_cls': 'RealAgnosticDensityResidualInteractionBlock'},
    'attention': {'interaction_cls': 'RealAgnosticAttResidualInteractionBlock'},
    'non-linear': {'interaction_cls': NONLINEAR, 'interaction_cls_first': NONLINEAR},
    'three interactions': {'num_interactions': 3},
    'reduced basis': {'use_reduced_cg': True},
    'Agnesi transform and ZBL': {'distance_transform': 'Agnesi', 'pair_repulsion': True},
    'cutoff outside of the radial functions': {'apply_cutoff': False},
    'no elements in products': {'use_agnostic_product': True},
    'six elements': {'elements': (1, 6, 8, 9, 14, 16)},
}


class Kind(packages.Mace):
    def __init__(self, options):
        super().__init__(packages.crystal(), 4)
        self.options = dict(options)
        self.elements = self.options.pop('elements', self.elements)

    def build(self, dtype):
        from e3nn import o3
        from mace import modules
        self.more = {key: modules.interaction_classes[value] if str(key).startswith('interaction_cls') else
                     o3.Irreps(value) if key == 'hidden_irreps' else value for key, value in self.options.items()}
        return super().build(dtype)


def main():
    for name, options in ((name, KINDS[name]) for name in sys.argv[2:] or KINDS):
        case = Kind(options)
        try:
            plain = case.like(torch.float64)
        except Exception as error:
            ok(False, f'{name}: MACE builds it', repr(error))
            continue
        inputs = case.inputs(torch.float64)
        model = accelerate(case.like(torch.float64), f'{FOLDER}/kinds_kernels', dtypes=['float64'], strict=True, quiet=True)
        for training in False, True:
            wanted, found = case.call(plain, inputs, training), case.call(model, inputs, training)
            for what, a, b in zip(('energy', 'forces', 'stress'), found, wanted):
                error = ((a - b).abs().max() / b.abs().max()).item()
                ok(error < 1e-13, f'{name}: {what}{", training" if training else ""}', error)
        loss = [energy + forces.square().sum() for energy, forces, _ in (wanted, found)]
        sides = [torch.autograd.grad(of, [p for p in m.parameters() if p.requires_grad], allow_unused=True)
                 for of, m in zip(loss, (plain, model))]
        worst = max(((a - b).abs().max() / b.abs().max().clamp_min(1e-30)).item() for b, a in zip(*sides) if b is not None)
        ok(worst < 1e-11 and all((a is None) == (b is None) for a, b in zip(*sides)), f'{name}: gradients', worst)
        ok(sum('contraction_' in row[2] for row in report(model).rows) == len(model.products), f'{name}: all contractions are made')
        changed(case, name, plain, model, inputs)
    refusal()
    parts()
    done()


def changed(case, name, plain, model, inputs):
    """Parameters and species that change in ways that PyTorch does not count are seen."""
    with torch.no_grad():
        for p, q in zip(plain.parameters(), model.parameters()):
            p.data.mul_(1.1), q.data.mul_(1.1)
    inputs['node_attrs'].numpy()[:] = inputs['node_attrs'].numpy()[::-1].copy()
    a, b = case.call(model, inputs)[1], case.call(plain, inputs)[1]
    error = ((a - b).abs().max() / b.abs().max()).item()
    ok(error < 1e-13, f'{name}: after parameters and species have changed', error)


def refusal():
    """A contraction that is none of MACE's is refused by name, and before anything is written."""
    model = Kind({}).fresh(torch.float64)
    basis = model.products[0].symmetric_contractions.contractions[0].U_matrix_3
    with torch.no_grad():
        basis += torch.randn_like(basis)
    try:
        accelerate(model, f'{FOLDER}/refused', strict=True, quiet=True)
        text = 'nothing'
    except BuildError as error:
        text = str(error)
    ok(text.startswith('stays slow: products.0.symmetric_contractions: its terms of degree 3 to 0e are no sums of products'),
       'a basis that is not equivariant is refused by name', text)
    ok(not os.path.exists(f'{FOLDER}/refused'), 'before anything is built')
    accelerate(model, f'{FOLDER}/kinds_kernels', dtypes=['float64'], quiet=True)
    ok(any(row[0] == 'products.0.symmetric_contractions' and row[2].startswith('left: its terms') for row in report(model).rows),
       'and is in the table where others are replaced')


def parts():
    """Functions of lengths, to beyond the cutoff, and linear layers that give rows as contractions take them: to second derivatives."""
    case = Kind({})
    plain, model = case.like(torch.float64), accelerate(case.like(torch.float64), f'{FOLDER}/kinds_kernels', dtypes=['float64'], quiet=True)
    lengths = torch.linspace(0.3, 1.2 * case.cutoff, 50, dtype=torch.float64)[:, None].requires_grad_()
    rest = [torch.zeros(1, 2), torch.zeros(2, 50, dtype=torch.int64), torch.tensor(case.elements)]
    found, wanted = (derivatives(lambda x: m.radial_embedding(x, *rest)[0], lengths) for m in (model, plain))
    ok(all(near(a, b) for a, b in zip(found, wanted)) and type(found[0].grad_fn.next_functions[0][0]).__name__ == 'BesselFunctionsBackward',
       'functions of lengths are MACE\'s', *(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(found, wanted)))
    ok(not found[1][lengths > case.cutoff].any() and found[1][lengths < case.cutoff].all(), 'which end at the cutoff')
    block, own = model.interactions[1], plain.interactions[1]
    rows = torch.randn(7, block.linear.irreps_in.dim, dtype=torch.float64).requires_grad_()
    ok(block.linear(rows).dim() == 3 and block.linear(rows[0]).dim() == 1, 'linear layers give rows by channel')
    wanted = derivatives(lambda x: own.reshape(own.linear(x) / 2).square(), rows, own.linear.weight)
    found = derivatives(lambda x: block.reshape(block.linear(x) / 2).square(), rows, block.linear.weight)
    ok(all(near(a, b) for a, b in zip(found, wanted)), 'as MACE\'s reshape does')
    hook = block.reshape.register_forward_pre_hook(lambda module, given: seen.append(given[0].shape))
    seen = []
    ok(near(block.reshape(block.linear(rows) / 2).square(), wanted[0]) and seen == [own.linear(rows).shape], 'where somebody looks they are e3nn\'s', seen)
    hook.remove()
    restore(block.reshape)
    ok(near(block.reshape(block.linear(rows) / 2).square(), wanted[0]), 'and with MACE\'s own reshape')


def derivatives(function, *given):
    """Values, the gradient by each, and theirs of the sum of its squares."""
    made = function(given[0])
    first = torch.autograd.grad(made, given, torch.arange(made.numel(), dtype=made.dtype).view(made.shape).cos(), create_graph=True)
    return [made, *first, *torch.autograd.grad(sum(of.square().sum() for of in first), given)]


def near(a, b):
    return ((a - b).abs().max() / b.abs().max()).item() < 1e-13


main()
