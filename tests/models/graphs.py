#!/usr/bin/env python3
"""Force steps that are recorded, accelerate(.., graphs=True), beside steps of the same kernels that are not.

    tests/models/graphs.py [--device=cuda] mace|nequip|sevennet|allegro FOLDER

Without a GPU what repeats a step is its call once more, on the record's own inputs: all is as with a CUDA graph, but for
the graph. There every number has to be the same, bit for bit; on a GPU, where PyTorch's own sums are in any order, as near as
two steps without graphs are, and a few units of roundoff.
"""
import copy
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/..', f'{HERE}/../../runtime/python']
import packages  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import BuildError, accelerate, graphs, report, restore  # noqa: E402
from tap import done, equal, ok  # noqa: E402

DEVICE = 'cuda' if '--device=cuda' in sys.argv else 'cpu'
NAME, FOLDER = [word for word in sys.argv[1:] if not word.startswith('--')]
KIND = torch.float32
count = {'recorded': 0, 'replayed': 0}
own_record = graphs.record


def record(call):
    """Counts, and on a CPU stands for a graph."""
    count['recorded'] += 1
    if DEVICE == 'cuda':
        replay = own_record(call)
    else:
        call()
        replay = call

    def counted():
        count['replayed'] += 1
        replay()
    return counted


graphs.record = record


class Pair:
    """A model that records its steps, and one that does not."""

    def __init__(self, case):
        self.case = case
        self.plain = accelerate(case.like(KIND, DEVICE), f'{FOLDER}/{NAME}_kernels', dtypes=['float32'], devices=[DEVICE], quiet=True)
        if DEVICE == 'cpu':
            refused(self.plain)
            graphs.DEVICES = {'cpu'}
        self.recording = accelerate(case.like(KIND, DEVICE), f'{FOLDER}/{NAME}_kernels', dtypes=['float32'], devices=[DEVICE], graphs=True, quiet=True)
        for model in self.both():
            model.requires_grad_(False)
        self.seen = dict(count)

    def both(self):
        return self.plain, self.recording

    def step(self, name, inputs, recorded=0, replayed=1, **options):
        """Both compute the same, in so many records and replays."""
        wanted = [self.case.call(self.plain, inputs, **options) for _ in range(2)]
        found = self.case.call(self.recording, inputs, **options)
        ok(all(near(a, b, c) for a, b, c in zip(found, *wanted)), f'{name}: the same numbers', found, wanted)
        equal((count['recorded'] - self.seen['recorded'], count['replayed'] - self.seen['replayed']), (recorded, replayed),
              f'{name}: records and replays')
        self.seen = dict(count)
        return found


def near(found, wanted, again):
    if found is None or DEVICE == 'cpu':
        return found is wanted if found is None else torch.equal(found, wanted)
    bound = 64 * torch.finfo(KIND).eps * wanted.abs().max()
    return (found - wanted).abs().max() <= bound + 2 * (wanted - again).abs().max()


def refused(model):
    try:
        accelerate(model, f'{FOLDER}/{NAME}_kernels', graphs=True, quiet=True)
        ok(False, 'graphs of a model on the CPU are refused')
    except BuildError as error:
        ok("model.to('cuda') first" in str(error), 'graphs of a model on the CPU are refused', error)


def inputs_of(case, number):
    """Of a step: atoms have moved."""
    torch.manual_seed(number)
    positions = torch.tensor(case.atoms.positions)
    return case.inputs(KIND, DEVICE, positions + 0.01 * torch.randn(positions.shape, dtype=torch.float64))


def with_edges(inputs, which):
    """A list of those edges, and what else there is of edges."""
    edges = inputs['edge_index'].shape[1]
    which = which.to(DEVICE)
    return {name: value.index_select(1, which) if name == 'edge_index' else value.index_select(0, which)
            if isinstance(value, torch.Tensor) and value.dim() and value.shape[0] == edges else value for name, value in inputs.items()}


SPECIES = {'mace': ['node_attrs'], 'nequip': ['atom_types'], 'allegro': ['atom_types'], 'sevennet': ['x', 'atomic_numbers']}


def steps(pair):
    case = pair.case
    pair.step('the first step', inputs_of(case, 0), 0, 0)
    first = pair.step('the second', inputs_of(case, 1), 1, 1)
    kept = [value.clone() for value in first if value is not None]
    for number in 2, 3:
        pair.step(f'step {number}', inputs_of(case, number))
    ok(all(torch.equal(a, b) for a, b in zip(kept, (value for value in first if value is not None))),
       'results are the caller\'s: later steps leave them')
    same = inputs_of(case, 4)
    for turn in range(2):
        pair.step('the same tensors', same)
    edges = same['edge_index'].shape[1]
    order = torch.arange(edges)
    order[[0, 1]] = order[[1, 0]]
    pair.step('another list, as long', with_edges(same, order), 0, 2)
    pair.step('and that of before', same, 0, 2)
    fewer = with_edges(same, torch.arange(edges - 2))
    pair.step('a shorter list', fewer, 0, 0)
    pair.step('the same shorter list', fewer, 1, 1)
    pair.step('and a longer one', same, 0, 0)
    pair.step('once more', same, 1, 1)
    others = dict(same)
    for name in SPECIES[NAME]:
        others[name] = same[name].flip(0)
    pair.step('other species', others, 0, 1)  # whose results are not taken
    pair.step('of these', others, 1, 1)
    return same, others


def faults(pair, inputs):
    """What is wrong with a list is an error, in a step that would be replayed, too."""
    bad = dict(inputs, edge_index=inputs['edge_index'].clone())
    bad['edge_index'][0, 0] = len(pair.case.atoms)
    try:
        pair.case.call(pair.recording, bad)
        ok(False, 'an index of no atom is an error')
    except IndexError as error:
        ok('it is the number of no node' in str(error), 'an index of no atom is an error', error)
    pair.seen = dict(count)
    pair.step('after it', inputs)


def parameters(pair, inputs):
    for model in pair.both():
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.01)
    pair.step('parameters that are written to', inputs)
    for model in pair.both():
        model.load_state_dict({name: value.clone() * 0.99 if value.is_floating_point() else value.clone()
                               for name, value in model.state_dict().items()}, assign=True)
        model.requires_grad_(False)
    pair.step('other parameters', inputs, 0, 1)
    pair.step('of these', inputs, 1, 1)
    pair.step('a step of training', inputs, 0, 0, training=True)
    for model in pair.both():
        model.eval()
    while pair.case.call(pair.recording, inputs) and count['recorded'] == pair.seen['recorded']:
        pass
    pair.seen = dict(count)
    pair.step('and of inference', inputs)


def ways(pair, inputs):
    """Copies and files have no records; a restored model has none."""
    again = copy.deepcopy(pair.recording)
    ok(again not in graphs._kept and str(report(again)) == str(report(pair.recording)), 'a copy records its own')
    ok('force steps as CUDA graphs' in str(report(again)), 'the table says it', report(again))
    restore(again)
    before = dict(count)
    wanted = restore(copy.deepcopy(pair.plain))
    ok(all(near(a, b, b) for a, b in zip(pair.case.call(again, inputs), pair.case.call(wanted, inputs))) and before == count,
       'a restored one does not')
    ok([type(part).__qualname__ for part in again.modules()] == [type(part).__qualname__ for part in wanted.modules()], 'and has the classes that it had')
    accelerate(pair.plain, f'{FOLDER}/{NAME}_kernels', dtypes=['float32'], devices=[DEVICE], graphs=True, quiet=True)
    for _ in range(3):
        found = pair.case.call(pair.plain, inputs)
    ok(count['recorded'] == before['recorded'] + 1, 'a model that has kernels can be told to record later')
    ok(all(near(a, b, b) for a, b in zip(found, pair.case.call(pair.recording, inputs))), 'and computes the same')


case = packages.CASES[NAME](packages.crystal(), {'cpu': 4, 'cuda': 32}[DEVICE])  # check.py's
pair = Pair(case)
same, others = steps(pair)
faults(pair, others)
parameters(pair, others)
ways(pair, others)
done()
