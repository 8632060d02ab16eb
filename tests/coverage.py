#!/usr/bin/env python3
"""How much of the generator the tests ran, from what gcov counted: lines and branches of each source and of all.

    tests/coverage.py FOLDER LINES BRANCHES [MISSED]    FOLDER: of the objects; least percentages of all;
                                                        the file MISSED gets the places that were not run

Assertions are no branches: what they say is never false.
"""
import collections
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def counts(folder):
    """{source: ({line: count}, {(line, number): count})}, headers too, of all objects together."""
    found = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    data = [path.resolve() for path in pathlib.Path(folder).rglob('*.gcda')]
    with tempfile.TemporaryDirectory() as where:
        subprocess.run(['gcov', '--json-format', '--branch-probabilities', '--hash-filenames', *map(str, data)],
                       cwd=where, stdout=subprocess.DEVNULL, check=True)
        for path in pathlib.Path(where).glob('*.gcov.json.gz'):
            with gzip.open(path) as file:
                sources = json.load(file)['files']
            for source in sources:
                if not source['file'].startswith('cgtpgen/'):
                    continue
                lines, branches = found[source['file']]
                text = pathlib.Path(source['file']).read_text().splitlines()
                for line in source['lines']:
                    number = line['line_number']
                    lines[number] += line['count']
                    if not re.search(r'\bassert\(', text[number - 1]):
                        for n, branch in enumerate(line['branches']):
                            branches[number, n] += branch['count']
    return found


def share(counted):
    return len(counted), sum(count > 0 for count in counted.values())


def percent(there, run):
    return 100 * run / there if there else 100


def main():
    folder, least = sys.argv[1], [float(number) for number in sys.argv[2:4]]
    found = counts(folder)
    total = [[0, 0], [0, 0]]
    missed = []
    print(f'{"":50} {"lines":>14} {"%":>6} {"branches":>14} {"%":>6}')
    for source, both in sorted(found.items()):
        row = [share(counted) for counted in both]
        for sums, (there, run) in zip(total, row):
            sums[0] += there
            sums[1] += run
        print(f'{source:50}' + ''.join(f' {f"{run}/{there}":>14} {percent(there, run):6.1f}' for there, run in row))
        text = pathlib.Path(source).read_text().splitlines()
        missed += [f'{source}:{line}: line: {text[line - 1]}' for line, count in sorted(both[0].items()) if not count]
        missed += [f'{source}:{line}: branch {n}: {text[line - 1]}' for (line, n), count in sorted(both[1].items())
                   if not count and both[0][line]]
    shares = [percent(*sums) for sums in total]
    print(f'{"all":50}' + ''.join(f' {f"{run}/{there}":>14} {percent(there, run):6.2f}' for there, run in total))
    if len(sys.argv) > 4:
        pathlib.Path(sys.argv[4]).write_text(''.join(line + '\n' for line in missed))
    if not found or any(got < wanted for got, wanted in zip(shares, least)):
        sys.exit(f'less than {least[0]} % of lines or {least[1]} % of branches were run')


if __name__ == '__main__':
    main()
