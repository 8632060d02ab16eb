#!/usr/bin/env python3
"""docs/papers.md: its tables are what tests/papers/page.py makes of the measured rows, the numbers in these are right, and all layers
that are timed generate. What needs a GPU is not run here; how a row is measured is, on a table that is made up.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from xml.etree import ElementTree

sys.dont_write_bytecode = True
sys.path[:0] = ['tests', 'tests/papers']
import bench  # noqa: E402
import page  # noqa: E402
import rows  # noqa: E402
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
os.environ['CGTPGEN'] = GENERATOR
MEASURED = sorted(glob.glob('tests/papers/*.tsv'))
HEAD = 'table layer place items contender kernel ms least wall|ms GB own difference bytes flops why'
LINES = [  # a layer: ours, who takes twice as long, who is level in one kernel and does not fit in another
    'batch a rows 10 cgtpgen forward 1.0 1.0 2.0 1.50 1.00 - 8e9 1e9 -',
    'batch a rows 10 cgtpgen backward 2.0 2.0 3.0 2.50 1.00 - 8e9 1e9 -',
    'batch a rows 10 OpenEquivariance forward 2.0 2.0 3.0 1.75 1.00 - 8e9 1e9 -',
    'batch a rows 10 OpenEquivariance backward 2.0 2.0 12.0 1.25 1.00 - 8e9 1e9 -',
    'batch a rows 10 e3nn forward 10.0 9.0 10.0 9.00 - - 8e9 1e9 -',
    'batch a rows 10 e3nn backward - - - - - - - - out|of|memory',
    'roofline r rows 10 cgtpgen forward 4.0 4.0 4.0 1.00 1.00 - 8e9 1.2e11 -',
    'roofline r rows 10 cuEquivariance forward 8.0 8.0 8.0 1.00 1.00 - 8e9 1.2e11 -',
]


def made_up(folder):
    path = f'{folder}/papers.tsv'
    with open(path, 'w') as file:
        print('# NVIDIA H200, torch 2, copy 4.000 TB/s', file=file)
        print(*(line.replace(' ', '\t').replace('|', ' ') for line in [HEAD, *LINES]), sep='\n', file=file)
    return page.Table(path)


def check_tables():
    with tempfile.TemporaryDirectory() as folder:
        table = made_up(folder)
        equal(list(page.times_table(table, 'batch'))[2:],
              ['| a | 1.000, 2.000 | 2.00, **1.00** | 9.00, memory | 2.50 (1.25) |'], 'times, how many times as long, memory')
        equal(list(page.behind([table]))[2:], ['| batch/a | OpenEquivariance | 2.00, **1.00** |'],
              'what is level is listed')
        equal(list(page.roofline_table(table))[2:], ['| r | 15.0 | 47; 50 | 24; 25 |'], 'shares of the roof')
        equal([line for line in page.overheads(table)][2], '| OpenEquivariance | 2 | 1.41 | 1.00 | 2.0 | 2.45 | 1.50 |',
              'geometric means of device and wall clock')
        drawn = ElementTree.fromstring('\n'.join(page.draw(table)))
        equal(len(drawn.findall('.//{*}circle[@r="4"]')), 3 + 2, 'a mark for each kernel, and one of each library')
        drawn = ElementTree.fromstring('\n'.join(page.draw_contenders(table)))
        equal(len(drawn.findall('.//{*}circle')), 5 + 3, 'a mark for each library of a layer, and one of each library')


def check_second_run():
    """Of a second run ratios are its own; who is near stands as the run has it in which it is nearer."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = made_up(folder), f'{folder}/papers_more.tsv'
        with open(f'{folder}/papers.tsv') as file, open(second, 'w') as more:
            more.write(file.read().replace('2.0\t2.0\t12.0', '1.6\t1.6\t12.0').replace('forward\t2.0\t2.0', 'forward\t2.2\t2.2'))
            print('ablation\ta\trows\t10\tcgtpgen, unfused\tforward' + '\t3.0' * 5 + '\t-' * 4, file=more)
            print('table5\ta\trows\t10\tcgtpgen atomic\tforward' + '\t1.5' * 5 + '\t-' * 4, file=more)
        third = f'{folder}/papers_third.tsv'
        with open(second) as file, open(third, 'w') as more:
            more.write(file.read() + '\t'.join(['batch', 'b', 'rows', '10', 'cgtpgen', 'forward', *['1.0'] * 5, *'----']) + '\n')
        shown = dict(re.findall(r'<!-- (.*?) -->\n(.*?)\n\n', ''.join(line + '\n' for line in page.tables_of([third])), re.S))
        equal((sorted(shown), '| b |' in shown.get('batch H200 third', '')),
              (['ablation H200 third', 'batch H200 third', 'behind', 'overheads H200 third', 'roofline H200 third'], False),
              'of what a third run adds, layers and tables of ours alone are left out')
        second = page.Table(second)
        equal([(table.name, page.ratio(table, 'ms', 'batch', 'a', 'OpenEquivariance', 'forward')) for table in (first, second)],
              [('H200', 2.0), ('H200 more', 2.2)], 'a second run has ratios of its own')
        equal(list(page.behind([first, second]))[2:], ['| batch/a | OpenEquivariance | 2.00, **0.80** |'], 'and the nearer of both is listed')
        equal(page.ratio(second, 'ms', 'ablation', 'a', 'cgtpgen, unfused', 'forward'), 2.0, 'an ablation is of what its own run has in table 5')


def check_kernels():
    """What is deterministic is compared with what is, the rest with the faster one."""
    found = page.Kernels('H200', ['atomic', '-', 'deterministic'])
    for who, ms in ('atomic', 1), ('deterministic', 2), ('oeq_det', 3), ('cueq', 4):
        found.add(('convolutions', 'a'), who, 'backward', ms)
    equal(sorted(found.compared()), [(1.5, 'a, convolutions', 'backward', 'oeq_det', 2.0), (4.0, 'a, convolutions', 'backward', 'cueq', 1.0)],
          'kernels alone: times over ours')
    equal(list(found.table('convolutions'))[2:], ['| a | 1.000 | 1.50 | 4.00 |'], 'and their table')


def check_models():
    """Of whole models: what did not fit, what is recorded, sizes, and parts of a step."""
    with tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/models.tsv'
        with open(path, 'w') as file:
            print('# NVIDIA H200, torch 2', *(line.replace(' ', '\t').replace('|', ' ') for line in [
                'model contender step ms kernels|ms GB products|ms edges|ms nodes|ms',
                'a cgtpgen force|step 10.00 5.00 1.00 1.50 2.00 0.50', 'a e3nn force|step 30.00 25.00 9.00 - 20.00 1.00',
                'a cgtpgen,|graphs force|step 6.00 5.00 0.10 1.50 - -', 'a FlashTP force|step out|of|memory - - - - -',
                'b,|8|atoms cgtpgen force|step 1.00 0.50 1.00 0.10 0.20 0.10', 'b,|8|atoms e3nn force|step out|of|memory - - - - -']),
                sep='\n', file=file)
        equal(list(page.models_table(path)), ['| H200 | ms (kernels), GB | recorded | FlashTP | e3nn |', '|---|---|---|---|---|',
                                              '| a, force step | 10.00 (5.00), 1.00 | 0.60 | memory | 3.00 (5.00), 9.00 |'], 'models')
        equal(list(page.models_table(path, sizes=True))[2:], ['| b, 8 atoms, force step | 1.00 (0.50), 1.00 | memory |'], 'and their sizes')
        equal(list(page.parts_table(path))[2:], ['| a, force step | cgtpgen | 5.0 | 1.5 | 2.0 | 0.5 | 1.0 |'], 'and what steps consist of')


def check_layers():
    found = rows.rows()
    products = {}
    for row in found:
        for contender in row.contenders:
            if contender in rows.VARIANTS:
                name, text = row.spec(contender)
                equal(products.setdefault(name, text), text, f'{row.label}, {contender}: one text for one name')
    with tempfile.TemporaryDirectory() as folder:
        for name, text in products.items():
            with open(f'{folder}/{name}.yaml', 'w') as file:
                file.write(text)
        made = subprocess.run([GENERATOR, '-Wno-all', '--print=json', *sorted(glob.glob(f'{folder}/*.yaml'))], capture_output=True, text=True)
        ok(made.returncode == 0, f'all {len(products)} products generate', made.stderr)
        general = [product['name'] for product in json.loads(made.stdout) for kernel in product['kernels']
                   for schedule in kernel['schedules'] if schedule['evaluation'] == 'general']
        equal(general, [], 'none is left to the general evaluation')
    equal({row.table for row in found}, set(rows.TABLES), 'each table has rows')
    equal([row.name for row in rows.rows(['table5/flashtp_table5_lmax3_c6'])], ['flashtp_table5_lmax3_c64'], 'a layer by its name')
    [l4] = rows.rows(['sevennet/sevennet_l4i5_layer2'])
    [l3] = rows.rows(['sevennet/sevennet_l3i5_layer2'])
    with open('specs/sevennet_l3i5_layer2.yaml') as file:
        published = subprocess.run([GENERATOR, '--print=json', '-'], stdin=file, stdout=subprocess.PIPE, text=True)
    equal(l3.product()['irreps'], json.loads(published.stdout)['irreps'], "layers of SevenNet are the published ones'")
    equal((len(l4.product()['paths']), l4.product()['dim']['w']), (65, 2944), 'and l4i5 has what follows')


FAKE = """
import json, os, sys
sys.path.insert(0, 'tests/papers')
import rows
def obey(said):
    while True:
        print(json.dumps(said), flush=True)
        told = json.loads(sys.stdin.readline() or 'null')
        if told is None:
            sys.exit()
        if 'measure' not in told:
            return
        row, contender = mine[told['measure']]
        for kernel in kernels:
            print(json.dumps({'table': row.table, 'layer': row.name, 'contender': contender, 'kernel': kernel, 'ms': len(kernels), 'items': 10}))
        said = {'done': told['measure']}
mine = rows.shares(sys.argv[4:], sys.argv[1], int(sys.argv[3]))[int(sys.argv[2])]
for n, (row, contender) in enumerate(mine):
    if contender == 'cuEquivariance' and row.name == 'roofline_2':
        sys.exit(3)
    if not rows.built(os.path.dirname(__file__), row, contender):
        obey({'lacks': n})
    kernels = ['forward']
    if contender == 'e3nn compiled' and row.name.startswith('mace'):
        obey({'ready': n, 'more': True})
        kernels.append('backward')
        if row.name == 'mace_medium':
            os.kill(os.getpid(), 9)
    obey({'failed' if contender == 'OpenEquivariance' else 'ready': n})
while True:
    obey({'idle': 0})
"""


def pretend(folder):
    """All is built, and processes only say that they are ready."""
    bench.PAPERS, bench.MEASURE = folder, f'{folder}/fake.py'
    with open(bench.MEASURE, 'w') as file:
        file.write(FAKE)
    for name in 'ours.built', 'flashtp.built':
        open(f'{folder}/{name}', 'w').close()


def wait_for(run):
    """Until its threads say no more, too, which would say it in between lines of the test."""
    run.wait()
    for worker in run.workers:
        if worker.is_alive():
            worker.join()


def check_run():
    """Who is to be measured, with processes that only say that they are."""
    words = ['allegro/allegro_lmax1=0', 'roofline/roofline_1', 'roofline/roofline_2']
    with tempfile.TemporaryDirectory() as folder:
        pretend(folder)
        run = bench.Run(folder, words)
        while not all(worker.idle for worker in run.workers):
            time.sleep(0.01)
        equal(run.lines, [], 'nobody measures before the machine is known')
        run.open('# a machine')
        wait_for(run)
        found = [(line['layer'], line['contender'], line.get('why', 'measured')) for line in run.lines]
        equal([line[:2] for line in found if line[2] == 'measured'],
              [('roofline_1', 'cgtpgen'), ('roofline_1', 'cuEquivariance'), ('roofline_2', 'cgtpgen'), ('allegro_lmax1', 'cgtpgen'),
               ('allegro_lmax1', 'cuEquivariance'), ('allegro_lmax1', 'e3nn'), ('allegro_lmax1', 'e3nn compiled')],
              'in the order of tables, but one that has had its time comes last')
        equal(('roofline_2', 'cuEquivariance', 'its process ended, see workers.log') in found, True, 'a process that ends is told')
        with open(f'{folder}/papers.tsv') as file:
            lines = file.read().splitlines()
        equal((lines[0], len(lines)), ('# a machine', 2 + 10), 'and all are in the table')
        run = bench.Run(folder, words)
        run.until = 0
        wait_for(run)
        whys = {line['why'].partition(' to ')[0] for line in run.lines}
        equal((len(run.lines), whys <= {'no time left', 'its process ended, see workers.log'}), (10, True), 'without time all have the reason')


def check_quick():
    """With ORDER=quick those begin that have few paths, whatever comes first in the table."""
    words = ['batch/oeq_nequip_revmd17_benzene', 'batch/oeq_nequip_water']
    with tempfile.TemporaryDirectory() as folder:
        pretend(folder)
        os.environ['ORDER'] = 'quick'
        run = bench.Run(folder, words)
        del os.environ['ORDER']
        while not all(worker.idle for worker in run.workers):
            time.sleep(0.01)
        begun = [worker.mine[0][0].name for worker in sorted(run.workers, key=lambda worker: worker.begun)
                 if worker.of == 'cuEquivariance']
        equal(begun, ['oeq_nequip_water', 'oeq_nequip_revmd17_benzene'], 'fewer paths are made ready first')
        run.open('# a machine')
        wait_for(run)
        equal([(line['layer'].split('_')[-1], line['contender']) for line in run.lines if 'ms' in line and 'gen' not in line['contender']],
              [('benzene', 'e3nn'), ('water', 'e3nn'), ('water', 'cuEquivariance'), ('water', 'e3nn compiled'),
               ('benzene', 'cuEquivariance'), ('benzene', 'e3nn compiled')], 'and are measured first')
        with open(f'{folder}/papers.tsv') as file:
            layers = [line.split('\t')[1] for line in file.read().splitlines()[2:]]
        equal(layers, sorted(layers, key=lambda name: 'water' in name), 'the table is in its own order')


def check_steps():
    """What compiles long is measured with the kernels that are ready, and again with more."""
    with tempfile.TemporaryDirectory() as folder:
        pretend(folder)
        run = bench.Run(folder, ['batch/mace_medium', 'batch/mace_large'])
        run.open('# a machine')
        wait_for(run)
        found = sorted((line['layer'], line['kernel'], line['ms']) for line in run.lines if line['contender'] == 'e3nn compiled')
        equal(found, [('mace_large', 'backward', 2), ('mace_large', 'forward', 2), ('mace_medium', 'forward', 1)],
              'lines of a kernel that is measured twice are the later ones, and one that ends has those it had')


def check_known():
    """What earlier runs have beside ours is not measured again; ours is, beside what they lack."""
    with tempfile.TemporaryDirectory() as folder:
        line = '\t-' * (len(HEAD.split()) - 7) + '\n'
        with open(f'{folder}/papers.tsv', 'w') as file:
            print('# NVIDIA H200', '\t'.join(HEAD.split()), sep='\n', file=file)
            for pair in 'roofline roofline_1 cgtpgen', 'roofline roofline_1 cuEquivariance', 'roofline roofline_2 cuEquivariance', \
                    'ablation flashtp_table5_lmax2_c32 cgtpgen,|unfused', 'table5 flashtp_table5_lmax2_c32 cgtpgen|atomic':
                table, layer, contender = pair.split()
                file.write('\t'.join([table, layer, 'rows', '10', contender.replace('|', ' '), 'forward', '1.0']) + line)
        with open(f'{folder}/stability.tsv', 'w') as file:
            print('# NVIDIA H200', 'layer\tcontender\toutput\trmse\trms', sep='\n', file=file)
            for contender in rows.rows(['stability/flashtp_table5_lmax1'])[0].contenders[:-1]:
                print(f'flashtp_table5_lmax1_c32\t{contender}\tz\t1\t1', file=file)
            print('flashtp_table5_lmax2_c32\tcgtpgen atomic\tz\t1\t1', file=file)
        rows.KNOWN = [f'{folder}/papers.tsv', f'{folder}/stability.tsv']
        words = ['roofline/roofline_1', 'roofline/roofline_2', 'ablation/flashtp_table5_lmax2', 'stability/flashtp_table5_lmax1',
                 'stability/flashtp_table5_lmax2', 'roofline']
        found = {}
        for row, contender in rows.tasks(words):
            found.setdefault(row.label, []).append(contender)
        rows.KNOWN = []
        equal(found['roofline/roofline_1'], ['cgtpgen', 'OpenEquivariance'], 'ours stands beside what is lacking')
        equal(found['roofline/roofline_2'], ['cgtpgen', 'OpenEquivariance', 'cuEquivariance'], 'what was measured without ours is lacking')
        equal(found['ablation/flashtp_table5_lmax2_c32'], ['cgtpgen atomic', 'cgtpgen, a path at a time', 'cgtpgen, paths by tables'],
              'an ablation is known beside table 5')
        equal(('stability/flashtp_table5_lmax1_c32' in found, len(found['stability/flashtp_table5_lmax2_c32'])), (False, 6),
              'of the differences all or nothing, as they are of one run')
        equal(rows.processes(words, 'OpenEquivariance'), 10, 'a process for each row of what compiles long')


def check_building():
    """What is built is measured while the rest is building."""
    with tempfile.TemporaryDirectory() as folder:
        bench.PAPERS, bench.MEASURE = folder, f'{folder}/fake.py'
        with open(bench.MEASURE, 'w') as file:
            file.write(FAKE)
        os.mkdir(f'{folder}/built')
        open(f'{folder}/built/roofline_1_cgtpgen_batch', 'w').close()
        run = bench.Run(folder, ['roofline/roofline_1', 'roofline/roofline_2'])
        run.until = time.time() + 30
        run.open('# a machine')
        ours = next(worker for worker in run.workers if worker.of == 'cgtpgen')
        waits = threading.Thread(target=wait_for, args=[run])
        waits.start()

        def measured():
            return [line['layer'] for line in run.lines if line['contender'] == 'cgtpgen' and 'ms' in line]
        while waits.is_alive() and (ours.lacks is None or not measured()):
            time.sleep(0.01)
        equal((measured(), ours.lacks), (['roofline_1'], 1), 'what is built is measured, the rest is waited for')
        open(f'{folder}/built/roofline_2_cgtpgen_batch', 'w').close()
        waits.join()
        equal(measured(), ['roofline_1', 'roofline_2'], 'and measured once it is built')


def check_sparsity():
    said = subprocess.run([sys.executable, 'tests/papers/sparsity.py'], stdout=subprocess.PIPE, text=True).stdout.splitlines()
    equal([said[1], said[6]], ['flashtp_table5_lmax1\t10\t110\t32\t70.9', 'mace_large\t17\t1077\t215\t80.0'], 'how sparse tensors are')
    with open('docs/papers.md') as file:
        shown = [line.split(' | ')[1:] for line in file.read().replace(',', '').replace(' |\n', '\n').split('zeros % |')[-1].splitlines()[2:]]
    made = [line.split('\t')[1:] for line in said[1:]]
    shown = [line for line in shown if line in made]
    equal(shown, made, 'as the page has it')


def check_page():
    measured = dict(re.findall(r'<!-- (.*?) -->\n(.*?)\n\n', ''.join(line + '\n' for line in page.tables_of(MEASURED)), re.S))
    pages = {}
    for path in 'docs/papers.md', 'docs/papers_h100.md', 'docs/papers_h200.md', 'docs/papers_h200_rest.md', 'docs/papers_models.md', \
            'docs/papers_gpus.md':
        with open(path) as file:
            text = file.read()
        pages[path] = dict(re.findall(r'<!-- (.*?) -->\n(.*?)\n\n', text + '\n', re.S))
        for name, table in pages[path].items():
            equal(table, measured.get(name), f'{path}, {name}: as it was measured')
        ok(len(text.splitlines()) <= 300, f'{path}: at most 300 lines')
    shown = pages['docs/papers.md']
    equal(sorted(measured.keys() - {name for tables in pages.values() for name in tables}), [], 'all that was measured is on a page')
    equal(next(iter(shown)), 'behind', 'what is behind or level stands first')
    with open('docs/papers_h100.svg') as file:
        ok(file.read() == '\n'.join(page.draw_contenders(page.Table('tests/papers/papers_h100.tsv'))) + '\n',
           'who takes how much longer is drawn of them')
    with open('docs/papers_models.svg') as file:
        ok(file.read() == '\n'.join(page.draw_parts(page.Models('tests/papers/models_h200_flashtp.tsv'))) + '\n',
           'what steps consist of is drawn of them')
    kernels = [page.read_kernels(path) for path in MEASURED if 'kernels' in path]
    with open('docs/papers.svg') as file:
        ok(file.read() == '\n'.join(page.draw_kernels(kernels)) + '\n', 'the picture is drawn of them')
    tables = kernels + [page.Table(path) for path in MEASURED if '/papers_' in path]
    worst = min(value for table in tables for value, *_ in table.compared())
    ok(f'{worst:.2f}' in shown['behind'], 'the nearest of all is listed', worst)


for check in check_tables, check_second_run, check_kernels, check_models, check_layers, check_run, check_quick, check_steps, check_known, \
        check_building, check_sparsity, check_page:
    check()
done()
