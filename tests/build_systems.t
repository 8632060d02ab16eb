#!/usr/bin/env python3
"""An installed copy used with CMake, for Ninja and Makefiles, and with Meson, as docs/building.md shows."""
import os
import re
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from examples import blocks  # noqa: E402
from installed import ENVIRONMENT, NEGATIVE, PROGRAM, SPEC, install, project, read, run, unoptimised, write  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
GENERATES = r'Generating (layer|subprojects/cgtpgen/products)'
SHOWN = {words: text for words, text, _ in blocks(read('docs/building.md'))}
VENDORED = {words: text for words, text, _ in blocks(read('docs/vendoring.md'))}
BUILT = ['cgtp.c.o', 'cgtp_check.c.o', 'cgtp_ranks.c.o', 'layer.c.o', 'layer_forward.c.o', 'program.c.o']


def compiled(text):
    """The objects that a build says it made, and whether it generated."""
    names = re.findall(r'(?:Building|Compiling) \w+ object (?:.*/)?([\w.-]+\.o)\b', text)
    return sorted(name.split('_share_cgtpgen_')[-1].split('generated_.._')[-1] for name in names) + \
        ['generated'] * bool(re.search(GENERATES, text))


def step(name, folder, wanted, *command):
    result = run(*command, folder=folder)
    if ok(result.returncode == 0, f'{name}: builds', result.stdout):
        equal(compiled(result.stdout), wanted, name)
    return result


def life_of_a_build(name, folder, build):
    """From nothing, again, and after each change."""
    step(f'{name}, from nothing: all', folder, [*BUILT, 'generated'], *build)
    equal(run(f'{folder}/out/program').stdout, f'layer, c: {NEGATIVE}\n', f'{name}: the program runs')
    result = step(f'{name}, again: nothing', folder, [], *build)
    ok('Ninja' not in name or 'no work to do' in result.stdout, f'{name}, again: no work', result.stdout)
    time.sleep(0.05)
    write(f'{folder}/layer.yaml', '# a comment\n' + SPEC)
    step(f'{name}, a comment: generated, nothing compiled', folder, ['generated'], *build)
    step(f'{name}, and then nothing', folder, [], *build)
    time.sleep(0.05)
    write(f'{folder}/layer.yaml', SPEC.replace('2x0e + 1x1o, y', '3x0e + 1x1o, y'))
    step(f'{name}, another spec: its files and what includes them', folder, [*BUILT[3:], 'generated'], *build)
    os.remove(next(f'{at}/layer.h' for at, _, names in os.walk(f'{folder}/out') if 'layer.h' in names))
    step(f'{name}, a header was deleted: made again', folder, [*BUILT[3:], 'generated'], *build)
    os.remove(next(f'{at}/layer.c' for at, _, names in os.walk(f'{folder}/out') if 'layer.c' in names))
    step(f'{name}, a source was deleted: made again', folder, ['layer.c.o', 'generated'], *build)
    step(f'{name}, and then nothing', folder, [], *build)
    write(f'{folder}/layer.yaml', SPEC.replace('fully', 'fuly'))
    result = run(*build, folder=folder)
    ok(result.returncode and result.stdout.count('layer.yaml:4:15: error') == 1,
       f'{name}, a wrong spec: the error, once', result.stdout)


def test_cmake(generator, root):
    folder = project(f'{root}/cmake {generator}', {'CMakeLists.txt': SHOWN['cmake'], 'layer.yaml': SPEC,
                                                  'program.c': PROGRAM})
    configured = run('cmake', '-G', generator, '-S', '.', '-B', 'out', '-DCMAKE_UNITY_BUILD=OFF', folder=folder)
    if ok(configured.returncode == 0, f'CMake, {generator}', configured.stdout):
        life_of_a_build(f'CMake, {generator}', folder, ['cmake', '--build', 'out', '--parallel', '3'])


def test_cmake_options(root):
    """Names, unity builds, what is wrong; CUDA as far as its commands."""
    call = 'cgtpgen_add_product(layers SPEC layer.yaml BACKEND c)'
    shown = SHOWN['cmake']
    ok(call in shown, 'the call that is shown')

    def configure(name, text, *more):
        folder = project(f'{root}/{name}', {'CMakeLists.txt': text, 'layer.yaml': SPEC, 'program.c': PROGRAM})
        return folder, run('cmake', '-G', 'Ninja', '-S', '.', '-B', 'out', *more, folder=folder)
    folder, result = configure('unity', shown, '-DCMAKE_UNITY_BUILD=ON')
    result = run('cmake', '--build', 'out', folder=folder)
    ok(result.returncode == 0, 'CMake: in a unity build', result.stdout)
    folder, result = configure('named', shown.replace('BACKEND c', 'BACKEND c NAME my_% OPTIONS --emit=header,hpp,source'))
    equal(sorted(set(re.findall(r'layers\.cgtpgen/(my_\w+\.\w+)', read(f'{folder}/out/build.ninja')))),
          ['my_layer.c', 'my_layer.h', 'my_layer.hpp', 'my_layer_forward.c'], 'CMake: NAME and OPTIONS')
    for languages in 'CXX', *(['CXX CUDA', 'CUDA'] if shutil.which(NVCC) else []):
        backend = 'cuda' if 'CUDA' in languages else 'c'
        folder = project(f'{root}/only {languages}', {
            'CMakeLists.txt': f'cmake_minimum_required(VERSION 3.20)\nproject(demo {languages})\nfind_package(cgtpgen REQUIRED)\n'
            f'cgtpgen_add_product(layers SPEC layer.yaml BACKEND {backend})\nadd_executable(program program.{languages[:2].lower()})\n'
            'target_link_libraries(program PRIVATE layers)\n',
            'layer.yaml': SPEC, 'program.cx': PROGRAM, 'program.cu': PROGRAM})
        os.rename(f'{folder}/program.cx', f'{folder}/program.cpp')
        text = read(f'{folder}/CMakeLists.txt').replace('program.cx', 'program.cpp')
        with open(f'{folder}/CMakeLists.txt', 'w') as file:
            file.write(text)
        result = run('cmake', '-G', 'Ninja', '-S', '.', '-B', 'out', f'-DCMAKE_CUDA_COMPILER={NVCC}', '-DCMAKE_CUDA_ARCHITECTURES=90', folder=folder)
        ok(result.returncode == 0, f'CMake: project(demo {languages})', result.stdout)
        result = run('cmake', '--build', 'out', folder=folder)
        ok(result.returncode == 0, f'CMake: project(demo {languages}) builds', result.stdout[-3000:])
        told = run(f'{folder}/out/program').stdout if result.returncode == 0 else ''
        ok(told.startswith(f'layer, {backend}: '), f'CMake: project(demo {languages}) runs', told)
    for name, text, message in (
            ('unknown', shown.replace('SPEC', 'STATIC SPEC'), 'unknown argument: STATIC'),
            ('missing', shown.replace('SPEC layer.yaml ', ''), 'SPEC is missing'),
            ('no_language', shown.replace(' BACKEND c', ''), 'BACKEND cuda needs enable_language(CUDA)'),
            ('no_file', shown.replace('layer.yaml', 'no.yaml'), 'no.yaml: No such file')):
        _, result = configure(name, text)
        ok(result.returncode and message in ' '.join(result.stdout.split()), f'CMake: {message}', result.stdout)
    if not shutil.which(NVCC):
        return skip('CMake with CUDA', 'no nvcc')
    text = shown.replace(' BACKEND c', ' ARCH sm_80').replace(' C)', ' C CUDA)')
    folder, result = configure('cuda', text, f'-DCMAKE_CUDA_COMPILER={NVCC}')
    commands = run('ninja', '-C', f'{folder}/out', '-t', 'commands', 'program').stdout
    equal([len(re.findall(pattern, commands, re.M)) for pattern in
           (r'cgtpgen --backend=cuda --arch=sm_80 ', r'nvcc .*compute_80\S* .*layer_forward\.cu ',
            r'nvcc .*cgtp_graph\.cu ')], [1, 1, 1], 'CMake with CUDA: its commands')
    return None


def meson_project(folder, text, subproject):
    project(folder, {'meson.build': text, 'layer.yaml': SPEC, 'program.c': PROGRAM})
    os.makedirs(f'{folder}/subprojects')
    subproject(f'{folder}/subprojects/cgtpgen')
    return folder


def test_meson_checkout(root, shown, checkout):
    ENVIRONMENT['CFLAGS'] = '-O0'
    folder = meson_project(f'{root}/meson-checkout', shown, checkout)
    configured = run('meson', 'setup', 'out', folder=folder)
    built = run('ninja', '-C', 'out', folder=folder) if configured.returncode == 0 else configured
    del ENVIRONMENT['CFLAGS']
    if ok(built.returncode == 0, 'Meson, of a checkout: builds', built.stdout[-3000:]):
        equal(run(f'{folder}/out/program').stdout, f'layer, c: {NEGATIVE}\n', 'Meson, of a checkout: runs')


def test_meson(root):
    """By an installed cgtpgen; by a checkout with the two files; with CUDA, as far as its commands."""
    shown, here = SHOWN['meson'], os.getcwd()

    def installed(at):
        os.symlink(run('pkg-config', '--variable=datadir', 'cgtpgen').stdout.strip() + '/meson', at)

    def checkout(at):
        os.makedirs(at)
        for name in 'cgtpgen', 'runtime', 'docs', 'LICENSE', 'Makefile', 'runtime/meson/meson.build', \
                'runtime/meson/meson_options.txt':
            os.symlink(f'{here}/{name}', f'{at}/{os.path.basename(name)}')
    folder = meson_project(f'{root}/meson', shown, installed)
    configured = run('meson', 'setup', 'out', folder=folder)
    if ok(configured.returncode == 0, 'Meson', configured.stdout):
        life_of_a_build('Meson, Ninja', folder, ['ninja', '-C', 'out'])
    if os.environ.get('TEST_ALL'):
        test_meson_checkout(root, shown, checkout)
    else:
        skip('Meson, of a checkout', 'TEST_ALL is not set')
    if not shutil.which(NVCC):
        return skip('Meson with CUDA', 'no nvcc')
    folder = meson_project(f'{root}/meson-cuda', shown.replace("'product_backend=c'", "'arch=sm_80'"), installed)
    ENVIRONMENT['PATH'] += f':{os.path.dirname(NVCC)}'
    configured = run('meson', 'setup', 'out', folder=folder)
    commands = run('ninja', '-C', f'{folder}/out', '-t', 'commands', 'program').stdout
    ok([len(re.findall(pattern, commands, re.M)) for pattern in
        (r'cgtpgen --backend=cuda --arch=sm_80 ', r'nvcc .*-arch=sm_80 .*layer_forward\.cu', r'nvcc .*cgtp_graph\.cu')] ==
       [1, 1, 1], 'Meson with CUDA: its commands', configured.stdout[-2000:], commands)
    return None


def test_vendored(root, name, file, configure):
    """What is committed, as docs/vendoring.md shows, built without cgtpgen."""
    folder = project(f'{root}/vendored, {name}', {file: VENDORED[name], 'layer.yaml': VENDORED['yaml file=layer.yaml'],
                                                 'program.c': VENDORED['c file=program.c']})
    made = run('cgtpgen', '--backend=c', '--emit=header,source,plan,runtime', '-o', 'kernels', 'layer.yaml', folder=folder)
    ok(made.returncode == 0, f'vendored, {name}: written', made.stdout)
    kept = dict(ENVIRONMENT)
    ENVIRONMENT.update(PKG_CONFIG_PATH='', CMAKE_PREFIX_PATH='')
    results = [run(*command, folder=folder) for command in (configure, ('ninja', '-C', 'out'))]
    ENVIRONMENT.update(kept)
    ok(not any(result.returncode for result in results), f'vendored, {name}: builds', *(r.stdout for r in results))
    equal(run(f'{folder}/out/program').stdout, 'layer: workspace of backward: 512 bytes per sender\n',
          f'vendored, {name}: runs')


with tempfile.TemporaryDirectory() as ROOT:
    unoptimised(f'{ROOT}/tools')
    install(ROOT)
    ENVIRONMENT['CMAKE_PREFIX_PATH'] = f'{ROOT}/usr'
    for GENERATOR, PROGRAM_OF_IT in ('Ninja', 'ninja'), ('Unix Makefiles', 'make'):
        if shutil.which('cmake') and shutil.which(PROGRAM_OF_IT):
            test_cmake(GENERATOR, ROOT)
        else:
            skip(f'CMake, {GENERATOR}', 'it is not there')
    if shutil.which('cmake') and shutil.which('ninja'):
        test_cmake_options(ROOT)
        test_vendored(ROOT, 'cmake', 'CMakeLists.txt', ('cmake', '-G', 'Ninja', '-S', '.', '-B', 'out'))
    if shutil.which('meson') and shutil.which('pkg-config'):
        test_meson(ROOT)
        test_vendored(ROOT, 'meson', 'meson.build', ('meson', 'setup', 'out'))
    else:
        skip('Meson', 'it is not there')
done()
