#!/usr/bin/env python3
"""--emit=report: a page of every layer of specs/, both backends, is well-formed, needs nothing but itself, can be read
by eye and by ear, is small, and shows the numbers of --print=json; hostile strings stay text; a log's points are
those of the log.
"""
import csv
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
BYTES_MOST = 1000000
EXAMPLE = 'docs/examples/report/mace_large'
FIELDS_MOST = 200  # that a page lists of one block's shared memory
SPEC = """cgtp: 1
name: %s
irreps: {x: 32x0e + 32x1o, y: 0e + 1o}
instructions: channelwise
"""


def run(*arguments, folder=None):
    return subprocess.run([GENERATOR, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def page_of(text, folder, *options, name='product'):
    """The page of a spec."""
    with open(f'{folder}/{name}.yaml', 'w') as file:
        file.write(text)
    made = run('--emit=report', '-o', 'out', *options, f'{name}.yaml', folder=folder)
    with open(f'{folder}/out/{name}.html', encoding='utf-8') as file:
        return file.read(), made


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def text_of(element):
    return ' '.join(''.join(element.itertext()).split())


def number(text):
    return float(text.replace(',', '').split()[0])


def with_class(root, tag, name):
    return [e for e in root.iter(tag) if name in e.get('class', '').split()]


def as_shown(value):
    """A figure as the page rounds it."""
    return float(f'{value:.4g}') if value < 1000 and value != int(value) else float(f'{value:.0f}')


# ---- what is true of every page ----

def problems_of(root, text):
    """What is wrong with a page as a page."""
    wrong = []
    outside = re.findall(r'https?:|url\(|@import|<(?:script|link|iframe|img|object|embed|base|form)\b|\son\w+=|javascript:',
                         text, re.I)
    wrong += [f'something from outside: {found}' for found in outside]
    ids = [e.get('id') for e in root.iter() if e.get('id')]
    wrong += [f'two elements called {name}' for name in set(ids) if ids.count(name) > 1]
    for e in root.iter():
        wrong += [f'{e.tag} has {key}' for key in e.keys() if key in ('src', 'srcset', 'style', 'data', 'action')]
        if e.get('href') and e.get('href')[1:] not in ids:
            wrong.append(f'a link to {e.get("href")}')
    for svg in root.iter('svg'):
        titled = len(svg) and svg[0].tag == 'title' and svg[0].text
        if svg.get('aria-hidden') != 'true' and not (svg.get('role') == 'img' and titled):
            wrong.append(f'a picture without a title: {svg.attrib}')
    for table in root.iter('table'):
        heads = table.find('thead').findall('tr/th')
        rows = table.findall('tbody/tr')
        if table.find('caption') is None or not all(text_of(head) for head in heads):
            wrong.append('a table without a caption, or a column without a head')
        if not rows or not all(row[0].tag == 'th' and row[0].get('scope') == 'row' for row in rows):
            wrong.append(f'{text_of(table.find("caption"))}: rows without heads')
        wrong += [f'{text_of(table.find("caption"))}: {len(row)} cells of {len(heads)}' for row in rows
                  if len(row) != len(heads)]
    if root.get('lang') != 'en' or not root.find('head/title').text or root.find("head/meta[@name='viewport']") is None:
        wrong.append('no language, title or viewport')
    return wrong


def wrong_structure(root, report):
    wrong, tensors = [], {}
    for figure in with_class(root.find('body/main'), 'div', 'tensors')[:1]:
        for one in figure.findall('figure'):
            l, rest = text_of(one.find('figcaption')).split(' in ')
            paths, nonzeros, dense = map(int, re.match(r'(\d+) paths? ?(\d+) of (\d+),', rest).groups())
            dots = sum(path.get('d').count('M') for path in one.iter('path') if path.get('class') in ('dot', 'neg'))
            panels = with_class(one, 'path', 'bg')[0].get('d').count('M')
            l = tuple(map(int, l.split(', ')))
            if dots != nonzeros or dense != (2 * l[0] + 1) * (2 * l[1] + 1) * (2 * l[2] + 1) or panels != 2 * l[1] + 1:
                wrong.append(f'{l}: {dots} dots, {nonzeros} said, of {dense}')
            tensors[l] = (paths, nonzeros)
    expected = {}
    for path in report['paths']:
        paths, _ = expected.get(tuple(path['l']), (0, 0))
        expected[tuple(path['l'])] = (paths + 1, path['nonzeros'])
    if tensors != expected:
        wrong.append(f'tensors {tensors}, not {expected}')
    if report['paths']:
        said = re.match(r'([\d,]+) of ([\d,]+) entries', text_of(root.find(".//p[@id='nonzeros']")))
        if number(said.group(1)) != sum(path['nonzeros'] for path in report['paths']):
            wrong.append(f'{said.group(0)} nonzeros')
        tiles = [int(g.find("text").text) for g in with_class(root, 'svg', 'blocks')[0].iter('g')]
        if tiles != list(range(len(report['paths']))):
            wrong.append(f'tiles {tiles}')
        rows = [[text_of(cell) for cell in row] for row in with_class(root, 'table', 'paths')[0].iter('tr')][1:]
        found = [(row[5], [int(n) for n in row[6].split(', ')], int(row[7]), row[10]) for row in rows]
        if found != [(p['mode'], p['l'], p['nonzeros'], p['coefficient_exact']) for p in report['paths']]:
            wrong.append('the table of paths')
    return wrong


def leaves(layout):
    """All fields of a layout with those inside of them, in their order."""
    for field in layout['fields']:
        yield field
        if 'of' in field:
            yield from leaves(field['of'])


def wrong_schedules(root, report):
    """Figures of all schedules, as they stand there, against the same of JSON."""
    wrong = []
    known = {'name', 'evaluation', 'paths', 'adds', 'cost', 'flops_per_item', 'outputs', 'routes'}
    for kernel in report['kernels']:
        section = root.find(f".//section[@id='kernel-{kernel['name']}']")
        where = f'{report["name"]} {kernel["name"]}'
        facts = [{text_of(d.find('dt')): text_of(d.find('dd')) for d in found}
                 for found in with_class(section, 'dl', 'facts')]
        tables = with_class(section, 'table', 'records')
        memory = with_class(section, 'svg', 'memory')
        fields = [t for t in section.iter('table') if text_of(t.find('caption')) == 'fields of shared memory']
        rings = with_class(section, 'svg', 'ringtime')
        for s, shown in zip(kernel['schedules'], facts):
            for key, value in s.items():
                name = key.replace('_', ' ')
                if key in known:
                    continue
                if isinstance(value, (bool, str)):
                    good = shown[name] == (value if isinstance(value, str) else 'yes' if value else 'no')
                elif isinstance(value, (int, float)):
                    good = number(shown[name]) == as_shown(value)
                elif isinstance(value, dict):
                    picture = text_of(memory.pop(0))
                    listed = [(text_of(row[0]).split('.')[-1].split(' › ')[-1], number(text_of(row[2])),
                               number(text_of(row[3]))) for row in fields.pop(0).findall('tbody/tr')]
                    good = f'block: {value["bytes"]:,} bytes' in picture and listed == [
                        (f['name'] + ''.join(f'[{n}]' for n in f['count']), f['at'], f['bytes'])
                        for f in leaves(value)][:FIELDS_MOST]
                else:
                    good = not wrong_records(tables.pop(0), value)
                if not good:
                    wrong.append(f'{where}: {key}: {shown.get(name)}, {str(value)[:300]}')
            for of in ('', 'z_', 'x_'):  # of one kernel, or of two
                stages = s.get(f'{of}stages', 0)
                if stages > 1 and not f'{stages} stages' in rings.pop(0)[0].text:
                    wrong.append(f'{where}: {of}stages')
                if s.get(f'{of}shared_bytes_per_block', 0) != s.get(f'{of}shared_memory', {'bytes': 0})['bytes']:
                    wrong.append(f'{where}: the layout of {of}shared_memory')
        if tables or memory or fields or rings or len(facts) != len(kernel['schedules']):
            wrong.append(f'{where}: more is shown than there is')
    return wrong


def wrong_records(table, records):
    heads = [text_of(head) for head in table.findall('thead/tr/th')]
    wrong = []
    for row, record in zip(table.findall('tbody/tr'), records):
        for name, cell in zip(heads[1:], row[1:]):
            value = record[name.replace(' ', '_')]
            if isinstance(value, list):
                owned = with_class(cell, 'svg', 'owned')
                good = not owned or owned[0][2].get('d').count('M') == len(value)
            elif isinstance(value, (bool, str)):
                good = text_of(cell) == (value if isinstance(value, str) else 'yes' if value else 'no')
            else:
                good = number(text_of(cell)) == as_shown(value)
            wrong += [] if good else [f'{name}: {text_of(cell)} for {value}']
    return wrong + ([] if len(table.findall('tbody/tr')) == len(records) else ['rows'])


def wrong_costs(root, report):
    wrong = []
    rows = with_class(root, 'table', 'costs')[0].findall('tbody/tr')
    for row, kernel in zip(rows, report['kernels']):
        cells = [text_of(cell) for cell in row]
        n, per = kernel['operations_per_item'], kernel['bytes_per_row']
        expected = [kernel['flops_per_item'], n['fma'], n['mul'], n['add'], kernel['bytes_per_item'],
                    kernel['bytes_per_item_planned'], per['sender'], per['receiver'], per['shared']]
        if cells[0] != kernel['name'] or [number(cell) for cell in cells[1:10]] != [as_shown(e) for e in expected]:
            wrong.append(f'{cells} for {expected}')
        if 2 * n['fma'] + n['mul'] + n['add'] != kernel['flops_per_item']:
            wrong.append(f'{n} for {kernel["flops_per_item"]} flops')
    points = len(with_class(root, 'circle', 'predicted'))
    expected = sum(k['flops_per_item'] > 0 and k['bytes_per_item'] > 0 for k in report['kernels'])
    if len(rows) != len(report['kernels']) or points != (expected if report['arch'] != 'c' else 0):
        wrong.append(f'{len(rows)} rows, {points} predictions')
    return wrong


def check_layers(backend):
    specs = sorted(glob.glob('specs/*.yaml') + glob.glob('tests/simt/specs/batch_*.yaml'))
    with tempfile.TemporaryDirectory() as folder:
        made = run(f'--backend={backend}', '--emit=report', '--print=json', '-o', folder, *specs)
        reports = json.loads(made.stdout)
        equal(sorted(os.listdir(folder)), sorted(f'{report["name"]}.html' for report in reports),
              f'{backend}: a page for each of {len(specs)} specs')
        wrong, largest = [], 0
        for report in reports:
            text = read(f'{folder}/{report["name"]}.html')
            root = ElementTree.fromstring(text)
            largest = max(largest, len(text.encode()))
            for found in (problems_of(root, text), wrong_structure(root, report), wrong_schedules(root, report),
                          wrong_costs(root, report)):
                wrong += [f'{report["name"]}: {one}' for one in found]
        ok(not wrong, f'{backend}: well-formed, by themselves, accessible; numbers are those of --print=json', *wrong[:20])
        ok(10000 < largest <= BYTES_MOST, f'{backend}: the largest has {largest} bytes')
        again = run(f'--backend={backend}', '--check', '--emit=report', '-o', folder, *specs)
        equal((again.returncode, again.stdout), (0, ''), f'{backend}: the same again')


# ---- colours ----

def luminance(color):
    if len(color) == 4:
        color = '#' + ''.join(2 * c for c in color[1:])
    channels = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def check_colors(text):
    """Text against what is behind it as the guidelines ask: 4.5; marks 3."""
    schemes = re.findall(r':root\{([^}]*)\}', text)
    equal(len(schemes), 2, 'two schemes of colours')
    for scheme, name in zip(schemes, ('light', 'dark')):
        color = dict(re.findall(r'--(\w+):(#[0-9a-f]+)', scheme))
        low = [(a, b) for a in ('ink', 'soft', 'mark') for b in ('bg', 'panel', 'faint')
               if contrast(color[a], color[b]) < 4.5]
        low += [('on', 'mark')] if contrast(color['on'], color['mark']) < 4.5 else []
        low += [(f'c{i}', b) for i in range(8) for b in ('bg', 'panel', 'faint') if contrast(color[f'c{i}'], color[b]) < 3]
        ok(not low, f'{name}: contrast', *low)
    ok('@media print' in text and '@media (max-width' in text, 'style for print and for narrow screens')


# ---- odd specs ----

def check_odd(folder):
    hostile = '<script>alert(1)</script> & "q" \'s\' ]]> --> <!-- <b>é😀</b> &amp; %s'
    text, made = page_of(SPEC % 'product' + f'description: {json.dumps(hostile, ensure_ascii=False)}\n', folder)
    root = ElementTree.fromstring(text)
    equal(root.find('body/main/header/p').text, hostile, 'a hostile description is what it is, as text')
    equal(problems_of(root, text), [], 'and nothing else changes')
    for name, spec in {
            'no_paths': 'cgtp: 1\nname: no_paths\nirreps: {x: 4x0e, y: 0e, z: 4x0e}\ninstructions: []\n',
            'no_irreps': 'cgtp: 1\nname: no_irreps\nirreps: {x: "", y: "", z: ""}\ninstructions: []\n',
            'no_weights': 'cgtp: 1\nname: no_weights\nirreps: {x: 4x1o, y: 4x1o, z: 4x2e}\n'
                          'instructions: [[0, 0, 0, uuu, false]]\n',
            'far_l': 'cgtp: 1\nname: far_l\nirreps: {x: 11e, y: 11e, z: 11e}\ninstructions: [[0, 0, 0, uuu]]\n',
            'double': SPEC % 'double' + 'precision: float64\nkernels: [forward]\n'}.items():
        for backend in 'cuda', 'c':
            text, made = page_of(spec, folder, f'--backend={backend}', name=name)
            root = ElementTree.fromstring(text)
            report = json.loads(run(f'--backend={backend}', '--print=json', f'{name}.yaml', folder=folder).stdout)
            wrong = problems_of(root, text) + wrong_structure(root, report) + wrong_schedules(root, report) + \
                wrong_costs(root, report)
            ok(not wrong and made.returncode == 0, f'{name}, {backend}', *wrong, made.stderr)
    many = 'cgtp: 1\nname: many\nirreps: {x: %s, y: 5x1e, z: 5x1e}\nkernels: [forward]\ninstructions: [%s]\n' % (
        ' + '.join(600 * ['5x1e']), ', '.join(f'[{i}, 0, 0, uuu]' for i in range(600)))
    text, made = page_of(many, folder, '--backend=c', name='many')
    ok(len(text) < BYTES_MOST and problems_of(ElementTree.fromstring(text), text) == [] and
       'grid of blocks is left out' in text and '200 paths left out' in text, 'what is left out of a large page is said')


# ---- what ran ----

def rows_of(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(file, delimiter='\t'))


def write_rows(path, rows):
    with open(path, 'w', newline='') as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter='\t', lineterminator='\n', quoting=csv.QUOTE_NONE,
                                quotechar=None)
        writer.writeheader()
        writer.writerows(rows)


def write_large(path):
    with open(path, 'w') as file:
        file.write('#' * (1 << 20) + '\n')
    return path


def check_measured(folder):
    spec, log = os.path.abspath('specs/mace_large.yaml'), f'{folder}/log.tsv'
    rows = rows_of(f'{EXAMPLE}.tsv')
    others = [{**rows[0], **changed} for changed in (
        {'dtype': 'fp64'}, {'reduction': 'atomic'}, {'reduction': '-'}, {'kernel': 'jvp'}, {'x': '1x0e'}, {'w': '1'},
        {'evaluation': 'general'})]
    write_rows(log, others + [{**rows[0], 'graph': '<g onload="x">&\x1b'}, *rows[1:4]])
    made = run('--emit=report', f'--measured={log}', '-o', folder, '-MD', spec)
    text = read(f'{folder}/mace_large.html')
    root = ElementTree.fromstring(text)
    table = with_class(root, 'table', 'measured')[0].findall('tbody/tr')
    equal((len(with_class(root, 'circle', 'measured')), len(table)), (4, 4), 'a point and a row for each row that fits')
    equal(text_of(table[0][1]), '<g onload="x">&<U+001B>', 'a hostile place is text')
    equal([found for found in problems_of(root, text) if 'onload' not in found], [], 'a page with points is a page')
    report = json.loads(run('--print=json', spec).stdout)
    forward = report['kernels'][0]
    items, seconds = float(rows[0]['items']), float(rows[0]['ms']) / 1000
    nodes = float(rows[0]['senders']) * forward['bytes_per_row']['sender'] + \
        float(rows[0]['receivers']) * forward['bytes_per_row']['receiver']
    rate = forward['flops_per_item'] * items / seconds / 1e12
    moved = (forward['bytes_per_item'] * items + nodes) / seconds / 1e12
    cells = [text_of(cell) for cell in table[0]]
    roof = min(2 * 128 * 132 * 1980e6, 4.8e12 * rate / moved) / 1e12  # of the H200 in the device table
    equal(cells[2:], [f'{items:,.0f}', f'{seconds * 1000:.4g}', f'{rate:.3g} TFLOP/s', f'{moved:.3g} TB/s',
                      f'{100 * rate / roof:.0f} %'], 'rates of a row')
    places = {(c.get('cx'), c.get('cy')) for c in with_class(root, 'circle', 'measured')}
    equal(len(places), 4, 'points stand apart')
    equal(read(f'{folder}/mace_large.spec.d'), f'{folder}/mace_large.html: ' + spec.replace(' ', '\\ ') + f' {log}\n',
          '-MD: the page depends on the log too')
    write_rows(log, rows[:1])
    check = run('--emit=report', f'--measured={log}', '-o', folder, '--check', spec)
    equal(check.returncode, 3, '--check: the page is old where the log has changed')
    # crossing the log itself
    os.symlink(log, f'{folder}/sub.html')
    clash = run('--emit=report', f'--measured={log}', '-o', folder, '--name=sub', spec)
    ok(clash.returncode == 2 and 'it is the log that is read' in clash.stderr, 'the log is not written over', clash.stderr)
    missing = run('--emit=report', f'--measured={folder}/none.tsv', '-o', folder, spec)
    ok(missing.returncode == 4 and 'none.tsv: No such file' in missing.stderr, 'no log', missing.stderr)
    for column, values in (('ms', ('', '.5', '1.', '1.2.3', '1x', '0', '1' * 19)), ('senders', ('-1', '1 2'))):
        for value in values:
            write_rows(log, [{**rows[0], column: value}])
            refused = run('--emit=report', f'--measured={log}', '-o', folder, spec)
            ok(refused.returncode == 1 and f"{column} is no {'positive ' if column == 'ms' else ''}number" in refused.stderr,
               f'{column}: {value!r} is no number', refused.stderr)
    mixed = os.path.abspath('tests/simt/specs/conv_mixed.yaml')
    write_rows(log, rows[:1])
    ok(run('--emit=report', f'--measured={log}', '-o', folder, mixed).returncode == 1, 'a log of another product')
    write_rows(log, rows[:1])
    for path, status, message in (folder, 4, 'Is a directory'), ('/dev/null', 4, 'Operation not supported'), \
            (write_large(f'{folder}/large.tsv'), 1, 'the file is larger than 1 MiB'):
        refused = run('--emit=report', f'--measured={path}', '-o', folder, spec)
        ok(refused.returncode == status and message in refused.stderr, f'no log: {message}', refused.stderr)
    on_host = run('--backend=c', '--emit=report', f'--measured={log}', '-o', folder, spec)
    ok(on_host.returncode == 1 and '[log-other]' in on_host.stderr, 'a log of the other backend', on_host.stderr)
    write_rows(log, [{**row, 'evaluation': 'loops'} for row in rows])
    run('--backend=c', '--emit=report', f'--measured={log}', '-o', folder, spec)
    root = ElementTree.fromstring(read(f'{folder}/mace_large.html'))
    equal((len(with_class(root, 'circle', 'measured')), len(with_class(root, 'circle', 'predicted'))), (len(rows), 0),
          'the host: points without a roof')


def check_artefact(folder):
    """It is one of the product's files."""
    text, made = page_of(SPEC % 'product', folder)
    run('-o', 'out', 'product.yaml', folder=folder)
    pruned = run('-o', 'out', '--prune', 'product.yaml', folder=folder)
    ok(pruned.returncode == 0 and os.path.exists(f'{folder}/out/product.html'), '--prune leaves it', pruned.stderr)
    both = run('-o', '-', '--emit=report,source', 'product.yaml', folder=folder).stdout
    ok(both.count('==> product.html <==') == 1 and both.split('==> product.html <==\n')[1].startswith(text),
       'the same beside other files')
    equal(run('--list', '--emit=report', 'product.yaml', folder=folder).stdout, 'product.html\n', '--list')
    check_colors(text)
    ok(text.startswith('<!-- product: report.\n     Generated by cgtpgen '), 'what it is stands in its first lines', text[:200])


for name in 'cuda', 'c':
    check_layers(name)
for check in check_odd, check_measured, check_artefact:
    with tempfile.TemporaryDirectory() as temporary:
        check(temporary)
done()
