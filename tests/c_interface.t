#!/usr/bin/env python3
"""docs/c_interface.md says what is true: the types in its tables are those of the headers, its statuses those of the
enumeration, and a product in C behaves as it says."""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
CC = os.environ.get('CC', 'cc')
SPEC = '''cgtp: 1
name: layer
irreps: {x: 2x1o, y: 1x1o, z: 2x2e}
instructions: channelwise
index: {x: sender, y: item, w: item, z: receiver}
kernels: [forward, backward]
'''
# Answers to what the page says, a line each; arrays of one edge between the only node and itself.
PROGRAM = '''
#include "layer.h"
#include <stdalign.h>
#include <stdio.h>

#define IS(type, expression) _Static_assert(_Generic((expression), type: 1, default: 0), #expression)
TYPES

static cgtp_graph graph_of(int64_t items, int64_t senders, int64_t receivers)
{
    return (cgtp_graph){.items = items, .senders = senders, .receivers = receivers};
}

static void workspace(const char *what, cgtp_graph graph)
{
    size_t bytes = layer_backward_workspace(&graph);
    printf("%s %s\\n", what, bytes == CGTP_NO_WORKSPACE ? "CGTP_NO_WORKSPACE" : bytes ? "some" : "0");
}

int main(void)
{
    printf("null %d\\n", layer_forward_workspace(NULL) == CGTP_NO_WORKSPACE);
    workspace("none", graph_of(0, 7, 7));
    workspace("items", graph_of(-1, 7, 7));
    workspace("senders", graph_of(1, -7, 7));
    workspace("receivers", graph_of(1, 7, -7));
    workspace("much", graph_of(1, INT64_MAX, 1));
    workspace("unnumbered", graph_of(2147483648, 7, 7));
    workspace("nowhere", graph_of(9, 7, 0));
    workspace("few", graph_of(9, 7, 7));

    alignas(16) float x[6] = {0}, y[3] = {0}, w[2] = {1}, z[11];
    alignas(16) char memory[4096], least[4096] = {0};
    int64_t receiver_row[2], sender_row[2];
    int32_t node[1] = {0}, by_sender[1];
    cgtp_graph graph = {1, 1, 1, node, node, NULL, NULL, NULL, NULL};
    size_t bytes = layer_forward_workspace(&graph);
    for (int i = 0; i < 11; i++)
        z[i] = 77;
    printf("refused %d", layer_forward(&graph, x, y, w, z, memory, bytes, NULL));
    cgtp_graph_index(&graph, receiver_row, by_sender, sender_row);
    printf(" %d", layer_forward(&graph, x, y, w, NULL, memory, bytes, NULL));
    printf(" %d", layer_forward(&graph, x, y, w, z + 1, memory, bytes, NULL));
    printf(" %d", layer_forward(&graph, x, y, w, z, memory + 1, bytes, NULL));
    printf(" %d", layer_forward(&graph, x, y, w, z, memory, bytes - 1, NULL));
    printf(" %d", layer_forward(NULL, x, y, w, z, memory, bytes, NULL));
    printf(" %g %g\\n", z[0], z[9]);
    for (int axis = 0; axis < 3; axis++) {
        x[0] = x[1] = x[2] = y[0] = y[1] = y[2] = 0;
        x[axis] = y[axis] = 1;
        int status = layer_forward(&graph, x, y, w, z, least, bytes, NULL);
        printf("axis %d: %d %.2f\\n", axis, status, z[2]);
    }
    cgtp_graph none = {0};
    printf("nothing %d", layer_forward(&none, NULL, NULL, NULL, NULL, NULL, 0, NULL));
    none.receivers = 1;
    printf(" %d", layer_forward(&none, NULL, NULL, NULL, z, NULL, 0, NULL));
    printf(" %g %g\\n", z[2], z[10]);
    return 0;
}
'''


def read(path):
    with open(path) as file:
        return file.read()


def rows(page, heading):
    """The cells of the first table after a heading."""
    table = re.search(r'^\|.*?(?=\n\n)', page[page.index(f'\n## {heading}\n'):], re.M | re.S)[0]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in table.splitlines()[2:]]


def types(page):
    """Assertions that the arrays of a graph have the types of the table."""
    lines = []
    for names, kind, _, _ in rows(page, 'Arrays'):
        of_width = {'int64_t': {'': 'int64_t', '64': 'int64_t'},
                    'int32_t` or `int64_t`, by `index_type': {'': 'int32_t', '64': 'int64_t'},
                    'the same': {'': 'int32_t', '64': 'int64_t'}}.get(kind.strip('`'))
        for name in re.findall(r'`(\w+)`', names):
            for width in ('', '64') if of_width and name != 'order' else ():
                lines.append(f'IS(const {of_width[width]} *, ((cgtp_graph{width} *)0)->{name});')
    return lines


page, header = read('docs/c_interface.md'), read('runtime/cgtp.h')
enumeration = re.search(r'typedef enum cgtp_status \{(.*?)CGTP_STATUS_COUNT', header, re.S)[1]
equal([(int(number), name.strip('`')) for number, name, _ in rows(page, 'Statuses')],
      list(enumerate(re.findall(r'^ +(CGTP_\w+)', enumeration, re.M))), 'the statuses and their numbers')
checked = types(page)
equal(len(checked), 10, 'types of a graph\'s arrays, of both widths')
with tempfile.TemporaryDirectory() as folder:
    for name, text in ('layer.yaml', SPEC), ('program.c', PROGRAM.replace('TYPES', '\n'.join(checked))):
        with open(f'{folder}/{name}', 'w') as file:
            file.write(text)
    made = subprocess.run([GENERATOR, '--backend=c', '-o', folder, f'{folder}/layer.yaml'], capture_output=True, text=True)
    ok(made.returncode == 0, 'a product', made.stderr)
    made = subprocess.run([CC, '-std=c11', '-Wall', '-Wextra', '-Werror', '-Iruntime', f'-I{folder}', '-o',
                           f'{folder}/program', f'{folder}/program.c', *sorted(glob.glob(f'{folder}/layer*.c')),
                           'runtime/cgtp.c'], capture_output=True, text=True)
    ok(made.returncode == 0, 'a program that uses it, with the types of the page', made.stderr)
    run = [f'{folder}/program'] if made.returncode == 0 else ['false']
    told = subprocess.run(run, capture_output=True, text=True).stdout.splitlines() + [''] * 14
said = {row[0]: row[1].strip('`') for row in rows(page, 'Workspace')}
equal(told[:9], ['null 1', 'none 0', 'items CGTP_NO_WORKSPACE', 'senders CGTP_NO_WORKSPACE',
                 'receivers CGTP_NO_WORKSPACE', 'much CGTP_NO_WORKSPACE',
                 'unnumbered CGTP_NO_WORKSPACE', 'nowhere CGTP_NO_WORKSPACE', 'few some'],
      'bytes of workspace')
equal(list(said.values()), ['0: the workspace may be NULL', *['CGTP_NO_WORKSPACE'] * 4, 'what the kernel needs'],
      'and what the page says of them')
equal(told[9], 'refused 7 1 2 2 5 1 77 77', 'calls that are refused, and write nothing')
values = [float(value) for value in re.findall(r'axis \d: 0 (\S+)', '\n'.join(told[10:13]))]
ok(len(values) == 3 and values[0] == values[2] == -values[1] / 2 < 0, 'component 0 of l = 2 is about the middle one of l = 1', *told[10:13])
equal(told[13], 'nothing 0 0 0 77', 'graphs without edges')
done()
