#!/usr/bin/env python3
"""README.md and docs/*.md are true: every block of every page is run, read or compiled, and what is shown as its
result is compared with the real one.

The blocks of a page are taken in their order, in a folder of the page's own (or of the page that it continues) which looks like a checkout (specs,
runtime, generated, build/cgtpgen), with an installed cgtpgen in PATH. The words after a fence say what a block is:

    yaml             a spec, completed by examples.py where keys are left out; it generates without a message
    yaml wrong       a whole spec with errors; the text block below it is what is said
    sh, or indented  commands
    console          commands, each after "$ ", and what they print; a line "..." stands for any lines
    c, cpp, cuda     the inside of a function; it compiles, with docs_fragment.h
    make, cmake      a file
    python           a program; it is parsed

    file=NAME        the block is that file of the page's folder, as it is, for commands further down
    from=PATH        the block is an excerpt of that file of this repository
    wrong            of commands: the last one fails
    needs=WORDS      the block is skipped without these: nvcc, gpu, cmake, e3nn, e3nn_jax, torch, jax

With UPDATE=1 what commands print is written into the pages, for `git diff` to show; "..." stays.

Nothing is optimised (installed.py).
"""
import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
import tap  # noqa: E402
from examples import blocks, complete, generate  # noqa: E402
from installed import ENVIRONMENT, install, read, unoptimised, write  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

PAGES = ['README.md', *sorted(glob.glob('docs/*.md'))]
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
PYTHON = os.environ.get('PYTHON') or sys.executable
UPDATE = os.environ.get('UPDATE')
COMPILE = {'c': ['gcc', '-Werror', '-fsyntax-only'], 'cpp': ['g++', '-Werror', '-std=c++17', '-fsyntax-only'],
           'cuda': ['nvcc', '-std=c++17', '-c', '-o', '/dev/null', '-x', 'c++']}  # what runs on the host
# The spec, the C interface and measurements are looked up, not read; one page each.
LONG = ('docs/spec.md', 'docs/c_interface.md', 'docs/benchmarks.md')
MUCH = 100  # letters that no two pages have in common
# Pages that go on in the folder of another, which is run before.
CONTINUED = {'docs/tutorial_gpu.md': 'docs/tutorial.md', 'docs/pytorch_programs.md': 'docs/pytorch.md'}
CHECKOUT = ('specs', 'runtime', 'generated')
# Blocks that are not run here, by page and beginning: why.
UNRUN = {
    ('README.md', 'apt-get'): 'sets up a machine: .ci/run does, with this command',
    ('docs/building.md', 'cmake_minimum_required'): 'tests/build_systems.t builds with it',
    ('docs/building.md', 'project('): 'tests/build_systems.t builds with it',
    ('docs/building.md', 'mkdir -p subprojects'): 'tests/build_systems.t links it',
    ('docs/building.md', '[wrap-git]'): 'tests/build_systems.t has such a folder',
    ('docs/building.md', 'include(FetchContent)'): 'tests/cmake.t builds with it',
    ('docs/building.md', 'install('): 'tests/cmake.t installs by it',
    ('docs/c_interface.md', 'cgtp_status NAME_kernel('): 'what all products have, with parts left out',
    ('docs/contributing.md', 'make '): 'builds everything, and passes the tests',
    ('docs/design.md', 'Q(x, y, w, g) = '): 'a formula',
    ('docs/design.md', 'forward '): 'a formula',
    ('docs/design.md', 'constexpr real'): 'an excerpt with parts left out',
    ('docs/design.md', 'place x_ '): 'an excerpt of tests/pipeline/tiled_backward.expected, with parts left out',
    ('docs/diagnostics.md', ''): 'tests/diagnostics.t reads all specs of this page',
    ('docs/diagnostics_irreps.md', ''): 'tests/diagnostics.t reads all specs of this page',
    ('docs/diagnostics_text.md', ''): 'tests/diagnostics.t reads all specs of this page',
    ('docs/diagnostics_use.md', ''): 'tests/diagnostics.t reads all specs of this page',
    ('docs/distributed.md', 'make -C examples/ranks'): 'tests/ranks.t builds and runs it where MPI is',
    ('docs/models.md', 'module '): 'tests/models.t looks at such a table',
    ('docs/papers.md', 'make'): 'compiles for minutes, and fetches libraries; tests/papers.t looks at what it measures',
    ('docs/models.md', 'python3 -m cgtpgen.models'): 'tests/models.t runs these where sevenn is',
    ('docs/precision.md', '|error| <= '): 'a formula',
    ('docs/NOTICES.md', ''): 'licences',
    ('docs/releases.md', 'make sdist'): 'tests/package.t makes packages',
    ('docs/pytorch_programs.md', 'torchrun'): 'tests/torch.t runs it with one process and two',
    ('docs/simulation.md', 'cd examples/lammps'): 'tests/simulation.t builds and runs it where LAMMPS is',
    ('docs/spec.md', 'Q(x, y, w, g) = '): 'a formula',
    ('docs/spec.md', '# yaml-language-server'): 'a comment for editors',
    ('docs/vendoring.md', 'cmake_minimum_required'): 'tests/build_systems.t builds with it',
    ('docs/vendoring.md', 'project('): 'tests/build_systems.t builds with it',
    ('docs/verification.md', '|error| <= '): 'a formula',
    ('docs/verification.md', 'make gpu-'): 'needs minutes on a GPU',
}


# What needs= may name: is it on this machine?
THERE = {'nvcc': shutil.which(NVCC) is not None, 'cmake': shutil.which('cmake') is not None,
         'gpu': shutil.which(NVCC) is not None and os.path.exists('/dev/nvidia0'),
         **{name: subprocess.run([PYTHON, '-c', f'import {name}'], stderr=subprocess.DEVNULL).returncode == 0
            for name in ('e3nn', 'e3nn_jax', 'torch', 'jax')}}


class Block:
    def __init__(self, page, words, text, line):
        self.kind, *self.words = words.split() or ['']
        self.options = dict(word.split('=', 1) for word in self.words if '=' in word)
        self.wrong = 'wrong' in self.words
        self.text, self.folder, self.name = text, page.folder, f'{page.path}:{line}'
        self.unrun = next((key for key in UNRUN if key[0] == page.path and text.startswith(key[1])), None)
        self.before = self.after = None  # blocks beside it
        self.later = ''                  # the text of all that follow
        self.real = text                 # with what commands really print

    def check(self):
        if self.unrun:
            return skip(f'{self.name}: {self.kind}', UNRUN[self.unrun])
        needs = self.options.get('needs', 'nvcc').split(',')
        unknown = [word for word in self.words if not re.match('(file|from|needs)=.|wrong$', word)]
        if self.kind not in self.CHECKS or unknown or not set(needs) <= set(THERE):
            return ok(False, f'{self.name}: a block of a known kind', self.kind, *self.words)
        if 'file' in self.options:
            path = f"{self.folder}/{self.options['file']}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, self.text)
        missing = [word for word in needs if 'needs' in self.options and not THERE[word]]
        if missing:
            return skip(f'{self.name}: {self.kind}', f'no {", ".join(missing)}')
        if 'from' in self.options:
            return ok(self.text in read(self.options['from']), f"{self.name}: is in {self.options['from']}")
        return self.CHECKS[self.kind](self)

    def yaml(self):
        if self.wrong:
            run, files = generate(self.text)
            return ok(self.after.kind == 'text' and run.stderr == self.after.text and run.returncode == 1 and not files,
                      f'{self.name}: the wrong spec is told what stands below it', run.stderr)
        for backend in ('cuda', 'c'):
            run, files = generate(self.text if 'file' in self.options else complete(self.text),
                                  options=[f'--backend={backend}'])
            ok(run.returncode == 0 and not run.stderr and files, f'{self.name}: the spec generates, {backend}',
               run.stderr)

    def told(self):
        ok(self.before and self.before.kind == 'yaml' and self.before.wrong,
           f'{self.name}: stands below the wrong spec that is told so')

    def run(self, script, shown, wrong):
        run = subprocess.run(['bash', '-c', script], cwd=self.folder, env=ENVIRONMENT, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=300)
        name = f"{self.name}: {script.splitlines()[-1]}".replace('#', '')
        ok((run.returncode != 0) == wrong, f"{name} {'fails' if wrong else 'works'}", run.returncode, run.stdout)
        if shown is not None:
            lines = [r'(?:.*\n)*' if line == '...\n' else re.escape(line) for line in shown.splitlines(True)]
            ok(re.fullmatch(''.join(lines), run.stdout), f'{name} prints what is shown', run.stdout)
        return run.stdout

    def commands(self):
        self.run('set -e\n' + self.text, None, self.wrong)

    def console(self):
        pairs = re.findall(r'^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)', self.text, re.M)
        equal(''.join(f'$ {command}{shown}' for command, shown in pairs), self.text, f'{self.name}: console')
        self.real = ''
        for number, (command, shown) in enumerate(pairs, 1):
            printed = self.run(command, None if UPDATE else shown, self.wrong and number == len(pairs))
            self.real += f'$ {command}' + (shown if '...\n' in shown else printed)

    def file(self):
        path = self.options.get('file', '?').replace('Makefile', 'make ').replace('CMakeLists.txt', 'cmake ')
        ok(any(part in self.later for part in path.split('/')), f'{self.name}: is used further down')

    def source(self):
        if 'file' in self.options:
            return self.file()
        if self.kind == 'cuda' and not THERE['nvcc']:
            return skip(f'{self.name}: compiles', 'no nvcc')
        includes = ''.join(re.findall(r'^#include.*\n', self.text, re.M)) + \
            '#include <cuda_runtime.h>\n' * (self.kind == 'cuda')
        rest = re.sub(r'^#include.*\n', '', self.text, flags=re.M)
        path = f'{self.folder}/fragment.{self.kind}'
        write(path, f'#include "docs_fragment.h"\n{includes}void fragment(void)\n{{\n{rest}}}\n')
        folders = [f'-I{os.path.abspath(folder)}' for folder in ('tests', 'runtime', PRODUCTS)]
        run = subprocess.run([*COMPILE[self.kind], *folders, path], env=ENVIRONMENT, capture_output=True,
                             text=True)
        return ok(run.returncode == 0, f'{self.name}: compiles', run.stderr)

    def python(self):
        try:
            ok(ast.parse(self.text).body, f'{self.name}: is Python')
        except SyntaxError as error:
            ok(False, f'{self.name}: is Python', error)

    CHECKS = {'yaml': yaml, 'text': told, 'sh': commands, 'indented': commands, 'console': console, 'c': source,
              'cpp': source, 'cuda': source, 'make': file, 'cmake': file, 'python': python}


class Page:
    def __init__(self, path):
        self.path, self.text, self.folder = path, read(path), f'{ROOT}/{CONTINUED.get(path, path)}.folder'
        if path not in CONTINUED:
            os.makedirs(f'{self.folder}/build')
            for name in CHECKOUT:
                os.symlink(os.path.abspath(name), f'{self.folder}/{name}')
            os.symlink(f'{ROOT}/usr/bin/cgtpgen', f'{self.folder}/build/cgtpgen')
        self.blocks = [Block(self, *block) for block in blocks(self.text)]
        for number, block in enumerate(self.blocks):
            block.before = self.blocks[number - 1] if number else None
            block.after = self.blocks[number + 1] if number + 1 < len(self.blocks) else None
            block.later = ''.join(later.text for later in self.blocks[number + 1:])

    def check(self):
        indented = [block for block in self.blocks if block.kind == 'indented']
        outside = re.sub(r'^```.*?^```$', '', self.text, flags=re.M | re.S)
        equal([len(re.findall(r'^```', self.text, re.M)), len(re.findall(r'^    ', outside, re.M))],
              [2 * (len(self.blocks) - len(indented)), sum(len(re.findall('.+', block.text)) for block in indented)],
              f'{self.path}: all that looks like code is in its {len(self.blocks)} blocks')
        if (self.path, '') in UNRUN:
            skip(f'{self.path}: {len(self.blocks)} blocks', UNRUN[self.path, ''])
        for block in self.blocks:
            before = tap.count
            if block.unrun != (self.path, ''):
                block.check()
                ok(tap.count > before, f'{block.name}: is run, or skipped with a reason')
        links = re.findall(r'\]\(([^)\s]+)\)', outside)
        wrong = [link for link in links if '://' not in link and not self.leads(link)]
        equal(wrong, [], f'{self.path}: {len(links)} links lead somewhere')

    def update(self):
        text = self.text
        for block in self.blocks:
            text = text.replace(f'\n{block.text}```', f'\n{block.real}```', 1)
        write(self.path, text)

    def leads(self, link):
        path, _, anchor = link.partition('#')
        path = os.path.join(os.path.dirname(self.path), path) if path else self.path
        if not anchor or not os.path.exists(path):
            return os.path.exists(path)
        titles = re.findall(r'^#+ (.*)$', re.sub(r'^```.*?^```$', '', read(path), flags=re.M | re.S), re.M)
        return anchor in [re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-') for title in titles]


def tools():
    """Programs by the names that pages call them by: not optimising, and those that this test was given."""
    folder = f'{ROOT}/tools'
    unoptimised(folder, nvcc=NVCC, python3=PYTHON)
    # pip installs into a folder of the test's own.
    write(f'{folder}/pip', f'#!/bin/sh\nexec {PYTHON} -m pip "$@"\n')
    os.chmod(f'{folder}/pip', 0o755)
    ENVIRONMENT.update(PIP_TARGET=f'{ROOT}/python', PIP_NO_DEPS='1', PYTHONPATH=f'{ROOT}/python')


def words_of(text):
    return ' '.join(re.findall('[a-z0-9]+', re.sub(r'\]\([^)]*\)', ']', text.lower())))


def shared_paragraphs():
    """Paragraphs, items and rows of tables that stand on several pages, by their words: those of at least MUCH letters. And
    sentences as long."""
    found = {}
    for path in PAGES:
        text = re.sub(r'^```.*?^```', '', read(path), flags=re.M | re.S)
        pieces = re.split(r'\n\s*\n|\n(?=[|] |- )', text)
        for piece in pieces + [sentence for piece in pieces for sentence in re.split(r'(?<=[.:;])\s+', piece)]:
            found.setdefault(words_of(piece), set()).add(path)
    return {words: sorted(paths) for words, paths in found.items() if len(words) >= MUCH and len(paths) > 1}


with tempfile.TemporaryDirectory() as ROOT:
    result, _ = install(ROOT)
    ok(result.returncode == 0, 'make install', result.stdout)
    os.symlink('usr', f'{ROOT}/.local')  # where the tutorial installs it
    ENVIRONMENT |= {'HOME': ROOT, 'LC_ALL': 'C'}
    tools()
    PRODUCTS = f'{ROOT}/products'
    subprocess.run(['cgtpgen', '--backend=c', '--emit=header,hpp,source,unity', '-o', PRODUCTS, 'specs/mace_large.yaml',
                    'specs/nequip_water.yaml'], env=ENVIRONMENT, check=True)
    pages = [Page(path) for path in PAGES]
    for page in pages:
        page.check()
        if UPDATE:
            page.update()
    taken = {block.unrun for page in pages for block in page.blocks}
    equal([key for key in UNRUN if key not in taken], [], 'what is not run is there')
    lengths = {path: read(path).count('\n') for path in PAGES if path not in LONG}
    equal({path: n for path, n in lengths.items() if n > 300}, {}, 'no page but those has more than 300 lines')
    equal(shared_paragraphs(), {}, 'no two pages have a paragraph, an item or a row of a table in common')


def check_walk():
    """What design.md shows of mace_large's backward, with parts left out, is in the file that it names."""
    walk = read('docs/design.md').split('\n## Followed from spec to line\n')[1].split('\n## ')[0]
    shown = ' '.join(re.sub(r'\n *\*? *', ' ', read('generated/cuda/mace_large_backward.cu')).split())
    lines = ' '.join(re.findall(r'^    (.*)$', walk, re.M))
    spans = [span for span in re.findall('`([^`]*)`', walk) if re.search(r'\s.*\d', span, re.S)]
    pieces = lines.split('..') + spans
    missing = [piece for piece in (' '.join(piece.split()).rstrip(' ,') for piece in pieces) if piece not in shown]
    equal(missing, [], f'docs/design.md, from spec to line: {len(pieces)} pieces of generated code')


check_walk()
done()
