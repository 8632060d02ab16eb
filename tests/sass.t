#!/usr/bin/env python3
"""Machine code of the benchmark's kernels is no worse than tests/data/sass.tsv says: instructions in hot loops (what these
are: tests/sass.py), registers, bytes that are spilled. So a change of the printer or of a plan shows here what it costs before any GPU does.

A kernel fails where a hot loop has over 2 % more instructions than in the table (all of them together, where there are as
many as before no longer), where it spills more, or where its registers let fewer warps run. UPDATE=1 writes the table anew:
what `git diff` then shows is the review. Needs nvcc of the release that the table is of, and nvdisasm (PyPI's
nvidia-cuda-nvdisasm, or the toolkit's) for the loops. A part of the products is compiled; with TEST_ALL all that the table has,
and with both all of the benchmark's.
"""
import csv
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path[:0] = ['tests', 'tests/gpu']
import sass  # noqa: E402
import sources  # noqa: E402
import stored  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.environ.get('CGTPGEN', f'{BUILD}/cgtpgen')
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
TABLE = 'tests/data/sass.tsv'
FOLDER = f'{BUILD}/sass'
FLAGS = ['-std=c++17', '-O3', '-Xptxas=-v', '-cubin', '-arch=sm_90', '-Iruntime']
KERNELS = ('forward', 'backward', 'double_backward')
HEAD = ['product', 'kernel', 'function', 'registers', 'spilled', 'loops']
JOBS, MOST = 2, 1.02
# One or two of each evaluation.
CHOSEN = ('mace_large_f32_deterministic', 'mace_large_bf16_deterministic', 'mace_large_f32_any', 'mace_large_f64_atomic',
          'flashtp_table5_lmax1_f32_deterministic', 'sevennet_l3i5_layer2_f32_atomic', 'nequip_lips_f32_deterministic',
          'mace_large_f32_batch', 'mace_medium_f32_batch', 'diffdock_l1_f32_batch', 'diffdock_l1_f32_deterministic',
          'tetris_poly_2_f32_shared', 'e3tools_transformer_f32_shared', 'allegro_lmax1_f32_pairs', 'allegro_lmax2_f32_pairs')


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def release():
    return re.search(r'release ([\d.]+)', run(NVCC, '--version').stdout).group(1)


# ---- the table ----

def read_table():
    """The release of nvcc, and rows by product, kernel and function."""
    if not os.path.exists(TABLE):
        return None, {}
    with open(TABLE, newline='') as file:
        of = re.match(r'# nvcc ([\d.]+)', file.readline()).group(1)
        return of, {tuple(row[key] for key in HEAD[:3]): row for row in csv.DictReader(file, delimiter='\t')}


def write_table(rows):
    with open(TABLE, 'w', newline='') as file:
        file.write(f'# nvcc {release()}, sm_90; instructions:arithmetic of each hot loop. UPDATE=1 tests/sass.t writes this.\n')
        writer = csv.DictWriter(file, HEAD, delimiter='\t', lineterminator='\n')
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


def loop_counts(row):
    return [int(loop.split(':')[0]) for loop in row['loops'].split()]


def warps(row):
    """That fit into the registers of a multiprocessor, four at a time."""
    return 65536 // ((int(row['registers']) + 7) // 8 * 8 * 32) // 4 * 4


def worse(before, now):
    """What is worse than the table says, in words; loops only where both know them."""
    found = []
    if int(now['spilled']) > int(before['spilled']):
        found.append(f"spills {now['spilled']} bytes, not {before['spilled']}")
    if warps(now) < warps(before):
        found.append(f"takes {now['registers']} registers, not {before['registers']}: {warps(now)} warps fit, not {warps(before)}")
    pairs = list(zip(loop_counts(before), loop_counts(now)))
    if not len(pairs) == len(loop_counts(before)) == len(loop_counts(now)):
        pairs = [(sum(loop_counts(before)), sum(loop_counts(now)))]
    if now['loops'] != '':
        found += [f'a hot loop of {b} instructions where the table has {a}' for a, b in pairs if b > MOST * a]
    return found


def check_worse():
    def row(registers, spilled, loops):
        return dict(zip(HEAD[3:], (registers, spilled, loops)))
    before = row('168', '0', '100:80 50:20')
    for name, now, count in (('the same', before, 0), ('2 % more', row('168', '0', '102:80 51:20'), 0), ('fewer', row('128', '0', '80:80 9:9'), 0),
                             ('3 % more in one loop', row('168', '0', '103:80 40:20'), 1), ('a spill', row('168', '8', '100:80 50:20'), 1),
                             ('registers that leave fewer warps', row('176', '0', '100:80 50:20'), 1),
                             ('registers that leave as many', row('160', '0', '100:80 50:20'), 0),
                             ('one loop, as much as both', row('168', '0', '150:100'), 0), ('three that are more', row('168', '0', '100:80 50:20 9:9'), 1),
                             ('both of it', row('255', '64', '100:80 50:20'), 2), ('loops that are not known', row('168', '0', ''), 0)):
        equal(len(worse(before, now)), count, f'beside the table: {name}')


# ---- hot loops of a text ----

def check_loops():
    """A kernel in nvdisasm's words: a loop over tiles with a wait and a copy, and within it one of 6 instructions, 4 of them
    arithmetic, one of them behind the end; and a part for lanes that parted, which is not of it."""
    lines = ['.text._Z1kv:', 'MOV R1, R2', '.L_x_0:', 'LDS R3, [R1]', '.L_x_1:', 'SYNCS R4', '@!P0 BRA `(.L_x_1)', '.L_x_2:', 'FFMA R1, R2, R3, R4',
             'FFMA R1, R2, R3, R4', '@P1 BRA `(.L_x_5)', '.L_x_3:', 'FMUL R1, R2, R3', 'BRA.DIV UR4, `(.L_x_6)', '@P2 BRA `(.L_x_2)', 'NOP',
             'FADD R1, R2, R3', '@P3 BRA `(.L_x_0)', 'EXIT', '.L_x_5:', 'FFMA R1, R2, R3, R4', 'BRA `(.L_x_3)', '.L_x_6:', 'FADD R1, R2, R3',
             'BRA `(.L_x_3)', '.L_x_7:', 'BRA `(.L_x_7)']
    text = '\n'.join(line if line.startswith('.') else f'        /*{16 * number:04x}*/   {line} ;' for number, line in enumerate(lines))
    [[name, function]] = sass.functions(text).items()
    equal((name, function.hot()), ('_Z1kv', [[8, 4]]), 'the hot loop of a kernel is the inner one, with what is behind the end')
    outer = text.replace('FADD R1, R2, R3', 'DMMA R1, R2, R3', 1).replace('NOP', '\n'.join(['DFMA R1 ;'] + [f'        /*9{n:03x}*/ DFMA R1 ;' for n in range(8)]))
    equal([count for _, count in sass.functions(outer)['_Z1kv'].hot()], [14], 'with most of the arithmetic around it, it is the outer one')
    equal(sass.functions(text.replace('FFMA', 'IADD3').replace('FMUL', 'IADD3').replace('FADD', 'IADD3'))['_Z1kv'].hot(), [], 'without arithmetic there is none')


# ---- an instruction that is wrong ----

# ptxas 13.0 compares a number with the bound that it is clamped to, from 0 on, by the predicates of one instruction, which come
# out wrong (an H200 took lanes with all their channels for others): no kernel may have it.
WRONG = re.compile(r'VIMNMX\S*\.RELU\S* R\d+, U?P\d')
CLAMPS = """typedef float real;
#include "cgtp_cuda.h"
#include "cgtp_convolution.h"
struct set { static constexpr int mul = 129, channels = 3, lanes = 32, blocks = 2; };
__global__ void clamps(int2 *to, int channel_block)
{
    const int n = %s;
    to[threadIdx.x] = make_int2(n, n == set::channels);
}
"""


def check_clamp():
    """The runtime's own count of a lane's channels has it not; the plain one has: so it would be seen."""
    plain = 'max(0, min(129 - 96 * channel_block - 3 * (int)threadIdx.x, 3))'
    for name, text, there in (('clamp_plain', plain, True), ('clamp_own', 'cgtp_own_channels<set>(channel_block, threadIdx.x)', False)):
        sources.write(f'{FOLDER}/{name}.cu', CLAMPS % text)
        said = run(NVCC, *FLAGS, '-o', f'{FOLDER}/{name}.cubin', f'{FOLDER}/{name}.cu')
        found = WRONG.findall(sass.disassemble(f'{FOLDER}/{name}.cubin')) if not said.returncode else None
        ok(found is not None and bool(found) == there, f'{name}: the wrong instruction is {"found" if there else "not there"}', found, said.stdout)


# ---- kernels ----

def compile_kernel(job):
    """Rows of a kernel's functions by name, or what nvcc says."""
    product, kernel = job
    stem = f'{FOLDER}/{product}_{kernel}'
    said = stored.run([NVCC, *FLAGS, '-o', f'{stem}.cubin', f'{stem}.cu'], f'{stem}.cu', f'{stem}.cubin')
    if said.returncode:
        return said.stdout
    text = sass.disassemble(f'{stem}.cubin') if sass.disassembler() else ''
    if WRONG.search(text):
        return f'has {WRONG.search(text).group()}'
    found, rows = sass.functions(text), {}
    for mangled, report in re.findall(r"Compiling entry function '(\w+)'(.*?Used .*?)$", said.stdout, re.M | re.S):
        name = sass.short_name(mangled)
        if name.startswith('cgtp_'):
            continue
        spilled = sum(map(int, re.findall(r'(\d+) bytes spill', report)))
        hot = found[mangled].hot() if mangled in found else []
        rows[name] = dict(zip(HEAD, (product, kernel, name, re.search(r'Used (\d+) reg', report).group(1), str(spilled),
                                     ' '.join(f'{n}:{arithmetic}' for n, arithmetic in hot))))
    return rows


# What a kernel's comment says of its registers.
PREDICTED = r'/\* %s: blocks of (\d+) threads, (\d+) per multiprocessor.*?Predicted are (\d+) registers'


def check_prediction(job, function, row):
    """A convolution's kernel takes as many registers as are predicted, within NEAR: of the variants of a function that are not for
    teams, which have a block a multiprocessor, where they may take more than they do."""
    NEAR = 36
    name = re.match(r'(\w+_convolution\w*)<[0-9]', function)
    if not name:
        return
    with open(f'{FOLDER}/{job[0]}_{job[1]}.cu') as file:
        text = re.sub(r'\s*\n\s*\*?\s*', ' ', file.read())
    threads, blocks, predicted = map(int, re.search(PREDICTED % name.group(1), text).groups())
    taken, most = int(row['registers']), min(255, 65536 // (threads * blocks) // 8 * 8)
    if taken < most - 2:
        ok(abs(taken - predicted) <= NEAR, f'{" ".join(job)}: {function} takes about {predicted} registers, as predicted', taken)


def check_kernel(job, rows, table):
    name = ' '.join(job)
    if not ok(isinstance(rows, dict) and rows, f'{name} compiles', rows):
        return
    there = {function for product, kernel, function in table if (product, kernel) == job}
    equal(sorted(rows), sorted(there), f'{name} has the functions of the table')
    for function in sorted(rows.keys() & there):
        before = table[(*job, function)]
        ok(not worse(before, rows[function]), f'{name}: {function} is no worse than {before["registers"]} registers, {before["loops"]}',
           *worse(before, rows[function]), f'now: {rows[function]}')
        check_prediction(job, function, rows[function])


def main():
    check_worse()
    check_loops()
    if not shutil.which(NVCC):
        return skip('machine code', 'no nvcc')
    update, (of, table) = os.environ.get('UPDATE'), read_table()
    if of != release() and not update:
        return skip('machine code', f'the table is of nvcc {of}, this is {release()}')
    if not sass.disassembler():
        skip('hot loops', 'no nvdisasm: pip install nvidia-cuda-nvdisasm')
        if update:
            return ok(False, 'the table is written with nvdisasm only')
    os.makedirs(FOLDER, exist_ok=True)
    if sass.disassembler():
        check_clamp()
    some = {product for product, _, _ in table} | set(CHOSEN) if os.environ.get('TEST_ALL') else CHOSEN
    products = [p for p in sources.bench('main') if p.name in some or (update and os.environ.get('TEST_ALL'))]
    for p in products:
        sources.write(f'{FOLDER}/{p.name}.yaml', p.text)
    made = run(GENERATOR, '--backend=cuda', '-Wno-all', '-o', FOLDER, *(f'{FOLDER}/{p.name}.yaml' for p in products))
    equal((made.returncode, made.stdout), (0, ''), f'{len(products)} products are generated')
    jobs = [(p.name, kernel) for p in products for kernel in KERNELS]
    with ThreadPoolExecutor(JOBS) as pool:
        results = list(zip(jobs, pool.map(compile_kernel, jobs)))
    if update:
        table = {key: row for key, row in table.items() if key[:2] not in jobs}
        table.update({(*job, function): row for job, rows in results for function, row in rows.items()})
        write_table(table)
    for job, rows in results:
        check_kernel(job, rows, table)


main()
done()
