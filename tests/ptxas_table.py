#!/usr/bin/env python3
"""make ptxas-table: what ptxas makes of the published kernels on each architecture, as a table, without a GPU: registers,
bytes that are spilled, and the time of an item by the roofline of --emit=report, which is a prediction: nothing runs.

Kernels are those of the benchmark's main products, planned for the architecture that they are compiled for. OUT is the
table (default BUILD/ptxas/table.tsv); PRODUCTS, a pattern, which products (default: all in float32); ARCHES and KERNELS,
words; JOBS, how many compilers at a time. Architectures are done one after the other, as they are named. In parts, on
several machines: SHARE=2/3 does the second third of the rows, LIMIT begins no compiler after so many seconds, and HAVE, tables
of other parts, takes over their rows, so that the last part has them all. What a compiler said once is kept
(tests/stored.py), so that a run that was stopped goes on. It tells kernels that spill, and returns 1 where one cannot be
compiled.
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path[:0] = ['tests', 'tests/gpu']
import sass  # noqa: E402
import sources  # noqa: E402
import stored  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen')
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
ARCHES = (os.environ.get('ARCHES') or 'sm_80 sm_86 sm_89 sm_90 sm_100 sm_120').split()
KERNELS = (os.environ.get('KERNELS') or 'forward backward double_backward').split()
PRODUCTS = os.environ.get('PRODUCTS') or '_f32_'
FOLDER = f'{BUILD}/ptxas'
OUT = os.environ.get('OUT') or f'{FOLDER}/table.tsv'
SHARE, SHARES = map(int, (os.environ.get('SHARE') or '1/1').split('/'))
LIMIT = float(os.environ.get('LIMIT') or 'inf')
HAVE = (os.environ.get('HAVE') or '').split()
BEGIN = time.monotonic()
HEAD = ['product', 'kernel', 'arch', 'functions', 'registers', 'spilled', 'spilling', 'predicted_ns_per_item', 'machine']


def functions(said):
    """(name, registers, bytes spilled: stored and loaded) of each function that ptxas compiled."""
    found = re.findall(r"Compiling entry function '(\w+)'(.*?)Used (\d+) registers", said, re.S)
    return [(sass.short_name(name), int(registers), sum(map(int, re.findall(r'(\d+) bytes spill', text)))) for name, text, registers in found]


def predicted(product, kernel):
    """Nanoseconds of an item: its least bytes at the memory's rate, or its operations as multiply-adds, the longer."""
    machine, operations = product['machine'], sum(kernel['operations_per_item'].values())
    return 1e9 * max(kernel['bytes_per_item'] / machine['bytes_per_second'], operations / machine['fma_per_second'])


def described(arch, path):
    said = subprocess.run([GENERATOR, f'--arch={arch}', '--print=json', '-Wno-all', path], capture_output=True, text=True, check=True)
    product = json.loads(said.stdout)
    return product, {kernel['name']: kernel for kernel in product['kernels']}


def row_of(job):
    """A row of the table, or what nvcc says; nothing, where there is no time left."""
    name, kernel, arch = job
    if time.monotonic() - BEGIN > LIMIT:
        return None
    stem = f'{FOLDER}/{arch}/{name}_{kernel}'
    command = [NVCC, '-std=c++17', '-O3', '-Xptxas=-v', '-cubin', f'-arch={arch}', '-Iruntime', '-o', f'{stem}.cubin', f'{stem}.cu']
    said = stored.run(command, f'{stem}.cu', f'{stem}.cubin')
    found = functions(said.stdout)
    if said.returncode or not found:
        return said.stdout
    product, kernels = described(arch, f'{FOLDER}/{name}.yaml')
    spilling = [function for function, _, spilled in found if spilled]
    return dict(zip(HEAD, (name, kernel, arch, len(found), max(registers for _, registers, _ in found),
                           sum(spilled for *_, spilled in found), ' '.join(spilling),
                           f'{predicted(product, kernels[kernel]):.3g}', product['machine']['name'])))


def known():
    """Rows of other parts, by what they are of."""
    found = {}
    for path in HAVE:
        with open(path, newline='') as file:
            file.readline()
            for row in csv.DictReader(file, delimiter='\t'):
                found[row['product'], row['kernel'], row['arch']] = {**row, 'spilled': int(row['spilled'])}
    return found


def main():
    if not shutil.which(NVCC):
        sys.exit('ptxas-table: there is no nvcc')
    chosen = [p for p in sources.bench('main') if re.search(PRODUCTS, p.name)]
    if not chosen:
        sys.exit(f'ptxas-table: no product of the benchmark is called {PRODUCTS}')
    os.makedirs(FOLDER, exist_ok=True)
    for p in chosen:
        sources.write(f'{FOLDER}/{p.name}.yaml', p.text)
    for arch in ARCHES:
        subprocess.run([GENERATOR, f'--arch={arch}', '-Wno-all', '-o', f'{FOLDER}/{arch}',
                        *(f'{FOLDER}/{p.name}.yaml' for p in chosen)], check=True)
    have = known()
    wanted = [(p.name, kernel, arch) for arch in ARCHES for p in chosen for kernel in KERNELS]
    jobs = [job for job in wanted[SHARE - 1::SHARES] if job not in have]
    with ThreadPoolExecutor(int(os.environ.get('JOBS') or os.cpu_count())) as pool:
        made = dict(zip(jobs, pool.map(row_of, jobs)))
    wrong = [(job, row) for job, row in made.items() if isinstance(row, str)]
    have |= {job: row for job, row in made.items() if isinstance(row, dict)}
    order = [p.name for p in chosen], KERNELS, ARCHES
    rows = [have[job] for job in sorted(filter(have.get, wanted), key=lambda job: [where.index(part) for where, part in zip(order, job)])]
    with open(OUT, 'w', newline='') as file:
        version = subprocess.run([NVCC, '--version'], capture_output=True, text=True).stdout
        file.write(f'# nvcc {re.search("release ([0-9.]+)", version).group(1)}; times are predicted, not measured\n')
        table = csv.DictWriter(file, HEAD, delimiter='\t', lineterminator='\n')
        table.writeheader()
        table.writerows(rows)
    spilling = [row for row in rows if row['spilled']]
    print(f'{OUT}: {len(rows)} of {len(wanted)} kernels, {len(spilling)} spill')
    for row in spilling:
        print(f"  {row['product']} {row['kernel']} {row['arch']}: {row['spilled']} bytes in {row['spilling']}")
    for job, said in wrong:
        print(f'{" ".join(job)} is not compiled: {said[:500]}')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
