#!/usr/bin/env python3
"""The setup.py of packages for Python finds cgtpgen's runtime: where it is told to, beside the package, and where the cgtpgen
is that PATH has, installed or built; and else says what to do. spec_of (cgtp_e3nn.py)
says what it takes. Nothing is built."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
RUNTIME = os.path.abspath('runtime')


def found(folder, path, **environment):
    """What runtime() of the folder's setup.py returns, or what it says."""
    program = f'text = open({folder + "/setup.py"!r}).read().split("sys.dont_write_bytecode")[0]; ' \
              f'space = {{"__file__": {folder + "/setup.py"!r}}}; exec(text, space); print(space["runtime"]())'
    clean = {key: value for key, value in os.environ.items() if not key.startswith('CGTP_')}
    result = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True,
                            env=clean | {'PATH': path, 'PKG_CONFIG_LIBDIR': folder} | environment)
    return os.path.realpath(result.stdout.strip()) if result.returncode == 0 else result.stderr.strip()


with tempfile.TemporaryDirectory() as folder:
    folder = os.path.realpath(folder)
    subprocess.run([GENERATOR, '--backend=c', '--emit=torch', '-o', f'{folder}/layers', 'specs/nequip_water.yaml'], check=True)
    layers = f'{folder}/layers'
    equal(found(layers, folder), "cgtpgen's runtime is not found: put cgtpgen into PATH, or set CGTP_RUNTIME to the folder "
          "that has cgtp.h", 'nowhere')
    equal(found(layers, folder, CGTP_RUNTIME=RUNTIME), RUNTIME, 'told by CGTP_RUNTIME')
    for place in 'runtime', 'share/cgtpgen':
        there = f'{folder}/{place.replace("/", "_")}'
        os.makedirs(f'{there}/bin')
        shutil.copy(GENERATOR, f'{there}/bin/cgtpgen')
        shutil.copytree(RUNTIME, f'{there}/{place}')
        equal(found(layers, f'{there}/bin'), f'{there}/{place}', f'beside the cgtpgen of PATH: {place}')
        os.makedirs(f'{folder}/links', exist_ok=True)
        if os.path.lexists(f'{folder}/links/cgtpgen'):
            os.remove(f'{folder}/links/cgtpgen')
        os.symlink(f'{there}/bin/cgtpgen', f'{folder}/links/cgtpgen')
        equal(found(layers, f'{folder}/links'), f'{there}/{place}', f'also where that is a link: {place}')
    said = subprocess.run([sys.executable, '-c', 'import sys; sys.path.insert(0, "runtime"); sys.dont_write_bytecode = True; '
                           'from cgtp_e3nn import spec_of; spec_of(type("Linear", (), {"irreps_in": "1x0e"})(), "name")'],
                          capture_output=True, text=True).stderr
    ok('TypeError: Linear is no TensorProduct of e3nn: it has no irreps_in1' in said, 'spec_of says what it takes', said)
    shutil.copytree(RUNTIME, f'{layers}/runtime')
    ok(found(layers, folder) == f'{layers}/runtime', 'in the package')
done()
