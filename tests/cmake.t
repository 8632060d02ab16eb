#!/usr/bin/env python3
"""The generator built and installed by CMake is what make builds and installs; it builds as a part of another project,
by add_subdirectory and FetchContent; and a library that links products is exported and found."""
import os
import re
import shlex
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from examples import blocks  # noqa: E402
from generator import by_cmake  # noqa: E402
from installed import ENVIRONMENT, NEGATIVE, PROGRAM, SPEC, VARIABLES, install, project, read, run, unoptimised, write  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

ROOT_OF_TREE = os.getcwd()
GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
SHOWN = {words: text for words, text, _ in blocks(read('docs/building.md'))}
USE = '''cgtpgen_add_product(layers SPEC layer.yaml BACKEND c)
add_executable(program program.c)
target_link_libraries(program PRIVATE layers)
'''
SUBDIRECTORY = f'''cmake_minimum_required(VERSION 3.20)
project(demo C)
add_subdirectory("{ROOT_OF_TREE}/cgtpgen" cgtpgen)
{USE}'''
FETCHED = f'''cmake_minimum_required(VERSION 3.20)
project(demo C)
{SHOWN['cmake fetched']}
{USE}'''
# A library with a product inside, of which a caller sees the header, too.
LIBRARY = '''cmake_minimum_required(VERSION 3.20)
project(energy C)
find_package(cgtpgen REQUIRED)
cgtpgen_add_product(layers SPEC layer.yaml BACKEND c)
add_library(energy STATIC energy.c)
target_link_libraries(energy PUBLIC layers)
target_include_directories(energy PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>" $<INSTALL_INTERFACE:include>)
set_target_properties(energy PROPERTIES PUBLIC_HEADER energy.h)
''' + SHOWN['cmake shipped']
ENERGY_C = '#include "energy.h"\n#include "layer.h"\nint energy(void) { return layer_forward(-1, 0, 0, 0, 0, 0, 0, 0); }\n'
USER = '''cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(energy REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE energy::energy)
'''
USER_C = PROGRAM.replace('#include', '#include "energy.h"\n#include', 1).replace(
    'layer_forward(-1, 0, 0, 0, 0, 0, 0, 0)', '(cgtp_status)energy()')


def tree(root):
    """Path -> mode and, of all but what differs by what built it, text."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = f'{folder}/{name}'
            with open(path, 'rb') as file:
                found[os.path.relpath(path, root)] = oct(os.stat(path).st_mode & 0o777), \
                    b'' if name == 'cgtpgen' and '/bin' in folder else file.read()
    return found


def cmake(name, folder, *options, generator='Ninja'):
    """Configures and builds into folder/out: did it?"""
    result = run('cmake', '-G', generator, '-S', '.', '-B', 'out', *options, folder=folder)
    if ok(result.returncode == 0, f'{name}: configures', result.stdout):
        result = run('cmake', '--build', 'out', '--parallel', '3', folder=folder)
        return ok(result.returncode == 0, f'{name}: builds', result.stdout)
    return False


def test_same(root):
    """Sources, what they make, and where it goes."""
    made = f'{root}/by make'
    out, said = by_cmake()
    if not ok(os.path.exists(f'{out}/cgtpgen'), 'the generator by CMake', said[-3000:]):
        return
    compiled = {os.path.relpath(shlex.split(path)[0]) for path in re.findall(r' -c (.*\.c"?)$', said, re.M)}
    sources = {path for path in compiled if path.startswith('cgtpgen/')}
    all_of_them = {f'{folder}/{name}' for folder, _, names in os.walk('cgtpgen') for name in names if name.endswith('.c')}
    equal(sources ^ all_of_them, set(), 'from all sources')
    write(f'{root}/layer.yaml', SPEC)
    texts = [run(generator, '--backend=c', '--emit=header,source,runtime', '-o', '-', f'{root}/layer.yaml').stdout
             for generator in (f'{out}/cgtpgen', GENERATOR)]
    ok(texts[0] == texts[1] and 'layer_forward' in texts[0], 'writes what the other one does')
    makes, own = f"{os.environ.get('BUILD', 'build')}/runtime_texts.c", f'{out}/runtime_texts.c'
    ok(os.path.exists(own) and read(own) == read(makes), 'with the same texts of the runtime')
    ENVIRONMENT['DESTDIR'] = made + ' cmake'
    run('cmake', '--install', out, '--prefix', '/usr')
    del ENVIRONMENT['DESTDIR']
    run('make', 'install', 'PREFIX=/usr', f'DESTDIR={made}', *VARIABLES)
    ours, theirs = tree(made), tree(made + ' cmake')
    ours.pop('usr/share/cgtpgen/installed', None)  # make uninstall's; CMake has install_manifest.txt
    equal(sorted(theirs), sorted(ours), 'the same files are installed')
    equal([name for name in ours if ours[name] != theirs.get(name)], [], 'with the same text and modes')


def test_part(root):
    files = {'layer.yaml': SPEC, 'program.c': PROGRAM}
    for name, text, options, generator in (
            ('add_subdirectory', SUBDIRECTORY, [], 'Ninja'),
            ('FetchContent', FETCHED, [f'-DFETCHCONTENT_SOURCE_DIR_CGTPGEN={ROOT_OF_TREE}',
                                       f'-DCGTPGEN_EXECUTABLE={GENERATOR}'], 'Unix Makefiles')):
        folder = project(f'{root}/by {name}', files | {'CMakeLists.txt': text})
        if cmake(name, folder, *options, generator=generator):
            equal(run(f'{folder}/out/program').stdout, f'layer, c: {NEGATIVE}\n', f'{name}: the program runs')
            again = run('cmake', '--build', 'out', folder=folder).stdout
            ok('Building' not in again and 'Generating' not in again, f'{name}: again, nothing', again)
        installed = run('cmake', '--install', 'out', '--prefix', f'{folder}/usr', folder=folder)
        ok(installed.returncode == 0 and not os.path.exists(f'{folder}/usr/bin/cgtpgen'),
           f'{name}: it is not installed with the project', installed.stdout)


def test_export(root):
    install(root)
    folder = project(f'{root}/library', {'CMakeLists.txt': LIBRARY, 'layer.yaml': SPEC, 'energy.c': ENERGY_C,
                                         'energy.h': 'int energy(void);\n'})
    prefix = [f'-DCMAKE_PREFIX_PATH={root}/usr']
    if not cmake('a library with a product', folder, *prefix):
        return
    result = run('cmake', '--install', 'out', '--prefix', f'{root}/shipped', folder=folder)
    headers = sorted(os.listdir(f'{root}/shipped/include')) if result.returncode == 0 else result.stdout
    equal(headers, ['cgtp.h', 'cgtp_call.h', 'cgtp_check.h', 'cgtp_device.h', 'cgtp_ranks.h', 'energy.h', 'layer.h'], 'is exported, with headers')
    os.rename(folder, f'{folder} is gone')  # nothing points at where it was built
    os.rename(f'{root}/usr', f'{root}/gone')
    folder = project(f'{root}/user', {'CMakeLists.txt': USER, 'program.c': USER_C})
    if cmake('a user of that library', folder, f'-DCMAKE_PREFIX_PATH={root}/shipped'):
        equal(run(f'{folder}/out/program').stdout, f'layer, c: {NEGATIVE}\n', 'it runs')


with tempfile.TemporaryDirectory() as ROOT:
    if shutil.which('cmake') and shutil.which('ninja') and shutil.which('make'):
        unoptimised(f'{ROOT}/tools')  # the generator among what a project builds, too
        test_same(ROOT)
        test_part(ROOT)
        test_export(ROOT)
    else:
        skip('CMake', 'there is no cmake, ninja or make')
done()
