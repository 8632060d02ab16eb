#!/usr/bin/env python3
"""The two commands of README.md that set up, one of which .ci/run runs, and the manual page. docs.t has the rest."""
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
