#!/usr/bin/env python3
"""The pages of docs/diagnostics.md explain every kind of message that the sources have, and no other: the wrong spec of each
gives a message of that kind and of no other, the right one none at all. tests/bad has every kind too."""
import glob
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from examples import blocks, complete, generate  # noqa: E402
from tap import done, equal, ok  # noqa: E402


def read(path):
    with open(path) as file:
        return file.read()


def kinds(text):
    """Of the messages in a text."""
    return re.findall(r'^\S+ (?:error|warning): .* \[(?:-W(?:error=)?)?([a-z-]+)\]$', text, re.M)


def check_added(name, specs, text):
    """Of kinds about files that are there: the specs give it where the text was added to each, and nothing before."""
    run, files = generate(*specs, added=text)
    ok(run.returncode == 0 and set(kinds(run.stderr)) == {name} and files, f'{name}: is told where the text was added', run.stderr)
    ok(run.stderr.count(f' [-W{name}]\n') == len(files), f'{name}: of each file', run.stderr)
    run, files = generate(*specs, options=[f'-Wno-{name}', '-Werror'], added=text)
    ok(run.returncode == 0 and not run.stderr, f'-Wno-{name}', run.stderr)
    run, files = generate(*specs, options=['-Werror'], added=text)
    ok(run.returncode == 1 and set(kinds(run.stderr)) == {name} and all(text in file for file in files.values()),
       f'{name}: the files stay as they are where warnings are errors', run.stderr)
    run, files = generate(*specs)
    ok(run.returncode == 0 and not run.stderr and files, f'{name}: nothing is told without it', run.stderr)


of_files = set()
table = re.findall(r'\[DIAG_(\w+)\] = \{"([a-z-]+)", SEVERITY_(\w+)\}', read('cgtpgen/util/diag_id.c'))
names = [name for _, name, _ in table]
ok(len(names) > 40, f'{len(names)} kinds in the table')
equal([name for constant, name, _ in table if constant.lower().replace('_', '-') != name], [],
      'constants are called like their kinds')
sources = ''.join(read(path) for path in glob.glob('cgtpgen/**/*.c', recursive=True) if not path.endswith('diag_id.c'))
equal([name for constant, name, _ in table if f'DIAG_{constant}' not in sources], [], 'every kind is reported somewhere')
pages = re.findall(r'^\| \[.*?\]\((diagnostics_\w+\.md)\) \| (.*) \|$', read('docs/diagnostics.md'), re.M)
equal([f'[{name}]({page}#{name})' for page, _ in pages for name in re.findall(r'^## (.*)$', read(f'docs/{page}'), re.M)],
      ', '.join(kinds for _, kinds in pages).split(', '), 'docs/diagnostics.md names the kinds of the other pages')
sections = re.split(r'^## ([a-z-]+)$', read('docs/diagnostics.md') + ''.join(read(f'docs/{page}') for page, _ in pages), flags=re.M)
equal(sections[1::2], names, 'pages of messages have the kinds, in the order of the table')
shown = [text for mark, text, _ in blocks(sections[0]) if mark == 'text']
for text in shown:
    place, line, _ = text.splitlines()
    number = int(place.split(':')[1])
    base = [part for part in complete(line + '\n').splitlines() if part != line]
    lines = base[:number - 1] + ['#'] * (number - 1 - len(base)) + [line] + base[number - 1:]
    run, _ = generate('\n'.join(lines) + '\n')
    equal(run.stderr, text, f'what is shown as an example is said: {place}')
    run, _ = generate('\n'.join(lines) + '\n', options=['--diagnostics=json'])
    as_json = run.stderr
equal([text for mark, text, _ in blocks(sections[0]) if mark == 'json'], [as_json], 'and the last one as JSON')
sections = sections[1:]
warnings = [name for _, name, severity in table if severity != 'ERROR']
unasked = [name for _, name, severity in table if severity == 'IGNORED']
for name, section in zip(sections[::2], sections[1::2]):
    examples = {mark: [complete(text.replace('\u240d', '\r')) for found, text, _ in blocks(section) if found == mark]
                for mark in ('yaml wrong', 'yaml')}
    log = {mark: text for mark, text, _ in blocks(section) if mark in ('tsv wrong', 'tsv')}
    ok(all(examples.values()), f'{name}: a wrong and a right spec')
    wrong = examples['yaml wrong']
    asks = [f'-W{name}'] * (name in unasked)
    added = [text for mark, text, _ in blocks(section) if mark == 'text added']
    if added:
        of_files.add(name)
        check_added(name, wrong, added[0])
        continue
    if name in warnings:
        run, files = generate(*wrong, options=asks)
        ok(run.returncode == 0 and set(kinds(run.stderr)) == {name} and f' [-W{name}]\n' in run.stderr and files,
           f'{name}: the wrong spec gives it, and files', run.stderr)
        run, files = generate(*wrong, options=[*asks, f'-Wno-{name}', '-Werror'])
        ok(run.returncode == 0 and not run.stderr and files, f'-Wno-{name}', run.stderr)
    run, files = generate(*wrong, options=[*asks, '-Werror'], log=log.get('tsv wrong'))
    ok(run.returncode == 1 and set(kinds(run.stderr)) == {name} and not files, f'{name}: the wrong spec is refused',
       run.stderr)
    run, files = generate(*examples['yaml'], options=asks, log=log.get('tsv'))
    ok(run.returncode == 0 and not run.stderr and files, f'{name}: the right spec gives nothing', run.stderr)
expected = of_files | {kind for path in glob.glob('tests/bad/*.expected') for kind in kinds(read(path))}
equal(sorted(set(names) - expected), unasked, 'tests/bad has every kind that is told unasked')
done()
