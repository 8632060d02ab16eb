#!/usr/bin/env python3
"""README.md shows what is true: the spec, the generated code, the links, the command that .ci/run runs."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402


def read(path):
    with open(path) as f:
        return f.read()


readme = read('README.md')
blocks = re.findall(r'^```(\w+)\n(.*?)^```$', readme, re.M | re.S)
spec = re.sub(r'^#.*\n', '', read('specs/mace_large.yaml'), flags=re.M)
equal([text for kind, text in blocks if kind == 'yaml'], [spec], 'the spec is specs/mace_large.yaml')
shown = [text for kind, text in blocks if kind == 'c']
ok(shown[0] in read('generated/mace_large_forward.c'), 'the code is that of the C backend')
generator = os.environ.get('CGTPGEN', 'build/cgtpgen')
for arguments in (['-o', 'generated/cuda'], ['--backend=c', '-o', 'generated']):
    command = [*arguments, 'specs/mace_large.yaml']
    check = subprocess.run([generator, '--check', *command], stdout=subprocess.PIPE, text=True)
    ok(f'`cgtpgen {" ".join(command)}`' in readme and check.returncode == 0,
       f'it is shown that cgtpgen {" ".join(command)} writes that folder, and so it does', check.stdout)
for page in ['README.md'] + [f'docs/{name}' for name in os.listdir('docs') if name.endswith('.md')]:
    links = re.findall(r'\]\(([^)#]+)(?:#[^)]*)?\)', read(page))
    missing = [link for link in links if '://' not in link and
               not os.path.exists(os.path.join(os.path.dirname(page), link))]
    equal(missing, [], f'{page}: every link leads somewhere')
commands = re.findall(r'^    (apt-get .*)$', readme, re.M)
equal([command.split('&&')[-1].strip() for command in commands],
      ['make demo', 'make test'], 'two commands set up')
script = read('.ci/run')
grep = re.search(r'^command=\$\((.*)\)$', script, re.M).group(1)
equal(subprocess.run(['sh', '-c', grep], stdout=subprocess.PIPE, text=True).stdout.strip(), commands[1],
      '.ci/run finds the command for the tests')
if shutil.which('mandoc'):
    lint = subprocess.run(['mandoc', '-Tlint', '-Wstyle', 'docs/cgtpgen.1'], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    complaints = [line for line in lint.splitlines()
                  if 'mandoc.db' not in line and 'referenced manual' not in line]
    equal(complaints, [], 'mandoc has nothing to say about the manual page')
else:
    skip('the manual page', 'no mandoc')
done()
