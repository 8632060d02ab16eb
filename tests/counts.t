#!/usr/bin/env python3
"""Printed numbers of operations are those of the code: multiply-adds, multiplications, additions and negations in
the text of every function of paths, of all layers of specs/, batches and both backends; and the operations of an item,
which are those of all calls: in --print=json, their flops in the descriptor and in the plans of pipelined kernels.

A sum of products is a chain of multiply-adds: in a * b + c * d the second product and the addition are one.
TEST_ALL adds the products of tests/golden and tests/simt/specs.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
SPECS = sorted(glob.glob('specs/*.yaml') + glob.glob('tests/simt/specs/batch_*.yaml'))
if os.environ.get('TEST_ALL'):
    SPECS += sorted(glob.glob('tests/golden/*.yaml') + glob.glob('tests/simt/specs/[!b]*.yaml'))
FUNCTION = re.compile(r'^/\* (\(l1, [^\n]*(?:\n \*[^\n]*)*?)\. \*/\n(?:static|CGTP_DEVICE|CGTP_DEVICE_CALL) void (\w+)'
                      r'\(([^{;]*)\)\n\{\n(.*?)^\}\n', re.M | re.S)
CALLED = re.compile(r'((?:^ {12,}/\* \d+: \d+x(?:(?!\*/).)*\*/\n)+) +(\w+)(?:<\w+>)?\(', re.M | re.S)
PATH = re.compile(r'/\* \d+: (\d+)x((?:(?!\*/).)*)\*/', re.S)
COUNTED = re.compile(r'(?:(?:const )?real )?(.*?) ([+-]?=) (.*)')
NAMES = ('fma', 'mul', 'add', 'neg')


def add(a, b):
    return [p + q for p, q in zip(a, b)]


def count_sum(text):
    """fma, mul, add, neg of a sum of products."""
    count = [0, 0, 0, 0]
    for number, (sign, term) in enumerate(re.findall(r'(^-?|[+-]) ?([^+-]+)', text.strip())):
        products = term.count('*')
        if number == 0:
            count = add(count, [0, products, 0, sign == '-'])
        elif products:
            count = add(count, [1, products - 1, 0, 0])
        else:
            count = add(count, [0, 0, 1, 0])
    return count


def count_text(text, chains):
    """Of all constants and assignments in the text; index arithmetic and calls are none of it. chains: what is added by += or -=
    is a term of a sum like others; otherwise it is computed before and added."""
    count = [0, 0, 0, 0]
    for statement in re.split(r'[;{}]', re.sub(r'/\*.*?\*/', '', text, flags=re.S)):
        statement = re.sub(r'\[[^\]]*\]', '', ' '.join(statement.split()))
        for bracket in re.findall(r'(?<=\* )\([^()]*\)|\([^()]*\)(?= \*)', statement) if chains else ():
            count = add(count, count_sum(bracket[1:-1]))
            statement = statement.replace(bracket, 'sum', 1)
        match = COUNTED.fullmatch(statement.replace('CGTP_UNROLL ', ''))
        if not match or '(' in statement or ')' in statement:
            continue
        for one in statement.split(', '):
            name, value = one.split('= ', 1)
            adds = name[-1] in '+-'
            count = add(count, count_sum(f'{name[:-2]} + {value}' if adds and chains else value))
            count[2] += adds and not chains
    return count


def printed(comment, per):
    found = re.search(r'((?:\d+ \w+,?\s)+)per %s' % per, comment)
    count = dict((name, int(n)) for n, name in re.findall(r'(\d+) (\w+)', found.group(1) if found else ''))
    return [count.pop(name, 0) for name in NAMES] + sorted(count)


def flops(count):
    return 2 * count[0] + count[1] + count[2]


def called_path(functions, comments, name):
    """(channels, paths, (channel, item)) of a call of one path, or of several: its function's counts, or those that the comment has of
    a path by table. A call of a loop that several path sets share is one for each of their paths."""
    paths = PATH.findall(comments)
    comment = ' '.join(re.sub(r'\n +\* ', ' ', paths[0][1]).split())
    likewise = 1 + len(re.findall(r'\d+', (re.findall(r'; likewise ([\d, ]+)', comment) or [''])[0]))
    counts = functions.get(name) or tuple(printed(comment, per)[:3] for per in ('channel', 'item'))
    return sum(int(channels) for channels, _ in paths), len(paths), tuple(times(count, likewise) for count in counts)


def check_block(where, comment, text, loop, wrong):
    """The block's printed numbers: (channel, item). The loop over channels begins with `loop`; where there is none,
    only the sum of both can be told."""
    comment = ' '.join(comment.replace('\n *', ' ').split())
    chains = comment.startswith('(l1, l2) =')  # the code of several paths
    comment = re.sub(r' \* (?=K\d|\{|\d+ (?:fma|mul|add|neg))', ' ', comment)
    channel, item = printed(comment, 'channel'), printed(comment, 'item')
    at = text.find(loop)
    if at >= 0:
        end = text.find('\n    }\n', at)
        found = count_text(text[at:end if end >= 0 else None], chains), count_text(text[:at], chains)
        expected = channel, item
    else:
        found, expected = count_text(text, chains), add(channel, item)
    if found != expected:
        wrong.append('%s: printed %s, in the text %s' % (where, expected, found))
    return channel[:3], item[:3]


def times(count, n):
    return [n * part for part in count]


def item_operations(text, functions):
    """fma, mul, add of all calls in the functions that do an item's work."""
    total = [0, 0, 0]
    for body in re.findall(r'^static void item_\w+\([^{;]*\)\n\{\n(.*?)^\}\n', text, re.M | re.S):
        calls = 1
        for line in re.findall(r'^    for \(int64_t a[^\n]*|^    (?:    )?\w[^;{]*;|^    \}', body, re.M):
            line = ' '.join(line.split())
            loop = re.match(r'for \(int64_t a = 0; a < (\d+); a\+\+\)', line)
            call = re.match(r'(\w+)\((.*)\);', line)
            if loop or line == '}':
                calls = int(loop.group(1)) if loop else 1
            if not call:
                continue
            name, arguments = call.group(1), call.group(2).split(', ')
            for a in range(calls):
                numbers = [eval(n, {'a': a}) for n in arguments if re.fullmatch(r'[\d a-]+', n)]
                if name in functions:
                    total = add(total, add(times(functions[name][0], numbers[0]), functions[name][1]))
                elif name.startswith('cgtp_weights'):
                    total[0] += numbers[0] * numbers[1] * numbers[2]
                elif name == 'cgtp_ones_z':
                    total[2] += numbers[0] * (numbers[1] - 1 + numbers[2])
                elif name == 'cgtp_ones_p':
                    total[2] += numbers[0] * (numbers[2] - 1)
    return total


def check(spec):
    wrong, blocks, report = [], 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for backend in ('c', 'cuda'):
            made = subprocess.run([GENERATOR, '--backend=' + backend, '--print=json', '-o', folder, spec],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if made.returncode:
                return ok(False, '%s is generated' % spec, made.stderr.decode())
            for kernel in json.loads(made.stdout)['kernels']:
                report[kernel['name'], backend] = kernel
            if backend == 'c':
                with open(glob.glob(folder + '/*.h')[0][:-1] + 'c') as file:
                    descriptor = file.read()
        for path in sorted(glob.glob(folder + '/*_*.c*')):
            with open(path) as file:
                text = file.read()
            functions = {}
            for match in FUNCTION.finditer(text):
                comment, name, _, body = match.groups()
                where = '%s: %s' % (os.path.basename(path), name)
                functions[name] = check_block(where, comment, body, 'for (int', wrong)
            blocks += len(functions)
            planned = [int(n) for n in re.findall(r'(?:pipelined \w+|paired items), [^;]*; (\d+) flops per item', text)]
            called = [called_path(functions, *call) for call in CALLED.findall(text)]
            total = [0, 0, 0]
            for channels, paths, (channel, item) in called:
                total = add(total, add(times(channel, channels), times(item, paths)))
            if sum(planned) != flops(total):
                wrong.append('%s: %s flops are planned, other calls are there' % (os.path.basename(path), planned))
            kernel = report.get((re.search(r'^/\* \w+: (\w+)', text).group(1), 'cuda'))
            if planned and len(planned) == len(kernel['schedules']) and \
                    list(kernel['operations_per_item'].values()) != total:
                wrong.append('%s: %s are reported, not %s' % (os.path.basename(path), kernel['operations_per_item'], total))
            kernel = re.search(r'^/\* (\w+): (\w+), portable C', text)
            if kernel:
                said = re.search(r'\{"%s", \d+, \d+, \w+, \w+, \d+, (\d+),' % kernel.group(2), descriptor)
                total = item_operations(text, functions)
                if not said or int(said.group(1)) != flops(total):
                    wrong.append('%s: the descriptor says %s flops, the calls make %d' %
                                 (os.path.basename(path), said and said.group(1), flops(total)))
                if list(report[kernel.group(2), 'c']['operations_per_item'].values()) != total:
                    wrong.append('%s: --print=json has other operations than %s' % (os.path.basename(path), total))
    return ok(blocks and not wrong, '%s: %d functions' % (spec, blocks), *wrong)


for spec in SPECS:
    check(spec)
done()
