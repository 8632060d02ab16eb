#!/usr/bin/env python3
"""Generated code is compiled for speed whatever the project says: the examples of docs/building.md as printed, in a
folder with a space in its name, by compilers that write down their arguments."""
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from examples import blocks  # noqa: E402
from installed import ENVIRONMENT, PROGRAM, SPEC, install, project, read, run, write  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

SHOWN = {}
for WORDS, TEXT, _ in blocks(read('docs/building.md')):
    SHOWN.setdefault(WORDS.split(' ')[0], TEXT)
NATIVE = re.search(r'`(CGTPGEN_CFLAGS = [^`]*native)`', read('docs/building.md')).group(1)
CC = os.environ.get('CC', 'gcc')
HAS_OPENMP = run('sh', '-c', 'echo "int main(void) { return 0; }" | ' + f'{CC} -fopenmp -x c -o /dev/null -').returncode == 0
THREADS = ['-fopenmp'] if HAS_OPENMP else []


def compiler(root):
    """A compiler that appends its arguments to a log, and optimises nothing, which takes longest."""
    path = f'{root}/logged cc'
    write(path, f'#!/bin/sh\necho "$*" >> "$FLAGS_LOG"\nexec {CC} "$@" -O0\n')
    os.chmod(path, 0o755)
    os.symlink(path, f'{root}/logged-cc')
    return f'{root}/logged-cc'


def objects(log):
    """What decides the speed of each object that was compiled: its last -O, and what is of threads and machines."""
    found = {}
    for line in read(log).splitlines():
        words = line.split(' ')
        source = next((os.path.basename(word) for word in words if word.endswith('.c')), None)
        if '-c' in words and source:
            level = [word for word in words if re.match('-O', word)]
            found[source] = level[-1:] + sorted({word for word in words if word in ('-fopenmp', '-march=native')})
    os.remove(log)
    return found


def check(name, log, wanted, threads=None):
    """The product's objects and the runtime's have `wanted`; the program's has no more than the project said."""
    if not os.path.exists(log):
        return ok(False, f'{name}: nothing was compiled')
    found = objects(log)
    kernels = {source: flags for source, flags in found.items() if source != 'program.c' and not source.startswith('cgtp')}
    many = THREADS if threads is None else threads
    equal(kernels, {source: sorted(wanted + many) for source in kernels}, f'{name}: the product')
    ok(len(kernels) >= 2, f'{name}: its sources', kernels)
    of_runtime = ['-O3'] if 'property' in name else wanted  # CMake's targets share it
    equal([flag for flag in found['cgtp.c'] if flag != '-fopenmp'], of_runtime, f'{name}: the runtime')
    return ok('-O3' not in found.get('program.c', []), f'{name}: the program is as the project says', found)


def make(root, log):
    files = {'Makefile': SHOWN['make'], 'program.c': SHOWN['c']}
    folder = project(f'{root}/with make', files)
    os.symlink(os.path.abspath('specs'), f'{folder}/specs')
    cc = ENVIRONMENT['CC']

    def built(name, wanted, *variables, threads=None):
        run('make', 'clean', folder=folder)
        result = run('make', '-j2', f'CC={cc}', 'CGTPGEN_BACKEND=c', *variables, folder=folder)
        ok(result.returncode == 0 and run(f'{folder}/program').returncode == 0, f'{name}: runs', result.stdout)
        check(name, log, wanted, threads)
    built('make, as printed', ['-O3'])
    built('make, CFLAGS of a debugger', ['-O3'], 'CFLAGS=-O0 -g')
    built('make, CGTPGEN_CFLAGS', ['-O1', '-march=native'], 'CGTPGEN_CFLAGS=-O1 -march=native')
    built('make, no threads', ['-O3'], 'CGTPGEN_OPENMP=', threads=[])
    write(f'{folder}/Makefile', f'{NATIVE}\n' + files['Makefile'])
    built('make, the line for one machine', ['-O3', '-march=native'])
    write(f'{folder}/Makefile', files['Makefile'])
    run('make', 'clean', folder=folder)
    planned = run('make', '-n', 'NVCC=nvcc', 'NVCCFLAGS=-std=c++20', 'CFLAGS=-O0', folder=folder).stdout
    lines = re.findall(r'^(?:nvcc|.* -c) .*-o cgtpgen-out/.*$', planned, re.M)
    levels = {re.findall(r' (-O\w)', line)[-1] for line in lines}
    ok(len(lines) > 4 and levels == {'-O3'}, 'make, CUDA: all that is of cgtpgen', planned)


def cmake(root, log):
    files = {'CMakeLists.txt': SHOWN['cmake'], 'layer.yaml': SPEC, 'program.c': PROGRAM}
    native = '\nset_target_properties(layers PROPERTIES CGTPGEN_CFLAGS "-O1;-march=native")\n'
    for name, wanted, threads, more, options in (
            ('a variable', ['-O2'], None, '', ['-DCGTPGEN_CFLAGS=-O2']),
            ('no build type', ['-O3'], None, '', []),
            ('Debug', ['-O3'], None, '', ['-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_C_FLAGS=-O0']),
            ('no threads', ['-O3'], [], '', ['-DCGTPGEN_OPENMP=OFF']),
            ('a property', ['-O1', '-march=native'], None, native, [])):
        folder = project(f'{root}/cmake {name}', files | {'CMakeLists.txt': files['CMakeLists.txt'] + more})
        result = run('cmake', '-S', '.', '-B', 'out', *options, folder=folder)
        if os.path.exists(log):
            os.remove(log)
        result = run('cmake', '--build', 'out', folder=folder)
        ok(result.returncode == 0 and run(f'{folder}/out/program').returncode == 0, f'CMake, {name}: runs', result.stdout)
        check(f'CMake, {name}', log, wanted, threads)


def meson(root, log):
    folder = project(f'{root}/with meson', {'meson.build': SHOWN['meson'], 'layer.yaml': SPEC, 'program.c': PROGRAM})
    os.mkdir(f'{folder}/subprojects')
    os.symlink(f'{root}/usr/share/cgtpgen/meson', f'{folder}/subprojects/cgtpgen')
    result = run('meson', 'setup', '--buildtype=debug', 'out', folder=folder)
    if os.path.exists(log):
        os.remove(log)
    result = run('meson', 'compile', '-C', 'out', folder=folder)
    ok(result.returncode == 0 and run(f'{folder}/out/program').returncode == 0, 'Meson: runs', result.stdout)
    check('Meson, debug', log, ['-O3'])


with tempfile.TemporaryDirectory() as ROOT:
    install(ROOT)
    LOG = f'{ROOT}/log'
    ENVIRONMENT.update(FLAGS_LOG=LOG, CMAKE_PREFIX_PATH=f'{ROOT}/usr', CC=compiler(ROOT))
    for NEEDS, TEST in (('make pkg-config', make), ('cmake', cmake), ('meson ninja pkg-config', meson)):
        missing = [word for word in NEEDS.split() if not shutil.which(word)]
        if missing:
            skip(TEST.__name__, f'no {", ".join(missing)}')
        else:
            TEST(ROOT, LOG)
done()
