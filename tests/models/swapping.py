"""From a model to one with generated modules: the functions of docs/models.md, and the package that they need."""
import importlib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [f'{ROOT}/tests', f'{ROOT}/runtime']
from examples import blocks  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', f'{ROOT}/build/cgtpgen')


def functions(name, folder):
    """The module that docs/models.md shows for a package."""
    os.makedirs(folder, exist_ok=True)
    with open(f'{ROOT}/docs/models.md') as page:
        shown = {words.split('file=')[1]: text for words, text, _ in blocks(page.read()) if 'file=' in words}
    with open(f'{folder}/{name}_cgtp.py', 'w') as file:
        file.write(shown[f'{name}_cgtp.py'])
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    return importlib.import_module(f'{name}_cgtp')


def build(package, texts, folder, devices=('cpu',)):
    """Generates and builds a package of the specs {name: text} in folder/site, or leaves it if it is there."""
    os.makedirs(f'{folder}/{package}_specs', exist_ok=True)
    paths = []
    for name, text in texts.items():
        paths.append(f'{folder}/{package}_specs/{name}.yaml')
        with open(paths[-1], 'w') as file:
            file.write(text)
    for device in devices:
        backend, into = ('cuda', f'{folder}/{package}/cuda') if device == 'cuda' else ('c', f'{folder}/{package}')
        if devices == ('cuda',):
            into = f'{folder}/{package}'
        subprocess.run([GENERATOR, f'--backend={backend}', '-Wno-dead-input', '--emit=header,source,torch', '-o', into, *paths],
                       check=True)
    subprocess.run([sys.executable, f'{ROOT}/runtime/cgtp_build.py', f'{folder}/{package}', f'{folder}/site/{package}'],
                   check=True, stdout=subprocess.DEVNULL)


def layers(package, names, folder):
    if f'{folder}/site' not in sys.path:
        sys.path.insert(0, f'{folder}/site')
    importlib.invalidate_caches()
    return [importlib.import_module(f'{package}.{name}') for name in names]
