#!/usr/bin/env python3
"""The two commands of README.md that set up, one run with few edges and compiled quickly, in a folder of its own, the
other by .ci/run, and the manual page. docs.t has the rest."""
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
commands = re.findall(r'^    (apt-get .*)$', readme, re.M)
equal([command.split('&&')[-1].strip() for command in commands],
      ['make demo', 'make test'], 'two commands set up')
build = os.environ.get('BUILD', 'build')
few = subprocess.run(['make', '-s', 'demo', 'DEMO_BACKEND=c', 'EDGES=500', 'FAST=-O0', f'BUILD={build}/readme',
                      f"GPU_GENERATOR={os.environ.get('CGTPGEN', build + '/cgtpgen')}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                     text=True, env={name: value for name, value in os.environ.items() if not name.startswith('MAKE')})
verdicts = re.findall(r'^(\w+) .*: (right|WRONG)$', few.stdout, re.M)
equal((few.returncode, verdicts), (0, [(name, 'right') for name in ('z', 'gx', 'gy', 'gw')]),
      'the first of them, on few edges')
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
