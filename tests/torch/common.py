"""What programs share that check a package of products for PyTorch: the first argument is its folder. DEVICE=cuda: tensors
are made on a GPU."""
import importlib
import os
import sys

import torch

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from tap import ok  # noqa: E402

FOLDER = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(FOLDER))
EPSILON = torch.finfo(torch.float64).eps
torch.set_default_device(os.environ.get('DEVICE', 'cpu'))


def module(name):
    return importlib.import_module(f'{os.path.basename(FOLDER)}.{name}')


def rows(product, items, nodes, seed=0, scale=1):
    """Random x, y, w."""
    torch.manual_seed(seed)
    count = {'item': items, 'sender': nodes, 'receiver': nodes, 'shared': 1}
    return [torch.randn(count[product.index[s]], product.dim[s], dtype=product.dtype[s]) * scale for s in 'xyw']


def fails(kind, words, call, name):
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return ok(isinstance(error, kind) and words in str(error), f'{name}: {words}', type(error), error)
    return ok(False, f'{name}: {words}', 'nothing was said')


def near(found, wanted, name):
    """e3nn's numbers are rounded, too: errors relative to the largest of the array."""
    bound = 500 * EPSILON * max(wanted.abs().max().item() if wanted.numel() else 0, 1e-300)
    error = (found - wanted).abs().max().item() if wanted.numel() else 0
    return ok(found.shape == wanted.shape and error <= bound, name, found.shape, wanted.shape, error, bound)
