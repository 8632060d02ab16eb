"""Models of other packages, built by their own constructors with random weights, and a crystal to run them on.

A case has a model in float64, which `like` brings to other types, and knows how its package is called: everything else,
in check.py and bench.py, is the same for all of them.
"""
import copy
import functools
import os
import warnings

import ase.build
import numpy
import torch

os.environ.setdefault('TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD', '1')  # e3nn 0.4.4 loads its own constants so
warnings.simplefilter('ignore')

CRYSTALS = {'SiC': ('zincblende', 4.36), 'C': ('diamond', 3.567), 'Cu': ('fcc', 3.615)}


def crystal(repeats=(1, 1, 1), seed=3, name='SiC'):
    """Zinc blende SiC, or another one, periodic, every atom moved and the cell strained, so that no force or stress is zero."""
    structure, constant = CRYSTALS[name]
    atoms = ase.build.bulk(name, structure, a=constant, cubic=True) * repeats
    random = numpy.random.default_rng(seed)
    atoms.set_cell(atoms.cell.array @ (numpy.eye(3) + random.uniform(-0.03, 0.03, (3, 3))), scale_atoms=True)
    atoms.positions += random.uniform(-0.15, 0.15, atoms.positions.shape)
    return atoms


def water(repeats=(1, 1, 1), seed=3):
    """Molecules of water, turned at random, on a lattice as dense as the liquid."""
    random = numpy.random.default_rng(seed)
    places = numpy.stack(numpy.meshgrid(*map(numpy.arange, repeats), indexing='ij'), -1).reshape(-1, 3)
    atoms = ase.Atoms(cell=3.107 * numpy.array(repeats), pbc=True)
    for place in places:
        molecule = ase.build.molecule('H2O')
        molecule.euler_rotate(*random.uniform(0, 360, 3))
        molecule.positions += 3.107 * place + random.uniform(-0.15, 0.15, (3, 3))
        atoms += molecule
    return atoms


def neighbours(atoms, cutoff):
    """(receiver, sender, shift in cells) of each edge, ordered by receiver; an edge's vector is from one to the other."""
    from matscipy.neighbours import neighbour_list
    receiver, sender, shift = neighbour_list('ijS', atoms, cutoff)
    return torch.tensor(receiver.astype('int64')), torch.tensor(sender.astype('int64')), torch.tensor(shift, dtype=torch.float64)


class Case:
    """What the packages have in common. Subclasses build a model, and say how it is called and which vectors its edges have."""

    elements = (6, 14)  # that models of random weights know
    more = {}  # other settings

    def __init__(self, atoms, channels, cutoff=4.0):
        self.atoms, self.channels, self.cutoff = atoms, channels, cutoff
        self.receiver, self.sender, self.shift = neighbours(atoms, self.cutoff)
        self.degree = int(torch.bincount(self.receiver).max())
        self.average = len(self.receiver) / len(atoms)

    def fresh(self, dtype, device='cpu'):
        """The model, built in a type; another one in another type, because random numbers are others."""
        torch.manual_seed(11)
        torch.set_default_dtype(dtype)
        return self.build(dtype).to(device=device, dtype=dtype).eval()

    @functools.cached_property
    def model(self):
        return self.fresh(torch.float64)

    def like(self, dtype, device='cpu'):
        """The same model in another type."""
        torch.set_default_dtype(dtype)
        return copy.deepcopy(self.model).to(device=device, dtype=dtype)

    def tensors(self, dtype, device, positions):
        positions = torch.tensor(self.atoms.positions) if positions is None else positions
        cell = torch.tensor(self.atoms.cell.array)
        return (positions.to(device=device, dtype=dtype), cell.to(device=device, dtype=dtype),
                self.shift.to(device=device, dtype=dtype), torch.stack([self.sender, self.receiver]).to(device))


class Mace(Case):
    """MACE large, but for channels and elements: two interactions, hidden irreps to l = 2, correlation 3."""

    name = 'mace'

    def build(self, dtype):
        from e3nn import o3
        from mace import modules
        block = modules.interaction_classes['RealAgnosticResidualInteractionBlock']
        c = self.channels
        return modules.ScaleShiftMACE(**dict(
            r_max=self.cutoff, num_bessel=8, num_polynomial_cutoff=5, max_ell=3, interaction_cls=block,
            interaction_cls_first=block, num_interactions=2, num_elements=len(self.elements),
            hidden_irreps=o3.Irreps(f'{c}x0e + {c}x1o + {c}x2e'), MLP_irreps=o3.Irreps('16x0e'),
            atomic_energies=-1.0 - numpy.arange(len(self.elements)), avg_num_neighbors=self.average,
            atomic_numbers=list(self.elements), correlation=3, gate=torch.nn.functional.silu, atomic_inter_scale=1.0,
            atomic_inter_shift=0.1, radial_MLP=[64, 64, 64]) | self.more)

    def inputs(self, dtype, device='cpu', positions=None):
        positions, cell, shift, edge_index = self.tensors(dtype, device, positions)
        shift = -shift  # MACE adds it to the receiver's position
        numbers = torch.tensor(self.atoms.numbers, device=device)
        return {'positions': positions, 'cell': cell, 'unit_shifts': shift, 'shifts': shift @ cell, 'edge_index': edge_index,
                'node_attrs': torch.stack([numbers == z for z in self.elements], 1).to(dtype),
                'batch': torch.zeros(len(numbers), dtype=torch.int64, device=device),
                'ptr': torch.tensor([0, len(numbers)], device=device),
                'head': torch.zeros(1, dtype=torch.int64, device=device),
                'pbc': torch.ones(1, 3, dtype=torch.bool, device=device)}

    def vectors(self, inputs):
        from mace.modules.utils import get_edge_vectors_and_lengths
        return get_edge_vectors_and_lengths(inputs['positions'], inputs['edge_index'], inputs['shifts'])[0]

    def call(self, model, inputs, training=False, stress=True):
        out = model(dict(inputs), training=training, compute_force=True, compute_stress=stress)
        return out['energy'].sum(), out['forces'], out['stress'].reshape(3, 3) if stress else None


class Nequip(Case):
    name = 'nequip'
    layers = 3  # 4 is the default

    def __init__(self, *arguments):
        from nequip.utils.global_state import set_global_state
        set_global_state()
        super().__init__(*arguments)

    def types(self):
        names = [ase.data.chemical_symbols[z] for z in self.elements]
        return {'type_names': names, 'per_type_energy_scales': dict.fromkeys(names, 1.0),
                'per_type_energy_shifts': {name: -1.0 - n for n, name in enumerate(names)}}

    def like(self, dtype, device='cpu'):
        model = self.build(dtype)  # the type is an argument of it
        model.load_state_dict(self.model.state_dict())
        return model.to(device).eval()

    def build(self, dtype):
        """NequIP, lmax 2 with both parities."""
        from nequip.model import NequIPGNNModel
        return NequIPGNNModel(
            seed=7, model_dtype=str(dtype)[6:], r_max=self.cutoff, num_layers=self.layers, l_max=2, parity=True,
            num_features=self.channels, radial_mlp_depth=2, radial_mlp_width=64, avg_num_neighbors=self.average, **self.types())

    def inputs(self, dtype, device='cpu', positions=None):
        positions, cell, shift, edge_index = self.tensors(torch.float64, device, positions)
        return {'pos': positions, 'cell': cell.reshape(1, 3, 3), 'edge_index': edge_index.flip(0), 'edge_cell_shift': shift,
                'atom_types': torch.tensor([self.elements.index(z) for z in self.atoms.numbers], device=device)}

    def vectors(self, inputs):
        from nequip.nn import with_edge_vectors_
        return with_edge_vectors_(dict(inputs))['edge_vectors']

    def call(self, model, inputs, training=False, stress=True):
        model.train(training) if model.training != training else None
        out = model(dict(inputs))
        return out['total_energy'].sum(), out['forces'], out['stress'].reshape(3, 3)


class Allegro(Nequip):
    name = 'allegro'

    def build(self, dtype):
        from allegro.model import AllegroModel
        return AllegroModel(**dict(
            seed=7, model_dtype=str(dtype)[6:], r_max=self.cutoff, l_max=2, parity=True, num_layers=2,
            num_scalar_features=16, num_tensor_features=self.channels, allegro_mlp_hidden_layers_width=16,
            allegro_mlp_hidden_layers_depth=1, readout_mlp_hidden_layers_depth=1, readout_mlp_hidden_layers_width=8,
            radial_chemical_embed={'_target_': 'allegro.nn.TwoBodyBesselScalarEmbed', 'num_bessels': 8},
            radial_chemical_embed_dim=16, scalar_embed_mlp_hidden_layers_depth=1, scalar_embed_mlp_hidden_layers_width=16,
            avg_num_neighbors=self.average) | self.types() | self.more)


class Sevennet(Case):
    """SevenNet, three convolutions, lmax 2 of both parities."""

    name = 'sevennet'

    def build(self, dtype):
        import sevenn._const as const
        import sevenn._keys as KEY
        from sevenn.model_build import build_E3_equivariant_model
        config = copy.deepcopy(const.DEFAULT_E3_EQUIVARIANT_MODEL_CONFIG) | {
            KEY.CUTOFF: self.cutoff, KEY.NODE_FEATURE_MULTIPLICITY: self.channels, KEY.LMAX: 2, KEY.NUM_CONVOLUTION: 3,
            KEY.RADIAL_BASIS: {KEY.RADIAL_BASIS_NAME: 'bessel', 'bessel_basis_num': 8},
            KEY.CUTOFF_FUNCTION: {KEY.CUTOFF_FUNCTION_NAME: 'poly_cut', 'poly_cut_p_value': 6},
            KEY.NUM_SPECIES: 2, KEY.CHEMICAL_SPECIES: ['C', 'Si'], KEY.TYPE_MAP: {6: 0, 14: 1},
            KEY.CONV_DENOMINATOR: self.average, KEY.SHIFT: -1.0, KEY.SCALE: 1.0}
        model = build_E3_equivariant_model(config)
        # Its one-hot vectors are float32 whatever the parameters are.
        model.onehot_idx_to_onehot.register_forward_hook(self.cast)
        return model

    @staticmethod
    def cast(module, arguments, data):
        for key in ('x', 'node_attr'):
            data[key] = data[key].to(data['edge_vec'].dtype)
        return data

    def inputs(self, dtype, device='cpu', positions=None):
        positions, cell, shift, edge_index = self.tensors(dtype, device, positions)
        numbers = torch.tensor(self.atoms.numbers, dtype=torch.int64, device=device)
        sender, receiver = edge_index
        return {'x': numbers, 'atomic_numbers': numbers, 'pos': positions, 'edge_index': edge_index.flip(0),
                'edge_vec': positions[sender] - positions[receiver] + shift @ cell,
                'cell_volume': cell.det().abs(), 'num_atoms': torch.tensor(len(numbers), device=device)}

    def vectors(self, inputs):
        return inputs['edge_vec']

    def call(self, model, inputs, training=False, stress=True):
        (model.train(training) if model.training != training else model).set_is_batch_data(False)
        inputs = dict(inputs)
        inputs['edge_vec'] = inputs['edge_vec'].detach().clone()
        out = model(inputs)
        return out['inferred_total_energy'].sum(), out['inferred_force'], out['inferred_stress']


class Trained(Sevennet):
    """SevenNet-l3i5, or another one, as sevenn's wheel has it; its channels and cutoff are its own. With another lmax, random
    weights of its architecture."""

    checkpoint, lmax = '7net-l3i5', 3
    irreps = ('128x0e', '64x1e', '32x2e', '32x3e', '32x4e')

    def build(self, dtype, **switches):
        from sevenn.util import load_checkpoint
        found = load_checkpoint(self.checkpoint)
        model = found.build_model(**switches) if self.lmax == 3 else self.random(found, **switches)
        model.onehot_idx_to_onehot.register_forward_hook(self.cast)
        return model.to(dtype)

    def random(self, found, enable_cueq=False, enable_flash=False, enable_oeq=False):
        import sevenn._keys as KEY
        from sevenn.model_build import build_E3_equivariant_model
        config = found.config  # as build_model does it
        hidden = ['+'.join(self.irreps[:self.lmax + 1])] * (config[KEY.NUM_CONVOLUTION] - 1)
        return build_E3_equivariant_model(config | {
            KEY.LMAX: self.lmax, KEY.IRREPS_MANUAL: [self.irreps[0], *hidden, self.irreps[0]],
            KEY.CUEQUIVARIANCE_CONFIG: {'use': enable_cueq}, KEY.USE_FLASH_TP: enable_flash, KEY.USE_OEQ: enable_oeq,
            '_flash_lammps': False})


CASES = {case.name: case for case in (Mace, Nequip, Sevennet, Allegro)}
