#!/usr/bin/env python3
"""How the sources are laid out: includes point downward through the layers and have no circles, files and
functions have the lengths that they may have, clang-format has nothing to say, the top level holds what it is
to hold. docs/contributing.md says the rules.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

LAYERS = ['util', 'algebra', 'spec', 'problem', 'form', 'plan', 'pipeline', 'schedule', 'emit', 'cli']  # lowest first
TOP_LEVEL = {'.ci', '.clang-format', '.gitignore', 'LICENSE', 'Makefile', 'README.md', 'cgtpgen', 'docs',
             'generated', 'runtime', 'specs', 'tests'}
FILE_MOST, FUNCTION_MOST = 600, 80  # lines
FORMATTER = '14'  # the version of clang-format; others lay some things out differently

# What breaks a rule today, and by how much. Numbers may only fall and rows only go: a row that is no longer
# true is a failure too.
KNOWN_FILES = {}
RUNTIME_MOST = 10996  # lines of C and CUDA in runtime/
KNOWN_FUNCTIONS = {}
KNOWN_CIRCLES = []
FOR_TESTS = {'diag_text'}

# Evaluations whose name is a word of the field, too: these are named by their folder, their struct, the name as a string and
# what their headers declare.
WORDS = {'lanes'}
# Which evaluation's files know of which other, with whose plan theirs begins.
BEGINS_WITH = {'lanes': 'nodal'}


def lines_of(path):
    with open(path) as file:
        return file.read().splitlines()


def code_of(path):
    """Without comments."""
    with open(path) as file:
        return re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S)


def layer_of(name):
    """The number of the layer that layer/name stands in; -1 without one."""
    folder = name.split('/')[0]
    return LAYERS.index(folder) if '/' in name and folder in LAYERS else -1


def check_includes(sources):
    """Each names a layer, its own or one below."""
    arrows = {}
    for path in sources:
        name = os.path.relpath(path, 'cgtpgen')
        found = [match.group(1) for line in lines_of(path) if (match := re.match(r'\s*#\s*include "(.*)"', line))]
        wrong = [to for to in found if not 0 <= layer_of(to) <= layer_of(name)]
        if wrong or layer_of(name) < 0:
            ok(False, f'{path}: stands in a layer, and includes name one, not above its own', *wrong)
        arrows[name] = set(found)
    ok(all(to in arrows for found in arrows.values() for to in found),
       f'{sum(map(len, arrows.values()))} includes, all of files that are there')
    equal(circles(arrows), set(), 'includes have no circles')


def check_calls():
    """Whose functions and tables a source uses, from the symbols of the objects: a header shared by several
    sources would hide that from a look at includes."""
    folder = os.environ.get('BUILD', 'build') + '/obj'
    objects = [f'{folder}/{os.path.relpath(source, "cgtpgen")[:-2]}.o' for source in glob.glob('cgtpgen/**/*.c', recursive=True)]
    if not shutil.which('nm'):
        return skip('uses', 'no nm')
    symbols = subprocess.run(['nm', '-A', *objects], stdout=subprocess.PIPE, text=True).stdout
    entries = [(os.path.relpath(path[:-2], folder), kind, symbol) for path, kind, symbol in
               re.findall(r'^(.*?\.o):\s*(?:[0-9a-f]+)? (\w) (\w+)$', symbols, re.M)]
    defined = {symbol: name for name, kind, symbol in entries if kind in 'TDBRVC'}
    arrows = {}
    for name, kind, symbol in entries:
        arrows.setdefault(name, set())
        if kind == 'U' and symbol in defined:
            arrows[name].add(defined[symbol])
    ok(len(arrows) == len(objects) and sum(map(len, arrows.values())) > 100,
       f'{len(arrows)} sources use one another in {sum(map(len, arrows.values()))} pairs')
    alone = {symbol: name for symbol, name in defined.items() if symbol not in {s for _, kind, s in entries if kind == 'U'}}
    unused = {symbol for symbol, name in alone.items() if len(re.findall(rf'\b{symbol}\b', code_of(f'cgtpgen/{name}.c'))) < 2}
    equal(sorted(unused), sorted(FOR_TESTS | {'main'}), 'no source has functions that nothing uses, or tests alone')
    upward = [f'{name} -> {to}' for name, used in arrows.items() for to in used if layer_of(to) > layer_of(name)]
    equal(upward, [], 'no source uses what is above it')
    found = circles(arrows)
    equal([circle for circle in found if not any(circle <= known for known in KNOWN_CIRCLES)], [],
          'no sources use one another in a circle')
    for known in KNOWN_CIRCLES:
        ok(any(circle <= known for circle in found), f'known to be a circle: {", ".join(sorted(known))}',
           'it no longer is; the row can go')


def circles(arrows):
    """The sets of names of which each can be reached from each other, of two or more."""
    def reached(start):
        seen, left = set(), [start]
        while left:
            for to in arrows.get(left.pop(), ()):
                if to not in seen:
                    seen.add(to)
                    left.append(to)
        return seen
    reach = {name: reached(name) for name in arrows}
    return {frozenset({name} | {to for to in reach[name] if name in reach.get(to, ())})
            for name in arrows if any(name in reach.get(to, ()) for to in reach[name] - {name})}


def functions(lines):
    """(name, lines) of each function: from its head to the } that closes it, both in the first column."""
    begin = None
    for number, line in enumerate(lines):
        if line == '{':
            begin = number
            while begin > 0 and re.match(r'\w| [^*]', lines[begin - 1]):
                begin -= 1
            if lines[begin].startswith('namespace'):
                begin = None
        elif line.startswith('}') and begin is not None:
            names = re.findall(r'\b(?!__|[A-Z_]+\b)(\w+)\(', ' '.join(lines[begin:number]))
            yield names[0] if names else lines[begin], number - begin + 1
            begin = None


def names_evaluation(name, sources):
    """The pattern of what names an evaluation."""
    if name not in WORDS:
        return rf'(?<![a-z]){name}(?![a-z])'
    headers = ''.join(code_of(path) for path in sources if path.startswith(f'cgtpgen/schedule/{name}/') and path.endswith('.h'))
    declared = sorted(set(re.findall(r'\b([a-z]\w*)\(', headers)))
    ok(len(declared) > 5, f'{name}: its headers declare {len(declared)} functions')
    return rf'schedule/{name}/|"{name}"|\b(?:struct {name}|{"|".join(declared)})(?!\w)'


def check_evaluations(sources):
    """Only the table names an evaluation: no code outside of its own files but schedule/evaluations.c, and of those
    whose plans begin with its."""
    table = 'cgtpgen/schedule/evaluations.'
    with open(f'{table}h') as file:
        names = re.findall(r'\b(\w+)_evaluation\b', file.read())
    ok(len(names) >= 3, f'{len(names)} evaluations in the table', names)
    for name in names:
        own, pattern = f'cgtpgen/schedule/{name}/', names_evaluation(name, sources)
        ok(any(path.startswith(own) for path in sources), f'{name}: its files are in {own}')
        knows = {}
        for path in sources:
            if not path.startswith(own) and not path.startswith(table):
                found = [line.strip() for line in code_of(path).split('\n') if re.search(pattern, line)]
                if found:
                    knows[path] = found
        for other in [other for other, first in BEGINS_WITH.items() if first == name]:
            theirs = [path for path in knows if path.startswith(f'cgtpgen/schedule/{other}/')]
            ok(theirs, f'{other}: begins with the plan of {name}, by its row in tests/house.t',
               'it no longer does; the row can go')
            knows = {path: found for path, found in knows.items() if path not in theirs}
        for path, found in knows.items():
            ok(False, f'{path} does not know of {name}', *found)


def check_lengths(found, most, known, what):
    for name, length in sorted(found.items()):
        if length > most:
            ok(length <= known.get(name, most), f'{name}: {length} lines', f'a {what} has at most {most}')
    for name, length in known.items():
        ok(found.get(name, 0) > most, f'{name}: known to be too long, by its row in tests/house.t',
           'it no longer is; the row can go')
    ok(len(found) > 30, f'{len(found)} {what}s; those not named above have at most {most} lines')


def check_format(sources):
    name = f'clang-format {FORMATTER} leaves all sources of cgtpgen/ as they are'
    if not shutil.which('clang-format'):
        return skip(name, 'no clang-format')
    version = subprocess.run(['clang-format', '--version'], stdout=subprocess.PIPE, text=True).stdout
    if f'version {FORMATTER}.' not in version:
        return skip(name, f'this is {version.strip()}')
    check = subprocess.run(['clang-format', '--dry-run', '--Werror', *sources], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    return ok(check.returncode == 0 and not check.stdout, name, *check.stdout.splitlines()[:30])


def check_top_level():
    """Of a checkout: what git knows. Of an archive: nothing is missing, but folders and files of one's own may be there,
    which nothing tells from ours."""
    equal(sorted(TOP_LEVEL - set(os.listdir())), [], 'the top level holds all its names')
    name = 'the top level holds only its names'
    if not shutil.which('git'):
        return skip(name, 'no git')
    tracked = subprocess.run(['git', 'ls-files'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if tracked.returncode or not tracked.stdout:
        return skip(name, 'no checkout')
    return equal(sorted({name.split('/')[0] for name in tracked.stdout.split('\n')[:-1]}), sorted(TOP_LEVEL), name)


def check_scripts():
    """`Bail out!` makes prove end all other scripts, too: what could not be built is a `not ok`."""
    scripts = [name for name in glob.glob('tests/**/*', recursive=True) if name.endswith(('.t', '.sh', '.py'))]
    found = [f'{name}: {line.strip()}' for name in scripts for line in lines_of(name)
             if re.search(r"""(echo|print\() *f?["']Bail out""", line)]
    equal(found, [], f'{len(scripts)} scripts of tests end no others')


sources = sorted(glob.glob('cgtpgen/**/*.[ch]', recursive=True))
runtime = sorted(name for name in glob.glob('runtime/*') if name.endswith(('.c', '.h', '.cu')))
check_includes(sources)
check_calls()
ok(sum(len(lines_of(path)) for path in runtime) <= RUNTIME_MOST, f'the runtime has at most {RUNTIME_MOST} lines')
check_evaluations(sources)
check_lengths({path: len(lines_of(path)) for path in sources + runtime}, FILE_MOST, KNOWN_FILES, 'file')
check_lengths({f'{path}: {name}': length for path in sources + runtime for name, length in
               sorted(functions(lines_of(path)), key=lambda f: f[1])}, FUNCTION_MOST, KNOWN_FUNCTIONS, 'function')
check_format(sources)
check_top_level()
check_scripts()
for path in sorted(path for path in glob.glob('runtime/**', recursive=True) if os.path.isfile(path) and not path.endswith('.pyc')):
    ok('SPDX-License-Identifier: MIT' in lines_of(path)[0], f'{path} says its licence', lines_of(path)[0])
done()
