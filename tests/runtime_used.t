#!/usr/bin/env python3
"""Every operation of the device headers is used by some emitted file: nothing is kept for kernels that are gone. And each
file includes what it uses: headers that only some kernels need are chosen by the words of the file."""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')
HEADERS = ['runtime/' + name for name in ('cgtp_cuda.h', 'cgtp_vector.h', 'cgtp_partition.h', 'cgtp_schedule.h',
                                          'cgtp_segments.h', 'cgtp_convolution.h', 'cgtp_epilogue.h', 'cgtp_table.h', 'cgtp_batch.h',
                                          'cgtp_item.h', 'cgtp_rows.h', 'cgtp_staged.h', 'cgtp_tiled.h', 'cgtp_gemm.h',
                                          'cgtp_weights.h', 'cgtp_nodal.h', 'cgtp_lanes.h', 'cgtp_paired.h',
                                          'cgtp_general.h', 'cgtp_launch.h', 'cgtp_order.h', 'cgtp_convert.h', 'cgtp_cuda_narrow.h',
                                          'cgtp_narrow.h', 'cgtp_mma.h', 'cgtp_carry.h', 'cgtp_sets.h', 'cgtp_uneven.h',
                                          'cgtp_shifted.h')]
NAME = r'\b(?:cgtp|CGTP)_\w+'


def definitions(text):
    """(names defined, names used) of each piece of a header that stands between blank lines at depth 0."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"[^"\n]*"', ' ', text, flags=re.S)
    text = re.sub(r'^#(?:ifndef|endif|include|if|else).*$|^namespace\s*\{|^\}\s*$(?=\s*(?:#endif)?\s*\Z)', '', text,
                  flags=re.M)
    pieces, depth, piece = [], 0, ''
    for line in text.splitlines():
        piece += line + '\n'
        depth += line.count('{') - line.count('}')
        whole = line.startswith('#define') or line.rstrip().endswith((';', '}'))
        if depth == 0 and whole and not line.rstrip().endswith('\\'):
            pieces.append(piece)
            piece = ''
    for piece in pieces + [piece]:
        names = set(re.findall(rf'^\s*#define\s+({NAME})', piece, re.M))
        names |= set(re.findall(rf'\b(?:struct|using|typedef\s+\w+)\s+({NAME})', piece.split('{')[0]))
        if re.match(r'\s*enum', piece):
            names |= set(re.findall(NAME, piece))
        head = piece.split('{')[0].split(';')[0]
        called = re.findall(rf'({NAME})\s*\(', re.sub(r'CGTP_KERNEL\([^)]*\)', '', head))
        if called and not names:
            names.add(called[0])
        if names:
            yield names, set(re.findall(NAME, piece)) - names


def included(text, seen=None):
    """The code of all headers of the runtime that a text includes, and of those that they include."""
    seen = set() if seen is None else seen
    code = ''
    for name in re.findall(r'^#include "(cgtp\w*\.h)"', text, re.M):
        if name not in seen:
            seen.add(name)
            with open(f'runtime/{name}') as file:
                more = re.sub(r'/\*.*?\*/', ' ', file.read(), flags=re.S)
            code += more + included(more, seen)
    return code


pieces = []
for header in HEADERS:
    with open(header) as file:
        pieces += [(header, names, uses) for names, uses in definitions(file.read())]
with tempfile.TemporaryDirectory() as folder:
    specs = sorted(glob.glob('tests/simt/specs/*.yaml') + glob.glob('tests/golden/g_m*.yaml'))
    with open('tests/simt/specs/conv_mixed.yaml') as file, open(f'{folder}/carried.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: carried_').replace(
            'kernels: ', 'accumulate: compensated\nkernels: '))
    with open('tests/simt/specs/conv_128.yaml') as file, open(f'{folder}/ordered.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: ordered_').replace('index: ', 'edges: any\nindex: '))
    with open('tests/simt/specs/conv_32.yaml') as file, open(f'{folder}/components.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: components_').replace('kernels: ', 'layout: ir_mul\nkernels: '))
    with open('tests/simt/specs/staged_graph.yaml') as file, open(f'{folder}/atomic.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: atomic_').replace('kernels: ', 'reduction: atomic\nkernels: '))
    with open('tests/simt/specs/conv_narrow.yaml') as file, open(f'{folder}/narrow.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: narrow_').replace('kernels: ', 'reduction: atomic\nkernels: '))
    with open('tests/simt/specs/conv_any.yaml') as file, open(f'{folder}/any.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: any_').replace('kernels: ', 'precision: float64\nkernels: '))
    with open('tests/simt/specs/tiled_wide.yaml') as file, open(f'{folder}/tiles.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: components_').replace('kernels: ', 'layout: ir_mul\nkernels: '))
    with open('tests/simt/specs/conv_64.yaml') as file, open(f'{folder}/types.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: types_').replace(
            'kernels: ', 'precision: {x: bfloat16, y: float16, w: bfloat16}\nkernels: '))
    with open('tests/simt/specs/batch_plain.yaml') as file, open(f'{folder}/words.yaml', 'w') as out:
        out.write(file.read().replace('name: ', 'name: words_').replace('kernels: ', 'precision: bfloat16\nkernels: '))
    changed = [f'{folder}/{name}.yaml' for name in ('types', 'words', 'tiles', 'carried', 'ordered', 'components', 'atomic',
                                                'narrow', 'any')]
    made = subprocess.run([GENERATOR, '--backend=cuda', '-o', folder, *changed, *specs],
                          capture_output=True, text=True)
    ok(made.returncode == 0, 'the specs are generated', made.stderr)
    used, missing = set(), {}
    for path in glob.glob(f'{folder}/*.cu'):
        with open(path) as file:
            text = file.read()
        names = set(re.findall(NAME, re.sub('^#include .*', '', text, flags=re.M)))
        used |= names
        missing[path] = names - set(re.findall(NAME, included(text)))
    missing = sorted(f'{os.path.basename(path)}: {" ".join(names)}' for path, names in missing.items() if names)
    ok(used and not missing, 'headers that a file includes have what it uses', *missing[:20])
grows = True
while grows:
    before = len(used)
    for _, names, uses in pieces:
        if names & used:
            used |= uses
    grows = len(used) > before
for header in HEADERS:
    names = set().union(*(names for where, names, _ in pieces if where == header))
    guards = {name for name in names if name.endswith('_H')}
    ok(names - guards and not names - guards - used, f'{header}: {len(names - guards)} names, each used',
       sorted(names - guards - used))
done()
