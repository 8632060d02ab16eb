#!/usr/bin/env python3
"""make ptxas-table reads what ptxas says of each function, predicts times by the rates that --print=json has, and writes a
row for each kernel and architecture."""
import csv
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
import ptxas_table  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

SAID = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z6gatherv' for 'sm_80'
ptxas info    : Function properties for _Z6gatherv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function '_ZN4code5tiledILi2EEEvi' for 'sm_80'
ptxas info    : Function properties for _ZN4code5tiledILi2EEEvi
    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers
"""
equal(ptxas_table.functions(SAID), [('gather', 40, 0), ('tiled<2>', 255, 36)], 'functions, registers, spills')
equal(ptxas_table.functions('error: no such file'), [], 'nothing where nothing is compiled')
product = {'machine': {'bytes_per_second': 2e12, 'fma_per_second': 1e13}}
kernel = {'bytes_per_item': 4000, 'operations_per_item': {'fma': 100, 'mul': 10, 'add': 0}}
equal(ptxas_table.predicted(product, kernel), 2.0, 'a kernel that memory limits')
kernel['operations_per_item']['fma'] = 49990
equal(ptxas_table.predicted(product, kernel), 5.0, 'a kernel that arithmetic limits')
if shutil.which(ptxas_table.NVCC):
    with tempfile.TemporaryDirectory() as folder:
        out = f'{folder}/table.tsv'

        def run(**given):
            made = subprocess.run([sys.executable, 'tests/ptxas_table.py'], capture_output=True, text=True,
                                  env={**os.environ, 'OUT': out, 'PRODUCTS': '^diffdock_l1_f32_batch$', 'KERNELS': 'forward',
                                       'ARCHES': 'sm_80 sm_90', **given})
            return made.stdout.splitlines()[0]
        equal(run(LIMIT='0'), f'{out}: 0 of 2 kernels, 0 spill', 'none without time')
        equal(run(SHARE='1/2'), f'{out}: 1 of 2 kernels, 0 spill', 'a share: one architecture after the other')
        os.rename(out, f'{folder}/first.tsv')
        equal(run(LIMIT='0', HAVE=f'{folder}/first.tsv'), f'{out}: 1 of 2 kernels, 0 spill', 'what another part has is not compiled')
        equal(run(SHARE='2/2', HAVE=f'{folder}/first.tsv'), f'{out}: 2 of 2 kernels, 0 spill', 'and both parts are all')
        with open(out, newline='') as file:
            ok('predicted, not measured' in file.readline(), 'the table says what its times are')
            rows = list(csv.DictReader(file, delimiter='\t'))
        equal([(row['arch'], row['kernel'], row['machine'], row['spilled']) for row in rows],
              [('sm_80', 'forward', 'A100 SXM', '0'), ('sm_90', 'forward', 'H200 SXM', '0')], 'a row each')
        equal(run(PRODUCTS='^(tetris_poly_2|e3tools_transformer)_f32_shared$', ARCHES='sm_80'), f'{out}: 2 of 2 kernels, 0 spill', 'what once spilled does not')
        equal(run(PRODUCTS='^(flashtp_table5_lmax3_f32_atomic|e3tools_transformer_f32_shared)$', ARCHES='sm_86'),
              f'{out}: 2 of 2 kernels, 0 spill', 'nor where sets leave registers to spare')
        equal(run(PRODUCTS='^sevennet_l3i5_layer2_f32_deterministic$', KERNELS='double_backward', ARCHES='sm_86'),
              f'{out}: 1 of 1 kernels, 0 spill', 'nor where five sets keep no flag in a register')
        ok(all(24 < int(row['registers']) <= 255 and 0 < float(row['predicted_ns_per_item']) < 100 for row in rows), 'with numbers', rows)
else:
    skip('make ptxas-table', 'no nvcc')
done()
