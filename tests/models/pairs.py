#!/usr/bin/env python3
"""Radial networks that are computed once for both edges of a pair of atoms (cgtpgen.models.radial): which edges are pairs, and
that energies and derivatives of every kind are those of the network on every edge.

    tests/models/pairs.py FOLDER
"""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{HERE}/..', f'{HERE}/../../runtime/python']
import ase.build  # noqa: E402
import torch  # noqa: E402
from cgtpgen.models import accelerate, radial, report, restore  # noqa: E402
from e3nn import o3  # noqa: E402
from e3nn.nn import FullyConnectedNet  # noqa: E402
from matscipy.neighbours import neighbour_list  # noqa: E402
from tap import done, equal, ok  # noqa: E402

FOLDER = f'{os.path.abspath(sys.argv[1])}/pairs_kernels'
torch.set_default_dtype(torch.float64)
radial.LEAST = 1


def edges(atoms, cutoff):
    receiver, sender, shift = neighbour_list('ijS', atoms, cutoff)
    return (torch.tensor(receiver.astype('int64')), torch.tensor(sender.astype('int64')), torch.tensor(shift.astype('float64')))


def crystal(repeats=2):
    """Not distorted: many edges are as long as others that are not theirs back. With one cell, edges go to atoms' own images."""
    return ase.build.bulk('SiC', 'zincblende', a=4.36, cubic=True) * (repeats, 1, 1)


class Rows(torch.nn.Module):
    """A network that counts its rows."""

    def __init__(self, net):
        super().__init__()
        self.net, self.rows = net, 0

    def forward(self, x):
        self.rows += len(x)
        return self.net(x)


def which():
    for repeats, name in (2, 'a crystal'), (1, 'atoms with edges to their own images'):
        receiver, sender, shift = edges(crystal(repeats), 4.7)
        if repeats == 1:
            ok((receiver == sender).any(), f'{name}: there are such edges')
        pairs = radial.Pairs(torch.stack([receiver, sender]), shift)
        one, two = pairs.first, pairs.second
        ok(torch.equal(receiver[one], sender[two]) and torch.equal(sender[one], receiver[two]) and
           torch.equal(shift[one], -shift[two]), f'{name}: the second of a pair is the first one back')
        equal((2 * pairs.count, len(pairs.alone)), (len(receiver), 0), f'{name}: every edge is in a pair')
        equal(torch.cat([one, two]).sort()[0].tolist(), list(range(len(receiver))), f'{name}: and in one alone')
    torch.manual_seed(1)
    some = torch.rand(len(receiver)) < 0.8
    pairs = radial.Pairs(torch.stack([receiver, sender])[:, some], shift[some])
    ok(pairs.count > 0 and len(pairs.alone) > 0, 'of a list with gaps some are alone')
    equal(sorted((*pairs.first.tolist(), *pairs.second.tolist(), *pairs.alone.tolist())), list(range(int(some.sum()))),
          'and each edge is there once')
    rows = torch.randn(int(some.sum()), 3)
    for dtype in torch.float64, torch.float32:
        both, each = radial.Both.apply(rows.to(dtype), pairs), torch.zeros(len(pairs.one_of_each), 3, dtype=dtype)
        ok(torch.equal(both, each.index_add(0, pairs.row, rows.to(dtype))), f'{dtype}: rows of both are summed')
        ok(torch.equal(radial.Each.apply(both, pairs), both[pairs.row]), f'{dtype}: and spread')


def net():
    torch.manual_seed(2)
    return FullyConnectedNet([4, 16, 16, 5], torch.nn.functional.silu)


def derivatives():
    """Of an energy to which edges contribute as their atoms say: first and second ones by positions and parameters."""
    atoms = crystal(2)
    receiver, sender, shift = edges(atoms, 4.7)
    start, cell = torch.tensor(atoms.positions), torch.tensor(atoms.cell.array)
    weight = torch.rand(len(receiver), 5, generator=torch.Generator().manual_seed(3))
    plain, counted = net(), Rows(None)
    counted.net = plain

    def energy(called, positions, strain):
        vector = positions[sender] - positions[receiver] + shift @ cell
        length = (vector + vector @ strain).norm(dim=1)
        x = torch.stack([torch.sin(n * length) / length for n in range(1, 5)], 1)
        return (called(x) * weight).sum() ** 2

    pairs = radial.pairs_of(torch.stack([receiver, sender]), shift)
    ways = {'each': plain, 'once': lambda x: radial.once(counted, x, pairs)}
    found = {}
    for name, called in ways.items():
        positions, strain = start.clone().requires_grad_(), torch.zeros(3, 3, requires_grad=True)
        of = [positions, strain, *plain.parameters()]
        value = energy(called, positions, strain)
        first = torch.autograd.grad(value, of, create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), of)
        found[name] = {'energy': [value], 'first derivatives': first, 'second derivatives': second}
    equal(counted.rows, len(receiver) // 2, 'the network has half the rows')
    for what, wanted in found['each'].items():
        worst = max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(found['once'][what], wanted))
        ok(worst < 1e-12, f'{what} by positions, strain and parameters are those of the network on every edge', worst)
    x = torch.rand(pairs.count + len(pairs.alone), 4, requires_grad=True)
    given, taken = pairs.each(x), []
    radial.once(lambda rows: taken.append(rows) or rows, given, pairs)
    ok(taken[0] is x, 'functions of pairs are given to networks as they are')
    with torch.no_grad():
        same = given * 1
        radial.once(lambda rows: taken.append(rows) or rows, same, pairs)
    radial.once(lambda rows: taken.append(rows) or rows, same.requires_grad_(), pairs)
    radial.once(lambda rows: taken.append(rows) or rows, same, pairs)
    with torch.no_grad():
        same *= 2
    radial.once(lambda rows: taken.append(rows) or rows, same, pairs)
    ok(taken[2] is taken[3] and taken[2].requires_grad and not taken[1].requires_grad and
       torch.allclose(taken[4], 2 * x), 'what several are given is looked at once, but not what was written to since')
    with torch.inference_mode():
        ok(torch.allclose(radial.once(plain, given * 1, pairs), plain(given * 1)), 'and in inference mode')
    pairs.given.clear()
    x = torch.randn(6, 4, requires_grad=True)
    pairs = radial.Pairs(torch.tensor([[0, 1, 2, 0, 2, 2], [1, 0, 0, 2, 2, 1]]), torch.zeros(6, 3))
    equal((pairs.count, pairs.alone.tolist()), (2, [4, 5]), 'two pairs, and two that are alone')
    for call in radial.Both, radial.Each:
        rows = x if call is radial.Both else x[:4].detach().requires_grad_()
        ok(torch.autograd.gradcheck(lambda rows: call.apply(rows, pairs), rows) and
           torch.autograd.gradgradcheck(lambda rows: call.apply(rows, pairs), rows), f'{call.__name__}: gradcheck')


def others():
    """What is no pair, or does not stay one."""
    plain, (receiver, sender, shift) = net(), edges(crystal(2), 4.7)
    index = torch.stack([receiver, sender])
    pairs = radial.pairs_of(index, shift)
    ok(radial.pairs_of(index, shift) is pairs, 'what was found of a list is kept')
    x = torch.rand(len(receiver), 4)
    with torch.no_grad():
        ok(torch.equal(radial.once(plain, x, pairs), plain(x)), 'rows that differ within a pair are all computed')
        index.numpy()[:] = index.numpy()[:, ::-1].copy()
        moved = shift.flip(0)
        again = radial.pairs_of(index, moved)
        equal((index[:, again.first].tolist(), again.count), (index.flip(0)[:, again.second].tolist(), pairs.count),
              'a list that something has written to is looked at again')
        moved[again.first[0]] += 1
        equal(radial.pairs_of(index, moved).count, pairs.count - 1, 'as one with other shifts')
    half = receiver < sender
    ok(radial.pairs_of(index[:, half], shift[half]) is None, 'a list of one direction has no pairs')
    with torch.autograd.forward_ad.dual_level():
        ok(radial.pairs_of(index, moved) is None, 'nothing is shared where derivatives are taken forward')
    ok(torch.func.vmap(lambda one: torch.tensor(radial.pairs_of(index, one) is None))(moved[None]).all(), 'nor under vmap')


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()
        self.out = FullyConnectedNet([5, 8, 3], torch.tanh, variance_in=2, variance_out=3, out_act=True)
        self.product = o3.TensorProduct('2x0e', '1x0e', '2x0e', [(0, 0, 0, 'uvu', True)])

    def forward(self, x):
        return self.out(self.net(x)), self.product(x[:, :2], x[:, 2:3])


def networks():
    """Of any model, with what scales numbers in the weights."""
    model, x = Model(), torch.randn(7, 4, generator=torch.Generator().manual_seed(4)).requires_grad_()
    wanted = model(x)[0]
    gradients = torch.autograd.grad(wanted.square().sum(), [x, *model.net.parameters(), *model.out.parameters()])
    accelerate(model, FOLDER, dtypes=['float64'], quiet=True)
    found = model(x)[0]
    again = torch.autograd.grad(found.square().sum(), [x, *model.net.parameters(), *model.out.parameters()])
    equal(sorted(row[0] for row in report(model).rows if 'pair' in row[2]), ['net', 'out'], 'networks are in the table')
    ok(((found - wanted).abs().max() / wanted.abs().max()).item() < 1e-14 and all(
        ((a - b).abs().max() / b.abs().max()).item() < 1e-13 for a, b in zip(again, gradients)), 'their numbers and gradients')
    compiled = torch.compile(model.net, backend='aot_eager', fullgraph=True)(x)
    ok(((compiled - model.net(x)).abs().max()).item() < 1e-14, 'compiled, too')
    ok(torch.allclose(torch.jit.script(model.net)(x), model.net(x), rtol=1e-13), 'and as a script')
    model.net.layer0.register_forward_hook(lambda layer, given, made: 2 * made)
    scaled = model.net(x)
    restore(model)
    ok(torch.equal(scaled, model.net(x)), 'a network that somebody has changed is computed as it was')


which()
derivatives()
others()
networks()
done()
