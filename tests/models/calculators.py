#!/usr/bin/env python3
"""MACE's calculator with kernels: committees, both types, a Hessian, ML-IAP's wrapper, and its conversions, which lose kernels
and say so.

    tests/models/calculators.py FOLDER
"""
import os
import sys
import warnings

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/..', f'{HERE}/../../runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate, graphs, radial, report, restore  # noqa: E402
from mace.calculators import MACECalculator  # noqa: E402
from tap import done, ok  # noqa: E402

radial.LEAST = 1  # small as the models are
FOLDER = f'{sys.argv[1]}/mace_kernels'  # check.py's
atoms = packages.crystal()
case = packages.CASES['mace'](atoms, 4)


def calculator(**more):
    return MACECalculator(models=[case.like(torch.float32)], device='cpu', **more)


def distance(a, b):
    return abs(a - b).max() / abs(b).max()


def results(calc):
    made = atoms.copy()
    made.calc = calc
    return made.get_forces(), made.get_stress()


for dtype, bound in ('float32', 1e-5), ('float64', 1e-12):
    plain, fast = calculator(default_dtype=dtype), accelerate(calculator(default_dtype=dtype), FOLDER, quiet=True)
    worst = max(distance(a, b) for a, b in zip(results(fast), results(plain)))
    ok(worst < bound, f'a calculator of {dtype}', worst)
ok(distance(fast.get_hessian(atoms).reshape(-1), plain.get_hessian(atoms).reshape(-1)) < 1e-11, 'its Hessian')
late = MACECalculator(models=[accelerate(case.like(torch.float32), FOLDER, quiet=True)], device='cpu', default_dtype='float64')
worst = max(distance(a, b) for a, b in zip(results(late), results(plain)))
ok(worst < 1e-12, 'an accelerated float32 model in a calculator of float64', worst)
ok(any(row[0].endswith('conv_tp') for row in report(late).rows), 'which computes by kernels')
padded, kept = MACECalculator(models=[case.like(torch.float32)], device='cpu', default_dtype='float32', pad_num_atoms=len(atoms) + 1,
                              pad_num_edges=2 * len(case.receiver)), []
graphs.DEVICES, graphs.record = {'cpu'}, lambda call: (kept.append(call), call(), call)[2]  # stands for a graph
accelerate(padded, FOLDER, dtypes=['float32'], graphs=True, quiet=True)
for number in range(4):
    made = atoms.copy()
    made.rattle(0.1, seed=number)
    made.calc = padded
    found, edges = made.get_forces(), len(packages.neighbours(made, case.cutoff)[0])
    made.calc = plain
    ok(distance(found, made.get_forces()) < 1e-5, f'a calculator that pads its lists, of {edges} edges, and records steps')
ok(len(kept) == 1, 'records one', len(kept))
graphs.DEVICES = {'cuda'}
committee = accelerate(MACECalculator(models=[case.like(torch.float64), case.fresh(torch.float64)], device='cpu'), FOLDER, quiet=True)
ok(all(any(hasattr(type(m), 'cgtp_bases') for m in model.modules()) for model in committee.models), 'all models of a committee')
restore(committee)
ok(not any(hasattr(type(m), 'cgtp_bases') for model in committee.models for m in model.modules()), 'and back')

from mace.tools.scripts_utils import extract_model  # noqa: E402
torch.set_default_dtype(torch.float64)
plain, fast = case.like(torch.float64), accelerate(case.like(torch.float64), FOLDER, quiet=True)
given = case.inputs(torch.float64)
order = given['edge_index'][0].argsort(stable=True)
given |= {key: given[key][order] for key in ('shifts', 'unit_shifts')} | {'edge_index': given['edge_index'][:, order]}
graph_type = type(fast.interactions[0].conv_tp.cgtp._graph(given['edge_index'], given['positions'], given['positions'], None, None))
widths, sort = [], graph_type.sort
graph_type.sort = lambda graph, rows: widths.append(rows.shape[1]) or sort(graph, rows)
for options in {}, {'compute_edge_forces': True}:
    widths.clear()
    (found, wanted) = (model(dict(given), compute_stress=True, **options) for model in (fast, plain))
    keys = [key for key in ('energy', 'forces', 'stress', 'edge_forces') if wanted[key] is not None]
    worst = max(distance(found[key].detach(), wanted[key].detach()) for key in keys)
    ok(worst < 1e-11 and ('edge_forces' in keys) == bool(options), f'edges in the order of senders, {options}', worst)
    ok((max(widths) == 3) == (not options), 'no rows of weights are moved, but where results are in that order', widths)
graph_type.sort = sort
model = accelerate(case.like(torch.float64), FOLDER, quiet=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter('always')
    rebuilt = extract_model(model)
ok(any('generated kernels are not in that' in str(w.message) for w in said), 'what MACE builds anew says that it has no kernels',
   *(str(w.message) for w in said))
ok(not any(hasattr(type(m), 'cgtp_bases') for m in rebuilt.modules()), 'and is MACE\'s own')
inputs = case.inputs(torch.float64)
ok(distance(case.call(rebuilt, inputs)[1].numpy(), case.call(model, inputs)[1].numpy()) < 1e-12, 'with the same parameters')
done()
