#!/usr/bin/env python3
"""accumulate: compensated holds whatever a compiler is allowed to do with sums, or does not compile.

A node sums 10^5 edges, a batch 10^5 items into a shared row: a large number, and small ones to which it leaves no
bit. The error of the plain sums shows that this is hard enough.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
SPEC = '''cgtp: 1
name: %s
irreps: {x: 4x0e, y: 0e, z: 4x0e}
instructions: [[0, 0, 0, uvu, false]]
index: {%s}
accumulate: %s
kernels: [forward]
'''
INDEX = {'node': 'x: item, z: receiver', 'row': 'x: item, z: shared'}
PROGRAM = '''#include "node_plain.h"
#include "node_compensated.h"
#include "row_plain.h"
#include "row_compensated.h"
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 100000 };

/* The relative error of the sum, in units of 2^-24. */
static void tell(const char *name, cgtp_status status, const float *z, double right)
{
    double error = (z[0] - right) / right;
    printf("%s %d %.1f\\n", name, (int)status, (error < 0 ? -error : error) * 16777216);
}

int main(void)
{
    static _Alignas(16) float x[4 * ITEMS], y[ITEMS], z[4];
    static int32_t ends[ITEMS], by_sender[ITEMS];
    int64_t receiver_row[2], sender_row[2];
    cgtp_graph g = {.items = ITEMS, .senders = 1, .receivers = 1, .sender = ends, .receiver = ends};
    double right = 0;
    if (cgtp_graph_index(&g, receiver_row, by_sender, sender_row))
        return 1;
    size_t bytes = 1 << 20;
    void *workspace = aligned_alloc(64, bytes);
    for (int i = 0; i < ITEMS; i++) {
        for (int u = 0; u < 4; u++)
            x[4 * i + u] = i ? 0.375f : 16777216;
        y[i] = 1;
        right += x[4 * i];
    }
    tell("node_plain", node_plain_forward(&g, x, y, z, workspace, bytes, NULL), z, right);
    tell("node_compensated", node_compensated_forward(&g, x, y, z, workspace, bytes, NULL), z, right);
    tell("row_plain", row_plain_forward(ITEMS, x, y, z, workspace, bytes, NULL), z, right);
    tell("row_compensated", row_compensated_forward(ITEMS, x, y, z, workspace, bytes, NULL), z, right);
    free(workspace);
    return 0;
}
'''
FLAGS = ['-O0', '-O3', '-O3 -ffast-math', '-Ofast', '-O2 -funsafe-math-optimizations',
         '-O3 -ffast-math -fno-associative-math']


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


with tempfile.TemporaryDirectory() as folder:
    specs = []
    for where in INDEX:
        for how in 'plain', 'compensated':
            name = f'{where}_{how}'
            specs.append(f'{folder}/{name}.yaml')
            with open(specs[-1], 'w') as file:
                file.write(SPEC % (name, INDEX[where], how))
    made = run(GENERATOR, '--backend=c', '-o', folder, *specs)
    ok(made.returncode == 0, 'generated', made.stdout)
    with open(f'{folder}/main.c', 'w') as file:
        file.write(PROGRAM)
    shutil.copy('runtime/cgtp.c', folder)
    sources = [f'{folder}/{name}' for name in os.listdir(folder) if name.endswith('.c')]
    for compiler in 'gcc', 'clang':
        for flags in FLAGS:
            name = f'{compiler} {flags}'
            if not shutil.which(compiler):
                skip(name, f'no {compiler}')
                continue
            if compiler == 'clang':  # which starts once
                built = run('tests/compile.sh', compiler, *flags.split(), '-Iruntime', f'-I{folder}', '--', *sources)
                if built.returncode == 0:
                    built = run(compiler, *flags.split(), '-o', f'{folder}/main', *(path[:-1] + 'o' for path in sources), '-lm')
            else:
                built = run(compiler, *flags.split(), '-Iruntime', f'-I{folder}', '-o', f'{folder}/main', *sources, '-lm')
            reassociates = flags.split()[-1] in ('-ffast-math', '-Ofast', '-funsafe-math-optimizations')
            if compiler == 'gcc' and reassociates:
                refused = set(re.findall(r'(\w+)\.c:\d+:\d+: error: #error "accumulate: compensated is lost',
                                         built.stdout))
                equal(refused, {f'{where}_compensated_forward' for where in INDEX}, f'{name}: refused')
                continue
            told = run(f'{folder}/main').stdout if built.returncode == 0 else built.stdout
            errors = {line.split()[0]: line.split()[1:] for line in told.splitlines() if len(line.split()) == 3}
            good = len(errors) == 4 and all(status == '0' for status, _ in errors.values())
            ok(good and all(float(errors[f'{where}_compensated'][1]) <= 2 for where in INDEX) and
               all(float(errors[f'{where}_plain'][1]) > 5 for where in INDEX), f'{name}: holds', told)
done()
