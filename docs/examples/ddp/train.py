"""Training on energies and forces by several processes, each with graphs of its own: PyTorch's DistributedDataParallel.

    cgtpgen --backend=c --emit=header,source,torch -o layers layer.yaml && pip install --no-build-isolation ./layers
    torchrun --nproc-per-node=2 train.py [--steps=N]

Processes agree on gradients by gloo, or, where each has a GPU and the package is for CUDA, by NCCL. Prints the loss of
all structures before each step, which does not depend on the number of processes but for rounding."""
import argparse
import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from layers.ddp_layer import Convolution

STRUCTURES, ATOMS, CUTOFF = 8, 12, 3.0


def structure(number):
    """Positions, and energy and forces to be learnt: of springs."""
    generator = torch.Generator().manual_seed(number)
    positions = (torch.rand(ATOMS, 3, generator=generator) * 4).requires_grad_()
    lengths = torch.pdist(positions)
    energy = (lengths[lengths < CUTOFF] - 2).square().sum() / 10
    return positions.detach(), energy.detach(), -torch.autograd.grad(energy, positions)[0]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = Convolution()
        channels = self.convolution.product.dim['x']
        self.features = torch.nn.Parameter(torch.randn(channels))
        self.radial = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.SiLU(),
                                          torch.nn.Linear(16, self.convolution.weight_numel))
        self.out = torch.nn.Parameter(torch.randn(2 * channels) / 6)

    def forward(self, positions):
        positions = positions.detach().requires_grad_()
        with torch.no_grad():
            near = torch.cdist(positions, positions) < CUTOFF
            edge_index = (near & ~torch.eye(len(near), dtype=torch.bool, device=near.device)).nonzero().T.contiguous()
        vector = positions[edge_index[0]] - positions[edge_index[1]]
        length = vector.norm(dim=1, keepdim=True)
        y = torch.cat([torch.ones_like(length), math.sqrt(3) * vector / length], 1)
        waves = torch.sin(torch.arange(1, 9, device=length.device) * math.pi * length / CUTOFF) / length
        x = self.features.expand(len(positions), -1)
        z = self.convolution(x, y, self.radial(waves * (1 - length / CUTOFF) ** 2), edge_index, receivers=len(positions))
        scalars, vectors = z[:, :len(self.features)], z[:, len(self.features):].unflatten(1, (-1, 3))
        energy = (torch.cat([scalars, vectors.square().sum(2)], 1) @ self.out).sum()
        return energy, -torch.autograd.grad(energy, positions, create_graph=True)[0]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('--steps', type=int, default=5)
    steps = arguments.parse_args().steps
    rank, ranks = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
    on_gpus = torch.cuda.device_count() >= ranks and 'cuda' in os.environ.get('DEVICE', 'cuda')
    device = torch.device('cuda', int(os.environ['LOCAL_RANK'])) if on_gpus else torch.device('cpu')
    dist.init_process_group('nccl' if on_gpus else 'gloo')
    torch.manual_seed(0)
    model = DistributedDataParallel(Model().to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    mine = [[tensor.to(device) for tensor in structure(n)] for n in range(rank, STRUCTURES, ranks)]
    for step in range(steps):
        optimizer.zero_grad()
        loss = 0
        for i, (positions, energy, forces) in enumerate(mine):
            with torch.enable_grad() if i + 1 == len(mine) else model.no_sync():  # gradients are exchanged once a step
                found = model(positions)
                part = ((found[0] - energy).square() + (found[1] - forces).square().sum()) / len(mine)
                part.backward()
            loss += part.detach()
        dist.all_reduce(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        if rank == 0:
            print(f'step {step}: loss {loss.item() / ranks:.6g}', flush=True)
    dist.destroy_process_group()


main()
