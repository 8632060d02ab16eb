#!/usr/bin/env python3
"""The words of a spec as a dictionary for libFuzzer: those of docs/spec.schema.json, which has the generator's
(tests/schema.t), and pieces of YAML, of irreps and of numbers.

    tests/fuzz/words.py > DICTIONARY
"""
import json

PIECES = ['[', ']', '{', '}', ': ', ', ', '- ', '\n', '\n  ', '\n  - ', '\t', '#', '&a ', '*a', '!t ', '"', "'",
          '|\n', '>-\n', '---\n', '...\n', '? ', '%YAML 1.1\n', '\\', '\r\n', '\ufeff', '\xe4', '*/', '-1', '1e30',
          '1e-30', '1e999', '99999999999999999999', '2147483648', '.5', '1/3', 'nan', '0x0e', '11o', '12e',
          '1048576x', '0e', '1o', '2e', '32x1o', ' + ', 'Q_x(y, w, gz)', 'Q_y(x, w, gz)', 'Q_w(x, y, gz)',
          'Q_g(x, y, w)', 'd y', 'd x', '[0, 0, 0, uvu]', 'irreps: {x: ', 'cgtp: 1\n', 'name: a\n']


def words(schema):
    """Names of properties, and values that are listed."""
    if isinstance(schema, dict):
        for key in schema.get('properties', {}):
            yield key + ': '
        for value in schema.get('enum', []):
            yield str(value)
        for value in schema.values():
            yield from words(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from words(value)


with open('docs/spec.schema.json') as file:
    found = sorted({*PIECES, *words(json.load(file))})
for word in found:
    print('"%s"' % ''.join(chr(byte) if 0x20 <= byte < 0x7f and chr(byte) not in '"\\' else f'\\x{byte:02x}'
                           for byte in word.encode()))
