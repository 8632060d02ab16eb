#!/usr/bin/env python3
"""make install, and projects outside of this tree whose Makefiles use it, in C and with CUDA."""
import os
import re
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from installed import ENVIRONMENT, NEGATIVE, PROGRAM, SPEC, install, project, read, run, unoptimised, write  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

MAKEFILE = '''CGTPGEN_SPECS = layer.yaml
include $(shell pkg-config --print-errors --variable=makefile cgtpgen)

program: program.o $(CGTPGEN_LIBRARY)
\t$(CGTPGEN_LINK) -o $@ $^
program.o: program.c $(CGTPGEN_HEADERS)
\t$(CC) $(CFLAGS) $(CGTPGEN_CPPFLAGS) -c -o $@ $<
clean: cgtpgen-clean
\trm -f program program.o
'''
IN_C = {'Makefile': 'CGTPGEN_BACKEND = c\n' + MAKEFILE, 'layer.yaml': SPEC, 'program.c': PROGRAM}
# The runtime's part for graphs on a device is linked too. Wrong arguments are told before a device is needed.
CUDA_PROGRAM = '#include "cgtp_device.h"\n' + PROGRAM.replace('    return', '''\
    puts(cgtp_status_text(cgtp_device_graph_check(0, 1, 0, 0)));
    return''')
# A kernel of the product and the preparation of a graph, called with memory that nothing reads where no kernel starts.
STATUS_PROGRAM = '''#include "layer.h"
#include "cgtp_device.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    static float host[1 << 18] __attribute__((aligned(256)));
    void *memory = host;
    if (cudaMalloc(&memory, sizeof host) != cudaSuccess)
        memory = host;
    float *a = (float *)memory;
    cgtp_graph graph = {1, 1, 1, (int32_t *)a, (int32_t *)a + 64, NULL, NULL, NULL, NULL};
    cgtp_status status[] = {
        layer_forward(1, a, a + 64, a + 128, a + 192, a + 1024, 1 << 19, NULL),
        cgtp_device_graph_index(&graph, (int64_t *)a, (int32_t *)a + 64, (int64_t *)(a + 128), a + 1024, 1 << 19, NULL),
        cgtp_device_graph_check(&graph, 0, (uint64_t *)a + 256, NULL),
        cgtp_device_status_read((uint64_t *)a, NULL),
    };
    for (int i = 0; i < 4; i++)
        printf("%s\\n", cgtp_status_text(status[i]));
    return 0;
}
'''
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
NULL = 'an array with elements, or the graph, is a null pointer'
OF_RUNTIME = ['cgtp.c.o', 'cgtp_check.c.o', 'cgtp_ranks.c.o']


def build(folder, *variables):
    """Runs make and returns the names of what it compiled or generated."""
    result = run('make', '-j3', *variables, folder=folder)
    if not ok(result.returncode == 0, 'the project builds', result.stdout):
        return None
    words = re.findall(r'-o (\S+)', result.stdout)
    return sorted(os.path.basename(word) for word in words)


def later():
    """Files that are written from here on are newer than all that there are."""
    time.sleep(0.05)


def test_installed(root):
    prefix = f'{root}/usr'
    result, text = install(root)
    ok(result.returncode == 0 and not result.stdout, 'make install DESTDIR=', result.stdout)
    found = sorted(os.path.relpath(f'{folder}/{name}', prefix) for folder, _, names in os.walk(prefix)
                   for name in names)
    headers = [f"share/cgtpgen/{os.path.relpath(f'{folder}/{name}', 'runtime')}"
               for folder, _, names in os.walk('runtime') for name in names
               if '__pycache__' not in folder and (not folder.startswith('runtime/python') or name.endswith('.py'))]
    examples = [f"share/doc/cgtpgen/{os.path.relpath(f'{folder}/{name}', 'docs')}"
                for folder, _, names in os.walk('docs/examples') for name in names]
    equal(found, sorted(['bin/cgtpgen', 'share/cgtpgen/cgtpgen-config-version.cmake', 'share/cgtpgen/installed',
                         'share/bash-completion/completions/cgtpgen', 'share/zsh/site-functions/_cgtpgen',
                         *(f'share/doc/cgtpgen/{name}' for name in os.listdir('docs') if os.path.isfile(f'docs/{name}')),
                         'share/doc/cgtpgen/LICENSE',
                         'share/cgtpgen/spec.schema.json', 'share/man/man1/cgtpgen.1',
                         'share/pkgconfig/cgtpgen.pc', *headers, *examples]), 'what is installed')
    where = run('env', '-u', 'CGTPGEN', '-u', 'CGTP_RUNTIME', f'PYTHONPATH={prefix}/share/cgtpgen/python', sys.executable, '-B', '-c',
                'import cgtpgen; print(cgtpgen.generator(), cgtpgen.runtime())')
    equal(where.stdout, f'{prefix}/bin/cgtpgen {prefix}/share/cgtpgen\n', 'the package of Python finds both')
    ok(root not in text and 'prefix=/usr\n' in text, 'the pkg-config file names the prefix', text)
    version = run('cgtpgen', '--version').stdout.split()[-1]
    ok(f'Version: {version}\n' in text, 'and the version', text)


def test_links(doc):
    """Every link of the installed manual leads somewhere."""
    broken, links = [], 0
    for folder, _, names in os.walk(doc):
        for page in (name for name in names if name.endswith('.md')):
            for target in re.findall(r'\]\(([^)#\s]+)', re.sub(r'^```.*?^```|`[^`\n]*`', '', read(f'{folder}/{page}'), flags=re.M | re.S)):
                links += 1
                if ':' not in target and not os.path.exists(f'{folder}/{target}'):
                    broken.append(f'{page}: {target}')
    ok(links > 100 and not broken, 'links of the installed manual', *broken)


def test_c(folder):
    project(folder, IN_C)
    everything = [*OF_RUNTIME, 'cgtpgen-out', 'layer.c.o', 'layer_forward.c.o', 'program', 'program.o']
    of_spec = [name for name in everything if name not in OF_RUNTIME]
    equal(build(folder), everything, 'from nothing: all')
    equal(run(f'{folder}/program').stdout, f'layer, c: {NEGATIVE}\n', 'the program runs')
    equal(build(folder), [], 'again: nothing')
    equal(run('make', '-q', folder=folder).returncode, 0, 'make -q: up to date')
    later()
    write(f'{folder}/layer.yaml', '# a comment\n' + SPEC)
    equal(build(folder), ['cgtpgen-out'],
          'a comment in the spec: generated, no file changes, nothing compiled')
    equal(build(folder), [], 'and then nothing')
    later()
    write(f'{folder}/layer.yaml', SPEC.replace('2x0e + 1x1o, y', '3x0e + 1x1o, y'))
    equal(build(folder), of_spec, 'another spec: its files')
    later()
    os.utime(f'{folder}/cgtpgen-out/layer.h')
    equal(build(folder), [name for name in of_spec if name != 'cgtpgen-out'],
          'a newer header: what includes it is compiled')
    later()
    flags = "CFLAGS=-O1 -DTEXT='\"a word\"'"
    equal(build(folder, flags), [name for name in everything if name not in ('program.o', 'cgtpgen-out')],
          'other flags: all that they are for')
    equal(build(folder, flags), [], 'and then nothing')


def test_changes(folder, root):
    """What is made again when something other than the spec changed."""
    project(folder, IN_C)
    build(folder)
    later()
    os.remove(f'{folder}/cgtpgen-out/layer.c')
    equal(build(folder), ['cgtpgen-out', 'layer.c.o', 'program'], 'a source was deleted: made again, and compiled')
    os.remove(f'{folder}/cgtpgen-out/layer.h')
    equal(build(folder), ['cgtpgen-out', 'layer.c.o', 'layer_forward.c.o', 'program', 'program.o'],
          'a header was deleted: made again, and what includes it')
    later()
    write(f'{folder}/other.yaml', SPEC.replace('name: layer', 'name: other'))
    equal(build(folder, 'CGTPGEN_SPECS=layer.yaml other.yaml'),
          ['cgtpgen-out', 'other.c.o', 'other_forward.c.o', 'program', 'program.o'],
          'one more spec: its files, and the program, which names all headers')
    os.remove(f'{folder}/other.yaml')
    equal(build(folder), ['cgtpgen-out', 'program'], 'one less: linked without it')
    write(f'{folder}/layer.yaml', SPEC.replace('[forward]', '[forward, backward]'))
    equal(build(folder), ['cgtpgen-out', 'layer.c.o', 'layer_backward.c.o', 'layer_forward.c.o', 'program', 'program.o'],
          'one more kernel: it, and what includes the header')
    later()
    write(f'{folder}/layer.yaml', SPEC)
    build(folder)
    equal([name for name in os.listdir(f'{folder}/cgtpgen-out') if 'backward' in name], [],
          'one less: its source and object are removed')

    # A generator that writes other text, and whose file is older than what was made.
    generator, header = f'{root}/usr/bin/cgtpgen', f'{root}/usr/share/cgtpgen/cgtp.h'
    before = read(header)
    abi = int(re.search(r'#define CGTP_ABI (\d+)', before)[1])
    os.rename(generator, f'{generator}.real')
    write(generator, '#!/bin/sh\n"$0.real" "$@" || exit\nfor last in "$@"; do :; done\n'
          'case $* in *--list*) exit;; esac\nsed -i "s/CGTP_ABI != '
          f'{abi}/CGTP_ABI != {abi + 1}/" cgtpgen-out/layer.h\n')
    os.chmod(generator, 0o755)
    os.utime(generator, (1, 1))
    write(header, before.replace(f'CGTP_ABI {abi}', f'CGTP_ABI {abi + 1}'))
    os.utime(header, (1, 1))
    equal(build(folder), [*OF_RUNTIME, 'cgtpgen-out', 'layer.c.o', 'layer_forward.c.o', 'program', 'program.o'],
          'another generator and runtime, of another ABI: all')
    equal(build(folder), [], 'and then nothing')
    os.rename(f'{generator}.real', generator)
    write(header, before)


def test_failures(folder):
    wrong = SPEC.replace('fully', 'fuly')
    project(folder, IN_C | {'layer.yaml': wrong})
    for when in ('', ' after it was right'):
        result = run('make', '-j3', folder=folder)
        ok(result.returncode != 0 and result.stdout.count('layer.yaml:4:15: error') == 1 and
           len(result.stdout.splitlines()) == 5, f'a wrong spec{when}: make stops and shows the error once', result.stdout)
        write(f'{folder}/layer.yaml', SPEC)
        build(folder)
        later()
        write(f'{folder}/layer.yaml', wrong)
    result = run('make', 'clean', folder=folder)
    ok(result.returncode == 0 and 'error' not in result.stdout, 'make clean says nothing of it', result.stdout)
    equal(sorted(os.listdir(folder)), sorted(IN_C), 'and removes all that was made')
    write(f'{folder}/layer.yaml', SPEC)
    result = run('make', 'CGTPGEN=no-such-program', folder=folder)
    equal((result.returncode, re.sub('^.*: [*]{3} ', '', result.stdout)),
          (2, "cgtpgen.mk: there is no program 'no-such-program'; install cgtpgen, or set CGTPGEN to where it is.  Stop.\n"),
          'no generator: one error')
    equal(run('make', 'clean', 'CGTPGEN=no-such-program', folder=folder).returncode, 0, 'make clean needs none')
    known = dict(ENVIRONMENT)
    ENVIRONMENT['PATH'] = known['PATH'].split(':', 1)[1]  # without the installation
    planned = run('make', '-n', folder=folder)
    ENVIRONMENT['PATH'] = known['PATH']
    ok(planned.returncode == 0 and re.search(r'^/\S+/usr/bin/cgtpgen --backend=c', planned.stdout, re.M),
       'a generator that PATH does not name: the one that is installed with the rules', planned.stdout)
    run('make', 'clean', folder=folder)
    result = run('make', 'CGTPGEN_BACKEND=cuda', 'NVCC=no-such-nvcc', folder=folder)
    ok(result.returncode == 2 and "there is no program 'no-such-nvcc', which compiles products in CUDA: set NVCC to where it is, or "
       'CGTPGEN_BACKEND to c' in result.stdout and 'Error 127' not in result.stdout, 'no nvcc: an error that says so', result.stdout)
    run('make', 'clean', 'CGTPGEN_BACKEND=cuda', folder=folder)
    ENVIRONMENT['PKG_CONFIG_PATH'] = '/no such folder'
    result = run('make', folder=folder)
    ENVIRONMENT['PKG_CONFIG_PATH'] = known['PKG_CONFIG_PATH']
    ok(result.returncode == 2 and 'PKG_CONFIG_PATH' in result.stdout, 'not where pkg-config looks: it says so', result.stdout)
    result = run('make', 'CGTPGEN_DIR=two words', folder=folder)
    ok(result.returncode == 2 and "CGTPGEN_DIR is 'two words': make needs a name without spaces" in result.stdout,
       'an output folder with a space: an error', result.stdout)
    equal(sorted(os.listdir(folder)), sorted(IN_C), 'and nothing is written')


def test_names(folder, root):
    """Folders and programs of any name: what is one's own stays, what make cannot take is told before anything is written."""
    own = {'products.mk': 'mine = 1\n', 'generate.command': 'mine\n', 'cc.command': 'mine\n'}
    project(folder, IN_C | own)
    ok(build(folder, 'CGTPGEN_DIR=.') is not None and run(f'{folder}/program').stdout == f'layer, c: {NEGATIVE}\n',
       'in the folder of the project: the program runs')
    equal(build(folder, 'CGTPGEN_DIR=.'), [], 'and again: nothing')
    equal({name: read(f'{folder}/{name}') for name in own}, own, 'files of the names that a build might choose stay')
    run('make', 'clean', 'CGTPGEN_DIR=.', folder=folder)
    equal(sorted(os.listdir(folder)), sorted(IN_C | own), 'make clean removes all that was made and no more')
    for name in '-out', '~out', 'a;b', "it's", 'a$$b', '(a)', 'a:b':
        result = run('make', f'CGTPGEN_DIR={name}', folder=folder)
        ok(result.returncode == 2 and 'make needs a name without' in result.stdout, f'CGTPGEN_DIR={name}: an error', result.stdout)
    equal(sorted(os.listdir(folder)), sorted(IN_C | own), 'and nothing is written')
    generator = f"{root}/a ; it's $ (generator)"
    shutil.copy(shutil.which('cgtpgen', path=f'{root}/usr/bin'), generator)
    told = 'CGTPGEN=' + generator.replace('$', '$$')
    ok(build(folder, told) is not None, 'a generator whose name has spaces and more')
    equal(build(folder, told), [], 'and again: nothing')
    shutil.copytree(f'{root}/usr/share/cgtpgen', f'{folder}/my runtime')
    write(f'{folder}/Makefile', IN_C['Makefile'].replace('$(shell pkg-config --print-errors --variable=makefile cgtpgen)', 'my\\ runtime/cgtpgen.mk'))
    result = run('make', folder=folder)
    ok(result.returncode == 2 and "make sees 'runtime', must have a name without spaces" in result.stdout,
       'a runtime in a folder with a space: an error', result.stdout)


def test_interpreters():
    """Paths of interpreters may have spaces, in every rule that runs one."""
    python = "/no where/it's/python"
    quoted = python.replace("'", "'\\''")
    variables = {name: f'{name}={python}' for name in ('PYTHON', 'TORCH_PYTHON', 'JAX_PYTHON', 'MODELS_PYTHON')}
    seen = 0
    for targets, name in (('test-torch gpu-torch', 'TORCH_PYTHON'), ('test-jax gpu-jax', 'JAX_PYTHON'),
                          ('models gpu-models', 'MODELS_PYTHON'),
                          ('torch-venv jax-venv bench bench-generation bench-stability bench-precisions', 'PYTHON')):
        planned = run('make', '-n', *targets.split(), variables[name]).stdout
        lines = [line for line in planned.splitlines() if 'no where' in line]
        seen += len(lines)
        ok(lines and all(f"'{quoted}'" in line for line in lines), f'{targets}: {name} is one word', planned)
    ok(seen > 12, f'{seen} commands')


def check_status(folder):
    """Where kernels cannot start, the status says why: no GPU or driver, or no code for that GPU."""
    write(f'{folder}/status.c', STATUS_PROGRAM)
    objects = [f'cgtpgen-out/{name}.o' for name in ('layer.c', 'layer_forward.cu', 'cgtp.c', 'cgtp_check.c', 'cgtp_graph.cu')]
    runtime = run('pkg-config', '--variable=datadir', 'cgtpgen').stdout.strip()
    result = run(NVCC, '-o', 'status', f'-I{runtime}', '-Icgtpgen-out', 'status.c', *objects, folder=folder)
    ok(result.returncode == 0, 'a program that calls kernels', result.stdout[:4000])
    told = run(f'{folder}/status').stdout.splitlines()
    if not os.path.exists('/dev/nvidia0'):
        return equal(told, ['there is no GPU, or no driver for it that is as new as the CUDA version used'] * 4, 'no GPU')
    wanted = 'there is no code for this GPU: compile for its architecture (nvcc -arch=sm_90 and the like)'
    return equal(told[:3], [wanted] * 3, 'a GPU of another architecture')


def test_cuda(folder):
    """The default. Linked from the objects, where all are needed, not from the archive."""
    project(folder, {'Makefile': MAKEFILE.replace('LIBRARY', 'OBJECTS'), 'layer.yaml': SPEC,
                     'program.c': CUDA_PROGRAM})
    # Not for the architecture of a GPU that is there (check_status).
    gpu = run('nvidia-smi', '--query-gpu=compute_cap', '--format=csv,noheader').stdout if shutil.which('nvidia-smi') else ''
    nvcc = [f'NVCC={NVCC}', *(['CGTPGEN_ARCH=sm_80'] if gpu.startswith('9') else [])]
    own, other = ('sm_80', 'sm_90') if gpu.startswith('9') else ('sm_90', 'sm_80')
    everything = ['cgtp.c.o', 'cgtp_check.c.o', 'cgtp_graph.cu.o', 'cgtp_ranks.c.o', 'cgtpgen-out', 'layer.c.o', 'layer_forward.cu.o', 'program',
                  'program.o']
    equal(build(folder, *nvcc), everything, 'CUDA, from nothing: all')
    equal(run(f'{folder}/program').stdout, f'layer, cuda: {NEGATIVE}\n{NULL}\n', 'CUDA: the program runs')
    check_status(folder)
    equal(build(folder, *nvcc), [], 'CUDA, again: nothing')
    later()
    write(f'{folder}/layer.yaml', SPEC.replace('2x0e + 1x1o, y', '3x0e + 1x1o, y'))
    equal(build(folder, *nvcc), [name for name in everything if name not in (*OF_RUNTIME, 'cgtp_graph.cu.o')],
          'CUDA, another spec: its files')
    planned = run('make', '-n', *nvcc, f'CGTPGEN_ARCH={other}', folder=folder).stdout
    equal([len(re.findall(pattern, planned, re.M)) for pattern in
           (rf'^{re.escape(NVCC)} -arch={other} .* -c -o ', rf'^cgtpgen .*--arch={other} +-o', own)], [2, 1, 0],
          'CUDA, another architecture: generated and compiled for it')
    write(f'{folder}/program.c', PROGRAM)
    equal(build(folder, *nvcc, 'CGTPGEN_BACKEND=c', 'CGTPGEN_OPENMP='),
          ['cgtpgen-out', 'layer.c.o', 'layer_forward.c.o', 'program', 'program.o'],
          'C in the same folder: all but what is compiled alike for both')
    equal(run(f'{folder}/program').stdout, f'layer, c: {NEGATIVE}\n', 'and its program runs')


with tempfile.TemporaryDirectory() as ROOT:
    unoptimised(f'{ROOT}/tools')
    test_installed(ROOT)
    test_links(f'{ROOT}/usr/share/doc/cgtpgen')
    test_interpreters()
    if not shutil.which('pkg-config'):
        skip('a project in C', 'no pkg-config')
        skip('a project with CUDA', 'no pkg-config')
    else:
        test_c(f'{ROOT}/in a folder with spaces')
        test_changes(f'{ROOT}/changes', ROOT)
        test_failures(f'{ROOT}/failures')
        test_names(f'{ROOT}/names', ROOT)
        if shutil.which(NVCC):
            test_cuda(f'{ROOT}/cuda')
        else:
            skip('a project with CUDA', 'no nvcc')
done()
