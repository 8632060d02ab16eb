#!/usr/bin/env python3
"""Generated CUDA compiles for all architectures without a warning, does not spill, and is what its plan says.

Needs nvcc (NVCC=..), no GPU; without nvcc everything is skipped. Each architecture is planned for as such.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen')
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
FLAGS = ['-std=c++17', '-O3', '-Xcompiler=-Wall,-Wextra', '-Xptxas=-v', '-Iruntime', '-c']
JOBS = 2
KERNELS = ('forward', 'backward', 'double_backward')
PRODUCTS = {'sm_80': ['mace_large'], 'sm_90': ['mace_large'], 'sm_86': ['nequip_water'],
            'sm_89': ['nequip_water'], 'sm_100': ['nequip_water'], 'sm_120': ['nequip_water']}
SHARED_BYTES = 228 << 10  # of a multiprocessor of sm_90; each block takes 1 KiB more than it asks for
DETAILED = ('sm_90', 'mace_large')  # whose registers and shared memory are compared with the plan


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def compile_kernel(job):
    arch, product, kernel = job
    stem = f'{BUILD}/cuda/{arch}/{product}_{kernel}'
    return run(NVCC, *FLAGS, f'-arch={arch}', '-o', f'{stem}.o', f'{stem}.cu')


def reported(log):
    """What ptxas says of each kernel (named without its types), and the lines that are not of this report."""
    kernels, other, now = {}, [], None
    for line in log.splitlines():
        name = re.search(r"Compiling entry function '_Z\d+(\w+?)(?:6launch|10cgtp_areas)\w*' for", line)
        spill = re.search(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads', line)
        used = re.search(r'Used (\d+) registers', line)
        if name:
            now = kernels.setdefault(name.group(1), {'shared': 0})
        elif spill and now is not None:
            now['stack'], now['stores'], now['loads'] = map(int, spill.groups())
        elif used and now is not None:
            now['registers'] = int(used.group(1))
            shared = re.search(r'(\d+) bytes smem', line)
            now['shared'] = int(shared.group(1)) if shared else 0
        elif not re.match(r'ptxas info\s*:', line) and line.strip():
            other.append(line)
    return kernels, other


def check_plan(kernel, plan, log):
    """The passes of one kernel of the plan against the emitted launch and what ptxas reports."""
    arch, product = DETAILED
    kernels, _ = reported(log)
    with open(f'{BUILD}/cuda/{arch}/{product}_{kernel}.cu') as f:
        source = f.read()
    for name, k in kernels.items():
        ok(max(k['stores'], k['loads']) == 0, f'{product} {kernel}: {name} spills nothing',
           f'{k["stores"]} bytes of spill stores, {k["loads"]} of loads, a stack of {k["stack"]}')
    for gpu, nodes in [(gpu, nodes) for gpu in plan['gpu'] for nodes in (0, 2)]:
        function = f'{gpu["owner"]}s_kernel'
        name = f'{function}ILi{nodes}EEv'
        if not ok(gpu['evaluation'] == 'convolution' and name in kernels,
                  f'{product} {kernel}: {name} is the pipelined convolution', gpu, sorted(kernels)):
            continue
        used, most = kernels[name]['registers'], gpu['registers_most']
        predicted = max(segment['registers'] for segment in gpu['segments'])
        print(f'# {product} {kernel}, {name}: {used} registers, {predicted} predicted '
              f'({used - predicted:+d}), {most} allowed; a stack of {kernels[name]["stack"]} bytes')
        ok(predicted <= most, f'{product} {kernel}: {name} is planned to fit its registers', predicted, most)
        ok(used <= most, f'{product} {kernel}: {name} uses at most those of its occupancy', used, most)
        threads, blocks = gpu['warps_per_block'] * 32, gpu['blocks_per_multiprocessor']
        bounds = re.search(rf'CGTP_KERNEL\((\d+), (\d+)\) {function}\(', source)
        equal(bounds and bounds.groups(), (str(threads), str(blocks)),
              f'{product} {kernel}: {name}, launch bounds')
        launch = re.search(rf'cgtp_launch_early\(nodes \? {function}<[^,]*,\s*[^,]*, (\d+), (\d+), stream,', source)
        static, dynamic = kernels[name]['shared'], gpu['shared_bytes_per_block']
        equal(launch and launch.groups(), (str(threads), str(dynamic)), f'{product} {kernel}: {name}, launch')
        together = (dynamic + static + 1024) * blocks
        print(f'# {product} {kernel}, {name}: {static} bytes of shared memory beside the {dynamic} planned; '
              f'{together} of {SHARED_BYTES} in use')
        ok(together <= SHARED_BYTES, f'{product} {kernel}: {name}, its blocks fit a multiprocessor', together)


def build_selftest(arch, product):
    """The self-test of one product with the memory of a device; it needs one to run."""
    folder = f'{BUILD}/cuda/{arch}'
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which(NVCC))))
    written = run(GENERATOR, '--backend=cuda', f'--arch={arch}', '--emit=selftest', '-o', folder,
                  f'specs/{product}.yaml')
    equal((written.returncode, written.stdout), (0, ''), f'{product}: a self-test is written')
    objects = [f'{folder}/{product}_{kernel}.o' for kernel in KERNELS]
    for source in (f'{folder}/{product}.c', f'{folder}/{product}_selftest.c', 'runtime/cgtp_selftest.c',
                   'runtime/cgtp.c'):
        objects.append(f'{folder}/{os.path.basename(source)}.o')
        built = run(os.environ.get('CC', 'gcc'), '-std=c11', '-Wall', '-Wextra',
                    '-DCGTP_SELFTEST_CUDA', '-Iruntime', f'-I{folder}', '-isystem', f'{toolkit}/include', '-c',
                    '-o', objects[-1], source)
        equal((built.returncode, built.stdout), (0, ''), f'{os.path.basename(source)} compiles with CUDA')
    linked = run(NVCC, f'-arch={arch}', '-o', f'{folder}/selftest', *objects, '-lm')
    equal((linked.returncode, linked.stdout), (0, ''), f'{product}: its self-test links')


jobs = [(arch, product, kernel) for arch, products in PRODUCTS.items() for product in products
        for kernel in KERNELS]
if not shutil.which(NVCC):
    for job in jobs:
        skip('{1} {2} for {0}'.format(*job), 'no nvcc')
    skip('registers and shared memory', 'no nvcc')
    skip('a self-test builds', 'no nvcc')
    done()
known = set(run(NVCC, '--list-gpu-arch').stdout.replace('compute_', 'sm_').split())
for arch, products in PRODUCTS.items():
    written = run(GENERATOR, '--backend=cuda', f'--arch={arch}', '-o', f'{BUILD}/cuda/{arch}',
                  *[f'specs/{product}.yaml' for product in products])
    if written.returncode or written.stdout:
        print(f'Bail out! {arch}: {written.stdout}')
        sys.exit(1)
with ThreadPoolExecutor(JOBS) as pool:
    results = dict(zip(jobs, pool.map(lambda job: compile_kernel(job) if job[0] in known else None, jobs)))
for job, result in results.items():
    name = '{1} {2} compiles for {0}'.format(*job)
    if result:
        kernels, other = reported(result.stdout)
        ok(result.returncode == 0 and not other and kernels, name, *other)
    else:
        skip(name, 'nvcc does not know it')
arch, product = DETAILED
report = json.loads(run(GENERATOR, '--backend=cuda', f'--arch={arch}', '--print=json',
                        f'specs/{product}.yaml').stdout)
equal([kernel['name'] for kernel in report['kernels']], list(KERNELS), f'{product}: its kernels are planned')
for kernel in report['kernels']:
    result = results[arch, product, kernel['name']]
    if result:
        check_plan(kernel['name'], kernel, result.stdout)
    else:
        skip(f'{product} {kernel["name"]}: registers and shared memory', f'nvcc does not know {arch}')
if 'sm_86' in known:
    build_selftest('sm_86', 'nequip_water')
else:
    skip('a self-test builds', 'nvcc does not know sm_86')
done()
