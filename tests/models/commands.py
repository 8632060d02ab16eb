#!/usr/bin/env python3
"""NequIP's own commands with kernels: training with the modifier, nequip-prepare-lmp-mliap, and nequip-compile of the checkpoint
and of a package of it; each result against the same without kernels; the last two as with an installed wheel. With
MODELS_LONG=1 also training that is compiled.

    tests/models/commands.py nequip FOLDER
"""
import os
import re
import subprocess
import sys
import tomllib

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(f'{HERE}/../..')
sys.path[:0] = [HERE, f'{HERE}/..', f'{ROOT}/runtime/python']
import ase.io  # noqa: E402
import ghosts  # noqa: E402
import numpy  # noqa: E402
import packages  # noqa: E402
import torch  # noqa: E402
from tap import done, ok, skip  # noqa: E402

FOLDER = os.path.abspath(sys.argv[2])
WORK = f'{FOLDER}/commands'
MODIFIED = ['--modifiers', 'enable_cgtpgen']
CONFIG = """
run: [train]
data:
  _target_: nequip.data.datamodule.ASEDataModule
  seed: 1
  train_file_path: {work}/data.xyz
  val_file_path: {work}/data.xyz
  transforms:
    - {{_target_: nequip.data.transforms.ChemicalSpeciesToAtomTypeMapper, model_type_names: [C, Si]}}
    - {{_target_: nequip.data.transforms.NeighborListTransform, r_max: 4.0}}
  train_dataloader: {{_target_: torch.utils.data.DataLoader, batch_size: 2}}
  val_dataloader: {{_target_: torch.utils.data.DataLoader, batch_size: 2}}
trainer:
  _target_: lightning.Trainer
  max_epochs: 2
  enable_progress_bar: false
  logger: false
  callbacks: [{{_target_: lightning.pytorch.callbacks.ModelCheckpoint, dirpath: "{work}/{name}", save_last: true}}]
training_module:
  _target_: nequip.train.NequIPLightningModule
  loss: {{_target_: nequip.train.EnergyForceLoss, per_atom_energy: true, coeffs: {{total_energy: 1.0, forces: 1.0}}}}
  val_metrics: {{_target_: nequip.train.EnergyForceMetrics, coeffs: {{total_energy_mae: 1.0, forces_mae: 1.0}}}}
  optimizer: {{_target_: torch.optim.Adam, lr: 0.001}}
  model:
    _target_: nequip.model.modify
    modifiers: {modifiers}
    model:
      _target_: nequip.model.NequIPGNNModel
      seed: 7
      model_dtype: float64
      type_names: [C, Si]
      r_max: 4.0
      num_layers: 2
      l_max: 1
      parity: true
      num_features: 4
      radial_mlp_depth: 1
      radial_mlp_width: 8
      avg_num_neighbors: 20.0
      per_type_energy_scales: 1.0
      per_type_energy_shifts: {{C: -1.0, Si: -2.0}}
      compile_mode: {compile_mode}
global_options: {{allow_tf32: false}}
"""


def installed():
    """A folder for PYTHONPATH that has of cgtpgen what pip would have installed: the package, and what pyproject.toml says
    other packages find in it."""
    site = f'{FOLDER}/installed'
    os.makedirs(f'{site}/cgtpgen-0.dist-info', exist_ok=True)
    if os.path.lexists(f'{site}/cgtpgen'):  # perhaps of another checkout
        os.remove(f'{site}/cgtpgen')
    os.symlink(f'{ROOT}/runtime/python/cgtpgen', f'{site}/cgtpgen')
    with open(f'{ROOT}/runtime/python/pyproject.toml', 'rb') as file:
        groups = tomllib.load(file)['project']['entry-points']
    with open(f'{site}/cgtpgen-0.dist-info/METADATA', 'w') as file:
        file.write('Metadata-Version: 2.1\nName: cgtpgen\nVersion: 0\n')
    with open(f'{site}/cgtpgen-0.dist-info/entry_points.txt', 'w') as file:
        file.write(''.join(f'[{group}]\n' + ''.join(f'{name} = {value}\n' for name, value in of.items())
                           for group, of in groups.items()))
    return site


def run(*words, wrapped=True, **variables):
    command = [sys.executable, '-W', 'ignore', '-m', 'cgtpgen.models', 'run', *words] if wrapped else \
        [f'{os.path.dirname(sys.executable)}/{words[0]}', *words[1:]]
    result = subprocess.run(command, cwd=WORK, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | {
        'PYTHONPATH': f'{ROOT}/runtime/python:{os.environ.get("PYTHONPATH", "")}', 'CGTP_KERNELS': f'{FOLDER}/commands_kernels'} |
        variables)
    return result.returncode == 0, result.stdout[-3000:]


def nequip():
    random, frames = numpy.random.default_rng(1), []
    from ase.calculators.singlepoint import SinglePointCalculator
    for seed in range(4):
        atoms = packages.crystal(seed=seed)
        atoms.calc = SinglePointCalculator(atoms, energy=float(random.normal()), forces=random.normal(size=(len(atoms), 3)))
        frames.append(atoms)
    ase.io.write(f'{WORK}/data.xyz', frames)
    weights = {}
    for name, modifiers, mode in (('plain', '[]', 'eager'), ('fast', '[{modifier: enable_cgtpgen}]', 'eager'),
                                  ('compiled', '[{modifier: enable_cgtpgen}]', 'compile'))[:3 if os.environ.get('MODELS_LONG') else 2]:
        with open(f'{WORK}/{name}.yaml', 'w') as file:
            file.write(CONFIG.format(work=WORK, name=name, modifiers=modifiers, compile_mode=mode))
        made, text = run('nequip-train', '-cp', WORK, '-cn', name, wrapped=name != 'plain')
        ok(made, f'nequip-train, {name}', text)
        state = torch.load(f'{WORK}/{name}/last.ckpt', weights_only=False)['state_dict']
        weights[name] = {key.replace('sole_model.', ''): value for key, value in state.items()}
        if name != 'plain':
            ok(weights[name].keys() == weights['plain'].keys(), f'its checkpoint is plain NequIP\'s, {name}')
            worst = max((weights[name][key] - value).abs().max().item() for key, value in weights['plain'].items()
                        if torch.is_tensor(value) and value.is_floating_point() and value.numel())
            ok(worst < 1e-9, f'and has the same weights after four steps, {name}', worst)
    mliap(frames[1:3])
    if not os.path.exists(f'{ROOT}/runtime/cgtp_torch_graph.py'):
        return skip('nequip-compile', 'lists of edges are not prepared by an operator, which make_fx needs')
    made, text = run('nequip-package', 'build', f'{WORK}/fast/last.ckpt', f'{WORK}/model.nequip.zip')
    ok(made, 'nequip-package', text)
    for source in 'fast/last.ckpt', 'model.nequip.zip':
        own = source == 'model.nequip.zip'  # by NequIP's own command, which finds an installed cgtpgen
        made, text = run('nequip-compile', f'{WORK}/{source}', f'{WORK}/fast.nequip.pt2', '--mode', 'aotinductor', '--device', 'cpu',
                         '--target', 'ase', '--modifiers', 'enable_cgtpgen', wrapped=not own,
                         **({'PYTHONPATH': installed(), 'CGTP_RUNTIME': f'{ROOT}/runtime'} if own else {}))
        ok(made, f'nequip-compile of {source}', text)
        compiled(frames[1], source)


def mliap(frames):
    """What LAMMPS would call (ghosts.py), in a process that finds an installed cgtpgen: eager, and with NequIP's torch.compile, which
    takes kernels into its graphs; these end where LAMMPS exchanges features, and the second crystal, which is larger, needs no others."""
    interface, own = ghosts.interface(FOLDER), {'PYTHONPATH': installed(), 'CGTP_RUNTIME': f'{ROOT}/runtime'}
    own['PYTHONPATH'] += f':{interface}'
    crystals = [frames[0], frames[1] * (1, 1, 2)]
    found = {}
    for name, words in ('plain', ['--no-compile']), ('fast', ['--no-compile', *MODIFIED]), ('compiled', MODIFIED):
        path = f'{WORK}/{name}.nequip.lmp.pt'
        made, text = run('nequip-prepare-lmp-mliap', f'{WORK}/plain/last.ckpt', path, *words, wrapped=False, **own)
        ok(made, f'nequip-prepare-lmp-mliap, {name}', text)
        found[name], text = ghosts.called(
            path, [ghosts.Lammps(atoms, 4.0, [[6, 14].index(number) for number in atoms.numbers]) for atoms in crystals], WORK,
            CGTP_KERNELS=f'{FOLDER}/commands_kernels', TORCH_LOGS='graph_breaks,recompiles', **own)
        ok([getattr(one, 'fast', 0) >= 2 for one in found[name]] == [name != 'plain'] * 2, f'by kernels, where it is asked for, {name}')
        breaks = set(re.findall(r'in user code at \S*?([^/\s]+/[^/\s]+):', text))
        ok(breaks == ({'models/ghosts.py'} if name == 'compiled' else set()), f'where graphs end, {name}', breaks)
    first, _, second = text.partition('# called')
    ok('in user code at' in first and not re.search('Recompiling|in user code at', second), 'other edges need no other graphs', second[-2000:])
    for name in 'fast', 'compiled':
        for atoms, one, plain in zip(crystals, found[name], found['plain']):
            for what, a, b in zip(('energy', 'energies of atoms', 'forces', 'forces, beside those of the crystal'),
                                  (one.energy, one.eatoms, one.forces, one.forces),
                                  (plain.energy, plain.eatoms, plain.forces, torch.tensor(eager(atoms).get_forces()))):
                ok((a - b).abs().max() < 1e-9 * b.abs().max(), f'ML-IAP, {name}, {len(atoms)} atoms: {what}', (a - b).abs().max(), b.abs().max())


def compiled(atoms, source):
    """A process that knows nothing but the kernels' package against the eager model."""
    script = ('import sys, ase.io, numpy\nfrom nequip.integrations.ase import NequIPCalculator\n'
              'atoms = ase.io.read(sys.argv[2], index=1)\n'
              'atoms.calc = NequIPCalculator.from_compiled_model(sys.argv[1], device="cpu")\n'
              'numpy.save(sys.argv[3], numpy.vstack([atoms.get_forces(), numpy.full((1, 3), atoms.get_potential_energy()), '
              'atoms.get_stress(voigt=False)]))\n')
    result = subprocess.run([sys.executable, '-W', 'ignore', '-c', script, f'{WORK}/fast.nequip.pt2', f'{WORK}/data.xyz',
                             f'{WORK}/out.npy'], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env=os.environ | {'PYTHONPATH': f'{FOLDER}/commands_kernels/site'})
    ok(result.returncode == 0, f'the compiled {source} runs in ASE, without cgtpgen', result.stdout[-2000:])
    if result.returncode:
        return
    found = numpy.load(f'{WORK}/out.npy')
    atoms = eager(atoms)
    wanted = numpy.vstack([atoms.get_forces(), numpy.full((1, 3), atoms.get_potential_energy()), atoms.get_stress(voigt=False)])
    error = abs(found - wanted).max() / abs(wanted).max()
    ok(error < 1e-9, f'and computes what plain NequIP does, {source}', error)


def eager(atoms):
    """With plain NequIP's calculator."""
    from nequip.integrations.ase import NequIPCalculator
    from nequip.data.transforms import ChemicalSpeciesToAtomTypeMapper, NeighborListTransform
    from nequip.model.saved_models.load_utils import load_saved_model
    from nequip.utils.global_state import set_global_state
    set_global_state()
    model, atoms = load_saved_model(f'{WORK}/plain/last.ckpt', 'eager').eval(), atoms.copy()
    atoms.calc = NequIPCalculator(model, device='cpu', transforms=[ChemicalSpeciesToAtomTypeMapper(model_type_names=['C', 'Si']),
                                                                   NeighborListTransform(r_max=4.0)])
    return atoms


os.makedirs(WORK, exist_ok=True)
nequip()
done()
