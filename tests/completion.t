#!/usr/bin/env python3
"""Completion for bash and zsh knows the options and words that --help names, and no others."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
BASH, ZSH = (os.path.abspath(f'docs/completion/{name}') for name in ('cgtpgen.bash', '_cgtpgen'))


def read(path):
    with open(path) as file:
        return file.read()


def output(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more).stdout


def completed(*words, folder):
    """What bash offers; the words as it takes the command line apart."""
    script = ('compopt() { :; }; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cgtpgen; '
              'for word in "${COMPREPLY[@]}"; do echo "$word"; done')
    return set(output('bash', '-c', script, 'bash', BASH, 'cgtpgen', *words, cwd=folder).split())


HELP = output(GENERATOR, '--help')
OPTIONS = set(re.findall(r'(?:^  |, )(--?[A-Za-z]+=?)', HELP, re.M))
WORDS = {option: set(re.findall(r'\w+', words)) for option, words in
         re.findall(r'^  (--\w+)=LIST +of ((?:,\n +|[\w, ])+)', HELP, re.M)}
WORDS['--backend'] = set(re.search(r'^  --backend=NAME +(\w+) \(default\) or (\w+)', HELP, re.M).groups())
ARCHS = set(re.findall(r'\b(sm_\d+)\b', re.search(r'^\.It Fl Fl arch .*?^\.It', read('docs/cgtpgen.1'),
                                                  re.M | re.S).group())) | {'c'}
WARNINGS = set(re.split(', | and ', output(GENERATOR, '-W?', 'x').strip().split('there are ')[1])) | {'error'}
ok(len(OPTIONS) > 12 and len(WORDS) == 3 and len(ARCHS) > 5, 'what there is', HELP)

with tempfile.TemporaryDirectory() as FOLDER:
    for name in 'a.yaml', 'b.yml', 'c.txt':
        with open(f'{FOLDER}/{name}', 'w'):
            pass
    os.mkdir(f'{FOLDER}/specs')
    equal(completed('-', folder=FOLDER), OPTIONS, 'bash: options')
    equal(completed('--pr', folder=FOLDER), {'--prune', '--print='}, 'bash: options that begin so')
    for option, words in [*WORDS.items(), ('--arch', ARCHS)]:
        equal(completed(option, '=', folder=FOLDER), words, f'bash: {option}=')
    equal(completed('--emit', '=', 'header,so', folder=FOLDER), {'header,source'}, 'bash: the next word of a list')
    equal(completed('', folder=FOLDER), {'a.yaml', 'b.yml', 'specs'}, 'bash: specs and folders')
    equal(completed('-W', '', folder=FOLDER), WARNINGS, 'bash: warnings')
    equal(completed('-MT', '', folder=FOLDER), set(), 'bash: nothing for a free text')

text = read(ZSH)
equal(set(re.search(r"\*-W\[[^]]*\]:warning:\(([^)]*)\)'", text)[1].split()), WARNINGS, 'zsh: warnings')
equal(set(re.findall(r"^    '(?:\([^)]*\)|\*)?(--?[A-Za-z]+=?)\[", text, re.M)), OPTIONS, 'zsh: options')
for option, words in [*WORDS.items(), ('--arch', ARCHS)]:
    found = re.search(rf'{option}=\[.*?:(?:\(([\w ]+)\)|_values -s , \w+ ([\w ]+))\'', text)
    equal(set(''.join(part or '' for part in found.groups()).split()), words, f'zsh: {option}=')
for backend, archs in ('cuda', ARCHS - {'c'}), ('c', {'c'}):
    for arch in sorted(archs):
        ok('SPEC' in output(GENERATOR, f'--backend={backend}', f'--arch={arch}', '--help'), f'{arch} is one')
if shutil.which('zsh'):
    with tempfile.TemporaryDirectory() as FOLDER:
        shutil.copy(ZSH, FOLDER)
        found = output('zsh', '-f', '-c', f'fpath=({FOLDER} $fpath); autoload -Uz compinit; compinit -D -u; '
                       'print $_comps[cgtpgen]; autoload +X _cgtpgen && print loaded', cwd=FOLDER)
        equal(found, '_cgtpgen\nloaded\n', 'zsh: loads it for cgtpgen')
else:
    skip('zsh', 'no zsh')
done()
