#!/usr/bin/env python3
"""What cgtpgen.models does around a model, here one of e3nn's modules alone: the table, other types, optimisers, compiled
models, scripts, the command, and what is said when something is wrong.

    tests/models/interface.py FOLDER
"""
import contextlib
import copy
import io
import os
import re
import shutil
import subprocess
import sys
import warnings

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(f'{HERE}/../..')
sys.path[:0] = [HERE, f'{HERE}/..', f'{ROOT}/runtime/python']
warnings.simplefilter('ignore')
import torch  # noqa: E402
from cgtpgen import models  # noqa: E402
from cgtpgen.models import accelerate, build, report, restore, specs  # noqa: E402
from cgtpgen.models.kernels import Kernels  # noqa: E402
from e3nn import o3  # noqa: E402
from tap import done, equal, ok  # noqa: E402

FOLDER = os.path.abspath(f'{sys.argv[1]}/interface_kernels')


class Own(o3.TensorProduct):
    """Somebody's own, with another forward."""

    def forward(self, x, y, weight=None):
        return 2 * super().forward(x, y, weight)


class Foreign(torch.nn.Module):
    """A model of nobody's package."""

    def __init__(self, own=False):
        super().__init__()
        self.first = o3.FullyConnectedTensorProduct('8x0e + 4x1o', '1x0e + 1x1o', '8x0e + 4x1o + 2x2e')
        self.linear = o3.Linear('8x0e + 4x1o + 4x1o', '4x0e + 3x1o')
        self.second = o3.TensorProduct('8x0e + 4x1o', '1x0e + 1x1o', '8x0e + 4x1o + 4x1o', [
            (0, 0, 0, 'uvu', True), (0, 1, 1, 'uvw', True), (1, 0, 2, 'uvu', True)], shared_weights=False)
        if own:
            self.own = Own('8x0e', '1x0e', '8x0e', [(0, 0, 0, 'uvu', True)])

    def forward(self, x, y, w):
        z = self.first(x, y)
        return self.linear(self.second(z[:, :20], y, w))


def inputs(model, dtype=torch.float64, rows=7):
    torch.manual_seed(3)
    return [torch.randn(rows, n, dtype=dtype, requires_grad=True) for n in (20, 4, model.second.weight_numel)]


def fresh(dtype=torch.float64, **more):
    torch.manual_seed(2)
    torch.set_default_dtype(dtype)
    return Foreign(**more)


def near(a, b, bound=1e-13):
    return ((a - b).abs().max() / b.abs().max()).item() < bound


def error_of(call):
    try:
        call()
    except Exception as error:
        return f'{type(error).__name__}: {error}'
    return 'nothing'


def numbers():
    shutil.rmtree(FOLDER, ignore_errors=True)  # an earlier run's
    plain, model = fresh(), fresh()
    given = inputs(plain)
    log = io.StringIO()
    with contextlib.redirect_stderr(log):
        accelerate(model, FOLDER, step=lambda: model(*given))
    ok(near(model(*given), plain(*given)), 'a model of e3nn\'s modules computes the same')
    ok('times as fast; numbers differ by' in log.getvalue() and 'built in' in log.getvalue(), 'what was done is printed', log.getvalue())
    equal([row[:2] for row in report(model).rows], [('first', 'FullyConnectedTensorProduct'), ('linear', 'Linear'),
                                                    ('second', 'TensorProduct')], 'the table has three rows')
    ok(isinstance(model.first, o3.FullyConnectedTensorProduct), 'a module is still of its class')
    grads = [torch.autograd.grad(m(*given).square().sum(), [*given, *m.parameters()], create_graph=True) for m in (model, plain)]
    ok(all(near(a, b) for a, b in zip(*grads)), 'gradients too')
    twice = [torch.autograd.grad(sum(g.square().sum() for g in of), list(m.parameters())) for of, m in zip(grads, (model, plain))]
    ok(all(near(a, b, 1e-12) for a, b in zip(*twice)), 'and second ones')
    before = sorted(os.listdir(f'{FOLDER}/specs'))
    accelerate(fresh(), FOLDER, quiet=True)
    equal(sorted(os.listdir(f'{FOLDER}/specs')), before, 'an equal model adds nothing to the folder')
    ok(str(report(accelerate(model, FOLDER, quiet=True))) == str(report(model)), 'accelerating twice is accelerating once')


def linear():
    layer = accelerate(fresh(), FOLDER, quiet=True).linear
    x, weight = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, layer.irreps_in.dim), layer.weight.shape))
    for second in False, True:
        check = torch.autograd.gradgradcheck if second else torch.autograd.gradcheck
        ok(check(layer, (x, weight)) and check(layer, (x, weight.detach())) and check(layer, (x.detach(), weight)),
           f'a linear layer\'s {"second" if second else "first"} derivatives, by each alone and by both')
    nothing = torch.autograd.grad(layer(x[:0], weight).sum(), (x, weight))
    ok(not any(part.any() for part in nothing), 'without rows they are zero')
    plain, wide = fresh().linear, layer.irreps_in.dim
    numbers = torch.randn(5, 3 * wide, dtype=torch.float64)
    for what, rows in (('every other number', numbers[:, 1:2 * wide:2]), ('columns', numbers[:, :wide].t().contiguous().t()),
                       ('one row for all', numbers[:1, wide:2 * wide].expand(5, -1)), ('some rows', numbers[1:4, wide:2 * wide])):
        pairs = []
        for one in layer, plain:
            given = rows.detach().requires_grad_()
            z = one(given)
            pairs.append([z, *torch.autograd.grad(z.square().sum() + z.sum(), [given, one.weight])])
        ok(all(near(a, b) for a, b in zip(*pairs)), f'rows that lie otherwise: {what}')
        pairs = [torch.autograd.grad(one(given := rows.detach().requires_grad_()).sum(), [given, one.weight])
                 for one in (layer, plain)]
        ok(all(near(a, b) for a, b in zip(*pairs)), f'and gradients that do: {what}')
    pairs = []
    for one in layer, plain:
        given = numbers[:, :wide].clone().requires_grad_()
        [first] = torch.autograd.grad(one(given).square().sum(), one.weight, create_graph=True)
        pairs.append([*torch.autograd.grad(first.sum(), [given, one.weight], retain_graph=True),
                      *torch.autograd.grad(first, [given, one.weight], torch.cat([first.detach()] * 2)[::2])])
    ok(all(near(a, b) for a, b in zip(*pairs)), 'and derivatives by weights, of which one is for all, or every other one')


def harmonics():
    """Spherical harmonics as polynomials, whichever degrees and however scaled."""
    from cgtpgen.models.harmonics import Polynomials
    for degrees, words in (([0, 1, 2, 3], (True, 'component')), ([1, 2], (False, 'norm')), ([2, 0, 1, 1], (True, 'integral')),
                           ([4, 3], (False, 'component')), ([5], (True, 'component'))):
        model = fresh()
        model.harmonics = o3.SphericalHarmonics(degrees, *words)
        accelerate(model, FOLDER, quiet=True)
        given, x = [], torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
        own = Polynomials.forward
        Polynomials.forward = staticmethod(lambda ctx, *more: (given.append(1), own(ctx, *more))[1])
        z = model.harmonics(x)
        Polynomials.forward = own
        ok(bool(given) == (max(degrees) < 5), f'harmonics of degrees {degrees}: polynomials to the fourth', given)
        weights = torch.arange(z.numel(), dtype=z.dtype).view(z.shape).cos()
        found = [z, *torch.autograd.grad(z, x, weights)]
        compiled = torch.compile(model.harmonics, backend='aot_eager')(x)
        scripted = torch.jit.script(model.harmonics)(x)
        if given:
            ok(torch.autograd.gradcheck(model.harmonics, x) and torch.autograd.gradgradcheck(model.harmonics, x), 'their derivatives')
            ok(torch.equal(copy.deepcopy(model).harmonics(x), z), 'a copy')
        restore(model)
        plain = model.harmonics(x)
        wanted = [plain, *torch.autograd.grad(plain, x, weights)]
        ok(all(near(a, b, 2e-15) for a, b in zip(found, wanted)), 'are e3nn\'s', [((a - b).abs().max() / b.abs().max()).item() for a, b in zip(found, wanted)])
        ok(torch.equal(compiled, plain) and torch.equal(scripted, plain), 'compiled and as a script they stay these')


def gates():
    """What cuts a gate's rows, without kernels for its product."""
    from e3nn.nn import Gate
    from e3nn.util import jit
    silu, tanh = torch.nn.functional.silu, torch.tanh
    for words in (('4x0e', [silu], '6x0e', [torch.sigmoid], '4x1o + 2x2e'),
                  ('8x0e + 4x0o', [silu, tanh], '12x0e', [silu], '6x1e + 4x1o + 2x2e'),
                  ('16x0o', [tanh], '32x0o', [tanh], '16x1e + 16x1o'), ('8x0e', [silu], '', [], '')):
        gate = Gate(*words)
        some = '2x0e + 1x0o + 2x1o + 2x1e + 1x2e'
        plain = torch.nn.Sequential(o3.Linear(some, some), o3.Linear(some, gate.irreps_in), gate).double()
        model = accelerate(copy.deepcopy(plain), FOLDER, quiet=True, only=lambda path: not path.endswith('mul'))
        ok(hasattr(type(model[2].sc.cut), 'cgtp_bases'), f'a gate of {words[0]}: its rows are split')
        found = []
        for one in plain, model:
            torch.manual_seed(4)
            x = torch.randn(3, one[0].irreps_in.dim, dtype=torch.float64, requires_grad=True)
            [first] = torch.autograd.grad(one(x).square().sum(), x, create_graph=True)
            found.append([one(x), first, *torch.autograd.grad(first.square().sum(), x)])
        ok(all(near(a, b) for a, b in zip(*found)), 'and computes the same, to the second derivative')
        x = x.detach()
        ok(torch.equal(jit.script(copy.deepcopy(model))(x), plain(x)), 'as a script, too, which is e3nn\'s')
        ok(torch.equal(restore(model)(x), plain(x)), 'and restored')


def types():
    plain, model = fresh(torch.float32), accelerate(fresh(torch.float32), FOLDER, quiet=True)
    single = model(*inputs(plain, torch.float32))
    ok(single.dtype == torch.float32 and near(single, plain(*inputs(plain, torch.float32)), 1e-5), 'float32 has kernels of its own')
    model.double(), plain.double()
    ok(near(model(*inputs(plain)), plain(*inputs(plain))), 'model.double() takes those of float64')
    model.float()
    ok(torch.equal(model(*inputs(plain, torch.float32)), single), 'and back')
    text = error_of(model.half)
    ok(text.startswith('BuildError: ') and 'has kernels for float32 and float64, not for float16: accelerate(.., dtypes=' in text,
       'another type is an error that says what to do', text)


def training():
    def steps(model, after=None):
        optimiser = torch.optim.Adam(model.parameters(), 0.01)
        for number in range(6):
            if number == 3 and after:
                after(model)
            optimiser.zero_grad()
            model(*inputs(model)).square().mean().backward()
            optimiser.step()
        return model(*inputs(model))
    wanted = steps(fresh())
    ok(near(steps(accelerate(fresh(), FOLDER, quiet=True)), wanted, 1e-11), 'an optimiser takes the same steps')
    ok(near(steps(fresh(), lambda m: accelerate(m, FOLDER, quiet=True)), wanted, 1e-11), 'also where kernels come in between')
    ok(near(steps(accelerate(fresh(), FOLDER, quiet=True), restore), wanted, 1e-11), 'and where they go')


def programs():
    model = accelerate(fresh(), FOLDER, quiet=True)
    given = inputs(model)
    ok(near(torch.compile(model, fullgraph=True)(*given), model(*given)), 'torch.compile')
    made = copy.deepcopy(model)
    ok(torch.equal(made(*given), model(*given)) and made.first.weight is not model.first.weight, 'deepcopy')


def rank():
    """One of two processes: its half of the rows, before and after which there are kernels; gradients are those of all rows."""
    torch.distributed.init_process_group('gloo')
    number, plain = torch.distributed.get_rank(), fresh()
    given = [rows.detach() for rows in inputs(plain, rows=8)]
    plain(*given).square().mean().backward()
    wrap = torch.nn.parallel.DistributedDataParallel
    for model in wrap(accelerate(fresh(), FOLDER, quiet=True)), accelerate(wrap(fresh()), FOLDER, quiet=True):
        model(*(rows[number * 4:number * 4 + 4] for rows in given)).square().mean().backward()
        assert all(near(a.grad, b.grad) for a, b in zip(model.parameters(), plain.parameters()))
        restore(model)
    print('same', flush=True)


def parallel():
    result = subprocess.run([sys.executable, '-W', 'ignore', '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node=2',
                             __file__, sys.argv[1], 'rank'], text=True, capture_output=True, env=os.environ | {'OMP_NUM_THREADS': '1'})
    ok(result.stdout.count('same') == 2, 'DistributedDataParallel, around kernels and below them', result.stdout, result.stderr[-1500:])


def errors():
    text = error_of(lambda: accelerate(fresh(own=True), FOLDER, strict=True, quiet=True))
    equal(text, "BuildError: stays slow: own: its forward is not e3nn's", 'strict: what stays slow is an error')
    rows = report(accelerate(fresh(own=True), FOLDER, quiet=True)).rows
    ok(('own', 'Own', "left: its forward is not e3nn's") in rows, 'and without it a row of the table', *rows)
    text = error_of(lambda: accelerate(torch.nn.Linear(2, 2), FOLDER, quiet=True))
    ok(text == 'BuildError: Linear has nothing to replace: no products of e3nn, MACE, NequIP, Allegro or SevenNet are in it',
       'a model without products', text)
    text = error_of(lambda: accelerate(3))
    ok(text == 'TypeError: int is neither a module of PyTorch nor a calculator that has some', 'what is no model', text)
    for variables, devices, wanted in (
            ({'CC': 'no-such-cc'}, ['cpu'], 'there is no compiler no-such-cc: install one (on Debian apt-get install build-essential), '
             'or name it by CC'),
            ({'NVCC': 'no-such-nvcc'}, ['cpu', 'cuda'], "there is no no-such-nvcc, which compiles for GPUs: install CUDA 13's, name "
             "it by NVCC, or ask for devices=('cpu',)"),
            ({'CGTPGEN': '/nowhere'}, ['cpu'], 'cgtpgen is not found at /nowhere: build it (make), install it, or set CGTPGEN to the '
             'program'),
            ({'CFLAGS': '--no-such-flag'}, ['cpu'], 'compiling failed: ')):
        with changed(variables):
            model = fresh()
            text = error_of(lambda: accelerate(model, f'{FOLDER}_none', devices=devices, quiet=True))
            ok(wanted in text and '\n' not in text, f'{variables} is said in one line', text)
            ok(not any(hasattr(type(m), 'cgtp_bases') for m in model.modules()), 'and the model is as it was')
        shutil.rmtree(f'{FOLDER}_none', ignore_errors=True)
    kernels = Kernels(FOLDER)
    there = kernels.built()
    name = next(iter(there))
    there[name]['devices']['cpu']['machine'] = 'another'
    elsewhere = copy.copy(kernels)
    elsewhere.built = lambda: there
    text = error_of(lambda: elsewhere.load([name]))
    ok('was built for another processor: build it here again, or anywhere with CFLAGS=-O3' in text, 'another processor', text)
    there[name]['devices'] = {'cuda': {'architectures': ['80']}}
    text = error_of(lambda: elsewhere.check_device([name], torch.device('cpu')))
    ok("is built for cuda alone: accelerate(.., devices=('cpu', 'cuda')) builds it for both" in text, 'another device', text)
    there[name]['devices']['cuda']['architectures'] = ['80', '90']
    found = torch.cuda.is_available, torch.cuda.get_device_capability
    for capability, fits in ((9, 0), True), ((8, 6), True), ((12, 0), False):
        torch.cuda.is_available, torch.cuda.get_device_capability = lambda: True, lambda device=None: capability
        text = error_of(lambda: elsewhere.check_device([name], torch.device('cuda')))
        wanted = 'nothing' if fits else f'BuildError: {name} in {kernels.package} is built for sm_80, sm_90, the GPU is sm_120: ' \
            'build it with CGTP_CUDA_ARCHS=120'
        equal(text, wanted, f'a GPU of compute capability {capability}')
    torch.cuda.is_available, torch.cuda.get_device_capability = found
    text = error_of(lambda: Kernels(f'{FOLDER}_other').load(['none']))
    ok('build it (python3 -m cgtpgen.models build), or set CGTP_KERNELS to the folder that has it' in text, 'kernels that are not there', text)


def other_torch():
    """Libraries that this PyTorch cannot load: those of products, and those that are for one PyTorch alone."""
    own = f'{FOLDER}_torch'
    shutil.rmtree(own, ignore_errors=True)
    script = f'import sys; sys.path[:0] = [{HERE!r}, {os.path.dirname(HERE)!r}]; import torch; from e3nn import o3; ' \
        f'from cgtpgen.models import accelerate; torch.__version__ = sys.argv[1]; m = accelerate(o3.FullyConnectedTensorProduct(' \
        f'"2x0e", "2x1o", "2x1o"), {own!r}, dtypes=["float32"], quiet=True); torch.jit.script(m)'

    def run(version, **variables):
        return subprocess.run([sys.executable, '-W', 'ignore', '-c', script, version], text=True, capture_output=True,
                              env=os.environ | {'PYTHONPATH': f'{ROOT}/runtime/python'} | variables)
    refused = run(torch.__version__)
    ok('has no libcgtp_script.so. Build it again with CGTP_SCRIPT=1' in refused.stderr, 'scripts ask for CGTP_SCRIPT=1', refused.stderr[-500:])
    ok(run(torch.__version__, CGTP_SCRIPT='1').returncode == 0, 'with which all is built')
    package = f'{own}/site/{os.path.basename(own)}'
    path = f'{package}/libcgtp_script.so'
    os.truncate(path, 100)
    ok('is for another PyTorch than this' in run(torch.__version__).stderr, 'a library for scripts of another PyTorch')
    again = run('2.99.0', CGTP_SCRIPT='1')
    ok(again.returncode == 0 and os.path.getsize(path) > 1000, 'CGTP_SCRIPT=1 with another PyTorch builds it again', again.stderr[-800:])
    [library] = [name for name in os.listdir(package) if name.endswith('_cpu.so')]
    os.truncate(f'{package}/{library}', 100)
    text = run('2.99.0').stderr.strip().splitlines()[-1]
    ok(f'{library} is not for this PyTorch, 2.99.0: build it again' in text, 'a product of another PyTorch is one line', text)
    shutil.rmtree(own)


@contextlib.contextmanager
def changed(variables):
    old = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def rebuilt():
    """A folder of another cgtpgen: who comes first builds all of it, for importing one product imports the others."""
    own = f'{FOLDER}_rebuilt'
    shutil.rmtree(own, ignore_errors=True)
    script = f'import sys; sys.path[:0] = [{HERE!r}, {os.path.dirname(HERE)!r}]; sys.argv[1:] = [{sys.argv[1]!r}]; import torch; ' \
        'from e3nn import o3; from cgtpgen.models import accelerate; ' \
        f'[accelerate(o3.FullyConnectedTensorProduct(*i), {own!r}, quiet=True) for i in (("2x0e", "2x1o", "2x1o"), ("3x0e", "2x1o", "1x1o"))]'

    def run():
        return subprocess.run([sys.executable, '-W', 'ignore', '-c', script], text=True, capture_output=True,
                              env=os.environ | {'PYTHONPATH': f'{ROOT}/runtime/python'})
    first = run()
    ok(first.returncode == 0, 'a second model adds its products to a folder', first.stderr[-800:])
    path = f'{own}/site/{os.path.basename(own)}/built.json'
    with open(path) as file:
        text = file.read()
    with open(path, 'w') as file:
        file.write(re.sub('"made_by": "[^"]*"', '"made_by": "another"', text))
    again = run()
    ok(again.returncode == 0, 'after an upgrade too', again.stderr[-800:])
    with open(path) as file:
        equal(file.read(), text, 'and all of it is built again')
    shutil.rmtree(own)


def command():
    model = fresh()
    path = f'{FOLDER}.pt'
    torch.save(torch.nn.Sequential(model.first, model.linear), path)
    own = f'{FOLDER}_command'
    shutil.rmtree(own, ignore_errors=True)

    def run(*words):
        return subprocess.run([sys.executable, '-W', 'ignore', '-m', 'cgtpgen.models', *words, '--folder', own, '--dtypes',
                               'float64'], env=os.environ | {'PYTHONPATH': f'{ROOT}/runtime/python'}, text=True, capture_output=True)
    made = run('specs', path)
    ok(made.returncode == 0 and len(made.stdout.split()) == 1 and made.stdout.startswith('product_'), 'specs writes them', made)
    missing = run('check', path)
    ok(missing.returncode == 1 and '0: product: not built: product_' in missing.stdout, 'check says what is not built', missing)
    built = run('build', path, '-o', f'{path}.fast')
    ok(built.returncode == 0 and os.path.exists(f'{path}.fast'), 'build builds', built)
    ok(run('check', path).returncode == 0, 'and check agrees')
    script = 'import sys, torch; m = torch.load(sys.argv[1], weights_only=False); print(hasattr(type(m[0]), "cgtp_bases"))'
    used = subprocess.run([sys.executable, '-W', 'ignore', '-c', script, f'{path}.fast'],
                          env=os.environ | {'PYTHONPATH': f'{ROOT}/runtime/python', 'CGTPGEN': '/nowhere'}, text=True, capture_output=True)
    ok(used.stdout == 'True\n', 'another process reads the model, without a generator', used)
    imported = subprocess.run([sys.executable, '-c', f'import interface_kernels_command, torch; print(len([n for n in torch._C._dispatch_get_all_op_names()'
                               f' if n.startswith("cgtp::product_")]))'], env=os.environ | {'PYTHONPATH': f'{own}/site'}, text=True,
                              capture_output=True)
    ok(imported.returncode == 0 and int(imported.stdout) > 0, 'to import the package registers its operators', imported)
    os.rename(own, f'{own}_moved')
    lost = subprocess.run([sys.executable, '-W', 'ignore', '-c', script, f'{path}.fast'],
                          env=os.environ | {'PYTHONPATH': f'{ROOT}/runtime/python'}, text=True, capture_output=True)
    ok('set CGTP_KERNELS to the folder that has it' in lost.stderr, 'kernels that have moved away', lost.stderr[-500:])
    found = subprocess.run([sys.executable, '-W', 'ignore', '-c', script, f'{path}.fast'], text=True, capture_output=True,
                           env=os.environ | {'PYTHONPATH': f'{ROOT}/runtime/python', 'CGTP_KERNELS': f'{own}_moved'})
    ok(found.stdout == 'True\n', 'are found by CGTP_KERNELS', found.stderr[-800:])
    shutil.rmtree(f'{own}_moved')
    equal(len(specs(fresh(), f'{FOLDER}_specs')), 4, 'specs() of both types')
    shutil.rmtree(f'{FOLDER}_specs')
    ok(error_of(lambda: build(f'{FOLDER}_specs', quiet=True)).startswith('BuildError: '), 'build() of nothing')
    ok(models.build(FOLDER, quiet=True).endswith('site/interface_kernels'), 'build() of what there is')


if sys.argv[2:] == ['rank']:
    rank()
else:
    for part in numbers, linear, harmonics, gates, types, training, programs, parallel, errors, other_torch, rebuilt, command:
        part()
    done()
