"""What tests of packages for Python share: products for one framework, generated, built by pip as a wheel, installed;
programs that check them; golden cases."""
import os
import re
import struct
import subprocess
import sys

from tap import ok

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen'))
SPECS = 'tests/torch/specs'
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'golden')


def run(*command, folder=None, **environment):
    return subprocess.run(command, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


class Wheel:
    """The folder `work` has the products, the wheel, and `site`, where it is installed as the package `products`."""

    def __init__(self, framework, work, python):
        self.framework, self.work, self.python = framework, os.path.abspath(work), python
        self.package = f'{self.work}/site/products'

    def specs(self, golden, others, *more):
        """The paths of SPECS, of golden cases, of more specs, and of others, written here, that differ from those of SPECS in
        one key: (name, whose, key, value)."""
        os.makedirs(f'{self.work}/specs', exist_ok=True)
        specs = [f'{SPECS}/{name}' for name in sorted(os.listdir(SPECS))] + list(more)
        specs += [f'tests/golden/{name}.yaml' for name in golden]
        for name, of, key, value in others:
            path, text = f'{self.work}/specs/{name}.yaml', read(f'{SPECS}/{of}.yaml')
            text = re.sub(f'^{key}: .*', f'{key}: {value}', text, flags=re.M)
            write(path, re.sub('^name: .*', f'name: {name}', text, flags=re.M))
            specs.append(path)
        return specs

    def generate(self, golden, others, *more):
        """Writes the products of these specs, for CPUs."""
        specs = self.specs(golden, others, *more)
        made = run(GENERATOR, '--backend=c', '-Wno-all', f'--emit=header,hpp,source,{self.framework}', '--prune', '-o',
                   f'{self.work}/products', *specs)
        return ok(made.returncode == 0 and not made.stdout, f'{len(specs)} products are generated', made.stdout)

    def build(self, generator, specs):
        """The package of these for CPUs and CUDA, without pip: on machines with a GPU."""
        for backend, into in ('c', 'products'), ('cuda', 'products/cuda'):
            subprocess.run([generator, f'--backend={backend}', '-Wno-all', f'--emit=header,source,{self.framework}', '-o',
                            f'{self.work}/{into}', *specs], check=True)
        subprocess.run([sys.executable, 'runtime/cgtp_build.py', f'{self.work}/products', self.package], check=True)

    def install(self):
        """pip builds a wheel and installs it."""
        environment = {'CGTP_RUNTIME': os.path.abspath('runtime'), 'CFLAGS': '-O1', 'MAX_JOBS': '2',
                       'CGTP_SCRIPT': '1'}
        wheel = run(self.python, '-m', 'pip', 'wheel', '--no-build-isolation', '--no-deps', '-w', f'{self.work}/wheel',
                    f'{self.work}/products', **environment)
        files = sorted(os.listdir(f'{self.work}/wheel')) if os.path.exists(f'{self.work}/wheel') else []
        if not ok(wheel.returncode == 0 and len(files) == 1 and
                  re.fullmatch(r'products-[\d.]+-py3-none-linux_\w+\.whl', files[0]),
                  'pip makes one wheel, for all versions of Python', *files, wheel.stdout[-4000:]):
            return False
        made = run(self.python, '-m', 'pip', 'install', '--no-deps', '--upgrade', '--target', f'{self.work}/site',
                   f'{self.work}/wheel/{files[0]}')
        return ok(made.returncode == 0, 'and installs it', made.stdout[-4000:])

    def check(self, program, *parts, **environment):
        """Runs parts of a program, whose lines become this test's."""
        result = run(self.python, program, self.package, *parts, OMP_NUM_THREADS='1', **environment)
        lines = re.findall(r'^(not ok|ok) \d+ - (.*)((?:\n#.*)*)', result.stdout, re.M)
        for status, name, details in lines:
            ok(status == 'ok', name, *re.findall(r'# ?(.*)', details))
        ok(result.returncode == (1 if any(status != 'ok' for status, _, _ in lines) else 0) and
           f'1..{len(lines)}' in result.stdout, f"{' '.join(parts)}: checked to the end", result.stdout[-3000:])


def golden_arrays(name):
    """The arrays of a golden case: name -> (rows, columns, numbers)."""
    path = f'{GOLDEN}/{name}'
    lines = [line.split() for line in read(f'{path}.problem').splitlines()]
    with open(f'{path}.f64', 'rb') as file:
        data = file.read()
    arrays, at = {}, 0
    for _, array, rows, columns in (line for line in lines if line[0] == 'array'):
        size = int(rows) * int(columns)
        arrays[array] = int(rows), int(columns), struct.unpack(f'<{size}d', data[8 * at:8 * (at + size)])
        at += size
    return arrays
