#!/usr/bin/env python3
"""What tests do where something is not as a developer has it: an archive that was unpacked, in a folder whose name has a
space, without git, without pseudo terminals and beside folders of one's own; a build that fails; no libyaml, or no compiler."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
TREE = ['.ci', '.clang-format', '.gitignore', 'LICENSE', 'Makefile', 'README.md', 'cgtpgen', 'docs', 'generated', 'runtime',
        'specs', 'tests']


def run(*command, folder=None, **environment):
    return subprocess.run(command, cwd=folder, env=dict(os.environ, **environment), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def programs(folder, without):
    """A folder for PATH: all programs but these."""
    os.mkdir(folder)
    for place in os.environ['PATH'].split(':'):
        for name in os.listdir(place) if os.path.isdir(place) else []:
            if name not in without and not os.path.lexists(f'{folder}/{name}'):
                os.symlink(os.path.abspath(f'{place}/{name}'), f'{folder}/{name}')
    return folder


def test_house(root):
    """From an archive, with folders of one's own: with git, which then knows nothing of them, and without."""
    archive = f'{root}/an archive'
    os.mkdir(archive)
    os.symlink(BUILD, f'{archive}/build')
    for name in TREE:
        os.symlink(os.path.abspath(name), f'{archive}/{name}')
    os.mkdir(f'{archive}/my layers')
    no_git = programs(f'{root}/bin', ['git', 'clang-format'])
    for name, path in ('a git that knows nothing', os.environ['PATH']), ('no git', no_git):
        result = run(sys.executable, 'tests/house.t', folder=archive, PATH=path, BUILD=BUILD)
        ok(result.returncode == 0 and '\n1..' in result.stdout, f'an archive, {name}: the house is in order',
           *[line for line in result.stdout.splitlines() if not line.startswith('ok ')])
    result = run(sys.executable, 'tests/examples.t', folder=archive, BUILD='build', CGTPGEN='build/cgtpgen')
    ok(result.returncode == 0 and '\n1..' in result.stdout, 'a checkout in a folder whose name has a space: examples build',
       *[line for line in result.stdout.splitlines() if not line.startswith('ok ')])
    os.remove(f'{archive}/LICENSE')
    result = run(sys.executable, 'tests/house.t', folder=archive, PATH=no_git, BUILD=BUILD)
    ok(result.returncode == 1 and "found:  ['LICENSE']" in result.stdout, 'what is missing is told', result.stdout[-2000:])


def test_terminals():
    """A root without pseudo terminals, as of debootstrap: what needs them is skipped, not failed."""
    alone = ['unshare', '--mount', '--map-root-user']
    if not shutil.which('unshare') or run(*alone, 'true').returncode:
        return skip('no pseudo terminals', 'nothing takes them away here')
    hidden = run(*alone, 'sh', '-c', f'mount -t tmpfs none /dev/pts && exec "{sys.executable}" tests/color.t')
    return ok(hidden.returncode == 0 and '# SKIP no pseudo terminals' in hidden.stdout, 'no pseudo terminals: skipped', hidden.stdout)


def test_why(root):
    """A script says why its program could not be built, and is the only one to end."""
    with open(f'{root}/main.c', 'w') as file:
        file.write('void missing(void);\nint main(void) { missing(); return 0; }\n')
    built = run('tests/simt/build.sh', f'{root}/main', f'{root}/main.c')
    with open(f'{root}/log', 'w') as file:
        file.write(built.stdout)
    result = run('tests/why.sh', f'{root}/log')
    ok(built.returncode and 'undefined reference to' in result.stdout and 'missing' in result.stdout,
       'an undefined reference is told', built.stdout, result.stdout)
    ok(result.stdout and all(line.startswith('# ') for line in result.stdout.splitlines()), 'in comments', result.stdout)


def test_flags(root):
    """Why the generator cannot be built: no compiler, an option that it does not know, no libyaml."""
    empty = f'{root}/empty'
    os.mkdir(empty)
    wrong = {'no compiler': (['CC=no-such-gcc'], 'no-such-gcc'), 'a misspelt option': (['CFLAGS=-O2 -fno-such'], '-fno-such'),
             'no libyaml': (['CC=gcc -nostdinc'], '<yaml.h>')}
    if shutil.which('g++'):
        wrong['a compiler of C++'] = (['CC=g++'], 'g++ compiles C++, and cgtpgen is C11')
    for name, (variables, told) in wrong.items():
        result = run('make', f'BUILD={root}/build', *variables, f'{root}/build/flags', MAKEFLAGS='', MFLAGS='')
        ok(result.returncode == 2 and told in result.stdout and
           ('<yaml.h>' in result.stdout) == (name == 'no libyaml'), f'{name}: told', result.stdout)


def test_one(root):
    """One test of a new build: what it is linked with is built, too."""
    told = run('make', '-n', f'BUILD={root}/new', 'T=golden_single', 'test-needs', MAKEFLAGS='', MFLAGS='').stdout
    objects = [name for name in ('cgtp', 'cgtp_check', 'cgtp_ranks') if f'/obj/runtime/{name}.o' in told]
    equal(objects, ['cgtp', 'cgtp_check', 'cgtp_ranks'], "T=golden_single: the runtime's objects are made before")


with tempfile.TemporaryDirectory() as ROOT:
    test_one(ROOT)
    test_house(ROOT)
    test_terminals()
    test_why(ROOT)
    test_flags(ROOT)
done()
