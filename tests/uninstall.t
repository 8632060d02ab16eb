#!/usr/bin/env python3
"""make install and make uninstall where the prefix has any name: all that is installed goes again and nothing else does, of
whatever name; what somebody changed or added there stays and is named."""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from installed import VARIABLES, read, run, write  # noqa: E402
from tap import done, equal, ok  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
TREE = ['LICENSE', 'Makefile', 'cgtpgen', 'docs', 'runtime', 'tests']
LIST = 'share/cgtpgen/installed'


def files_in(root):
    return sorted(os.path.relpath(f'{folder}/{name}', root) for folder, folders, names in os.walk(root)
                  for name in names + [name for name in folders if os.path.islink(f'{folder}/{name}')])


def make(goal, *variables, folder=None):
    return run('make', goal, *variables, *VARIABLES, folder=folder)


def dollars(path):
    return path.replace('$', '$$')  # as make is told


def neighbours(root):
    """Files whose folders the words of a name with spaces would be."""
    for name in 'my/precious', 'inst/precious', 'share/cgtpgen/precious', 'bin/precious':
        os.makedirs(os.path.dirname(f'{root}/{name}'), exist_ok=True)
        write(f'{root}/{name}', '')
    return files_in(root)


def test_names(tree):
    """Relative to the tree, which is in a folder of its own, and absolute."""
    for i, prefix in enumerate(('my inst', "it's \"quoted\"", 'a $dollar $(x) `y`', '-leading dash', 'a;b&c|d', 'slash/',
                                '/my inst', '/my  $inst/', '/*')):
        root = f'{tree}/{i}'
        os.mkdir(root)
        for name in TREE:
            os.symlink(os.path.abspath(name), f'{root}/{name}')
        os.symlink(BUILD, f'{root}/build')
        before = neighbours(root)
        where = f'{root}{prefix}' if prefix.startswith('/') else prefix
        result = make('install', f'PREFIX={dollars(where)}', 'BUILD=build', folder=root)
        there = os.path.join(root, where)
        installed = files_in(there) if os.path.isdir(there) else []
        ok(result.returncode == 0 and len(installed) > 100 and LIST in installed and 'bin/cgtpgen' in installed,
           f'PREFIX={prefix}: is installed there', result.stdout, len(installed))
        equal('no Makefile can include' in result.stdout, ' ' in os.path.join(os.path.realpath(root), where),
              f'PREFIX={prefix}: whether make can include from there is told')
        ok(len(files_in(root)) == len(before) + len(installed), f'PREFIX={prefix}: and nowhere else')
        package = run('env', f'PKG_CONFIG_PATH={there}/share/pkgconfig', 'pkg-config', '--variable=generator', 'cgtpgen')
        if shutil.which('pkg-config') and not set(prefix) & set('"\'`;&|*'):
            equal(package.stdout.rstrip().replace('\\', ''), f'{os.path.join(root, where).rstrip("/")}/bin/cgtpgen',
                  f'PREFIX={prefix}: the pkg-config file has it')
        result = make('uninstall', f'PREFIX={dollars(where)}', 'BUILD=build', folder=root)
        equal((result.returncode, result.stdout, files_in(root)), (0, '', before), f'PREFIX={prefix}: all goes, and only that')
        ok(not os.path.exists(there), f'PREFIX={prefix}: with the folders that were made')


def test_roots(root):
    """DESTDIR, a prefix that is a link, and that which is the whole of a scratch root."""
    for destination, prefix in ((f'{root}/stage area', '/usr'), (f'{root}/stage area/', '/opt/my inst/'), (f'{root}/whole', '/')):
        os.makedirs(destination, exist_ok=True)
        os.makedirs(f'{destination}/etc', exist_ok=True)
        write(f'{destination}/etc/passwd', '')
        variables = f'DESTDIR={destination}', f'PREFIX={prefix}'
        result = make('install', *variables)
        ok(result.returncode == 0 and os.path.exists(f'{destination}{prefix}/{LIST}'), f'DESTDIR, {prefix}: is installed',
           result.stdout)
        if os.path.exists(f'{destination}{prefix}/{LIST}'):
            pc = read(f'{destination}{prefix}/share/pkgconfig/cgtpgen.pc')
            ok('prefix=' + prefix.rstrip('/') + '\n' in pc and root not in pc, f'DESTDIR, {prefix}: which no file knows of', pc)
        result = make('uninstall', *variables)
        equal((result.returncode, result.stdout, files_in(destination)), (0, '', ['etc/passwd']), f'DESTDIR, {prefix}: all goes')
    os.makedirs(f'{root}/behind/kept')
    os.symlink('behind', f'{root}/link')
    make('install', f'PREFIX={root}/link')
    ok(os.path.exists(f'{root}/behind/{LIST}'), 'a link: is installed behind it')
    result = make('uninstall', f'PREFIX={root}/link/')
    equal((result.returncode, result.stdout, os.listdir(f'{root}/behind'), os.path.islink(f'{root}/link')),
          (0, '', ['kept'], True), 'a link: all goes, and it stays')


def test_kept(root):
    """What is no more, or not, as it was installed."""
    prefix = f'{root}/pre fix'
    make('install', f'PREFIX={prefix}')
    kept = {'share/cgtpgen/cgtp.h': 'was changed since it was installed', 'bin/cgtpgen': 'was changed since it was installed',
            'share/cgtpgen/my notes': 'was not installed', 'share/doc/cgtpgen/examples/md/my.txt': 'was not installed',
            'share/cgtpgen/cgtp.c': 'was changed since it was installed'}
    for name in kept:
        if name.endswith('cgtp.c'):
            os.rename(f'{prefix}/{name}', f'{root}/mine.c')
            os.symlink(f'{root}/mine.c', f'{prefix}/{name}')
        elif os.path.exists(f'{prefix}/{name}'):
            os.chmod(f'{prefix}/{name}', 0o755)
            with open(f'{prefix}/{name}', 'ab') as file:
                file.write(b'\n')
        else:
            write(f'{prefix}/{name}', 'mine\n')
    os.remove(f'{prefix}/share/cgtpgen/cgtp_c.h')
    with open(f'{prefix}/{LIST}', 'a', encoding='utf-8') as file:  # which somebody has made to name what is elsewhere
        sum_, size = run('cksum', f'{root}/mine.c').stdout.split()[:2]
        file.write(f'{sum_} {size} ../mine.c\n{sum_} {size} {root}/mine.c\n')
    result = make('uninstall', f'PREFIX={prefix}')
    equal(sorted(result.stdout.splitlines()), sorted(f'make uninstall: {prefix}/{name} {why}: it stays' for name, why in kept.items()),
          'what was changed or added is named')
    equal((result.returncode, files_in(prefix)), (0, sorted(kept)), 'and stays; all else goes')
    ok(os.path.exists(f'{root}/mine.c'), 'what is elsewhere is not touched')
    result = make('uninstall', f'PREFIX={prefix}')
    ok(result.returncode == 2 and 'nothing is removed' in result.stdout, 'without a list nothing is removed', result.stdout)
    equal(files_in(prefix), sorted(kept), 'indeed')


def test_again(root):
    """Over an earlier installation, of which a file is installed no more."""
    prefix = f'{root}/again'
    os.makedirs(f'{prefix}/share/doc')
    make('install', f'PREFIX={prefix}')
    write(f'{prefix}/share/cgtpgen/cgtp_old.h', 'old\n')
    sum_, size = run('cksum', f'{prefix}/share/cgtpgen/cgtp_old.h').stdout.split()[:2]
    with open(f'{prefix}/{LIST}', 'a', encoding='utf-8') as file:
        file.write(f'{sum_} {size} share/cgtpgen/cgtp_old.h\n')
    make('install', f'PREFIX={prefix}')
    result = make('uninstall', f'PREFIX={prefix}')
    equal((result.returncode, result.stdout, [folder for folder, _, _ in os.walk(prefix)]), (0, '', [prefix, f'{prefix}/share', f'{prefix}/share/doc']),
          'twice: all goes, of the first time too, but what was there before')


def test_refused(root):
    """Names that make or a shell would take for another."""
    for name, told in (('BUILD=a b', 'a name without spaces'), ('BUILD=', 'a name without spaces'), ('BUILD=/', 'a folder of its own'),
                       ('BUILD=.', 'a folder of its own'), ("BUILD=it's", "a name without '"), ('BUILD=-x', 'a folder of its own'),
                       ('COVERAGE=a b', 'a name without spaces'), ('FUZZ_DIR=a b', 'a name without spaces'),
                       ('PREFIX=/a/$b', 'write $$ for a $'), ('DESTDIR=$HOME/x', 'write $$ for a $')):
        result = run('make', 'uninstall', f'PREFIX={root}/none', name)
        ok(result.returncode == 2 and told in result.stdout, f'{name}: refused', result.stdout)


with tempfile.TemporaryDirectory() as ROOT:
    for FOLDER in 'names', 'roots':
        os.mkdir(f'{ROOT}/{FOLDER}')
    test_names(f'{ROOT}/names')
    test_roots(f'{ROOT}/roots')
    test_kept(ROOT)
    test_again(ROOT)
    test_refused(ROOT)
done()
