#!/usr/bin/env python3
"""What the generator says of workspaces is what their functions return: --print=json, the descriptor and the header, for
both backends; what is due to the reduction is not there with atomic additions.

Of kernels in CUDA the functions that size the workspace are compiled alone, for a GPU of any number of multiprocessors.
"""
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

GENERATOR, CC = os.environ.get('CGTPGEN', 'build/cgtpgen'), os.environ.get('CC', 'gcc')
TCC, CXX = shutil.which('tcc'), shutil.which('clang++') or shutil.which('g++')
PADDING = 128
DEGREE = 32  # edges of a node, as -Wmemory takes it
GRAPHS = ((5000000, 130000, 130000), (400000, 9000, 70000))  # items, senders, receivers: many edges, for which formulas are


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def read(path):
    with open(path) as file:
        return file.read()


def report(backend, specs):
    out = run(GENERATOR, f'--backend={backend}', '-Wno-all', '--print=json', *specs).stdout
    products = json.loads(out)
    return products if isinstance(products, list) else [products]


def value(bytes_by, items, senders, receivers, workers):
    by = dict(bytes_by)
    return by.get('edge', by.get('item', 0)) * items + by['sender'] * senders + by['receiver'] * receivers + \
        by.get('multiprocessor', by.get('thread', 0)) * workers + by['call']


def compare(backend, products, found, workers):
    """found: {name_kernel: [bytes for each graph]}"""
    wrong, kernels = [], 0
    for product in products:
        for kernel in product['kernels']:
            areas = kernel['workspace']['areas']
            loose = any(area['name'] == 'ordering' or area['name'].endswith('partial') for area in areas)
            told = found.get(f"{product['name']}_{kernel['name']}")
            kernels += 1
            for graph, is_there in zip(GRAPHS, told or [-1]):
                said = value(kernel['workspace']['bytes'], *graph, workers)
                room = PADDING * (len(areas) + 8 * loose)
                # Of partial rows for each multiprocessor a fraction may be said, of which a whole number is there; threads
                # that are fewer than a sum has parts count beside these.
                least = 0.4 * said if loose else value(kernel['workspace']['bytes'], *graph, workers - 1)
                if not max(least, 0) <= is_there + (room if loose else 0) or not 0 <= is_there <= said + room:
                    wrong.append(f"{product['name']}, {kernel['name']}: {is_there}, said to be {said:.0f}")
    ok(kernels and not wrong, f'{backend}: {kernels} kernels need what is said', *wrong[:20])


def in_c(folder, specs):
    products = report('c', specs)
    made = run(GENERATOR, '--backend=c', '-Wno-all', '-o', folder, *specs)
    ok(made.returncode == 0, f'{len(products)} products in C', made.stdout)
    main = '#include <stdio.h>\n' + ''.join(f'#include "{p["name"]}.h"\n' for p in products) + '''
static void tell(const cgtp_product *p)
{
    static const int64_t graphs[2][3] = {GRAPHS};
    for (int k = 0; k < p->kernels; k++) {
        const cgtp_memory m = p->kernel[k].memory, r = p->kernel[k].memory_reduction;
        printf("%s_%s", p->name, p->kernel[k].name);
        for (int i = 0; i < 2; i++) {
            cgtp_graph g = {.items = graphs[i][0], .senders = graphs[i][1], .receivers = graphs[i][2]};
            cgtp_graph64 h = {.items = graphs[i][0], .senders = graphs[i][1], .receivers = graphs[i][2]};
            printf(" %zu", p->kernel[k].workspace(p->index_size == 8 ? (void *)&h : (void *)&g));
        }
        printf(" %.17g %.17g %.17g %.17g %.17g %.17g\\n", m.item, m.sender, m.receiver, m.worker, m.call, r.item);
    }
}

int main(void)
{
'''.replace('GRAPHS', ', '.join('{' + ', '.join(map(str, graph)) + '}' for graph in GRAPHS)) + \
        ''.join(f'    tell(&{p["name"]}_product);\n' for p in products) + '    return 0;\n}\n'
    with open(f'{folder}/main.c', 'w') as file:
        file.write(main)
    sources = glob.glob(f'{folder}/*.c')
    for path in sources:  # by what takes least time, but for tables of more than tcc takes
        command = ['-w', f'-I{folder}', '-Iruntime', '-c', '-o', f'{path[:-1]}o', path]
        if not TCC or run(TCC, *command).returncode:
            run(CC, '-O0', *command)
    objects = [f'{path[:-1]}o' for path in sources]
    compiled = run(CC, '-O0', '-z', 'noexecstack', '-o', f'{folder}/main', *objects, 'runtime/cgtp.c', '-lm')
    if not ok(compiled.returncode == 0, 'a program that asks them', compiled.stdout[:3000]):
        return
    lines = [line.split() for line in run(f'{folder}/main').stdout.splitlines()]
    compare('C', products, {name: [int(two), int(more)] for name, two, more, *_ in lines}, 1)
    described = {name: [float(word) for word in rest] for name, _, _, *rest in lines}
    wrong = [f'{p["name"]}_{k["name"]}' for p in products for k in p['kernels']
             if described[f'{p["name"]}_{k["name"]}'] != [*k['workspace']['bytes'].values(),
                                                         list(k['workspace']['due_to_reduction'].values())[0]]]
    equal(wrong, [], 'descriptors say the same')
    texts = {p['name']: ' '.join(read(f'{folder}/{p["name"]}.h').replace('\n *', ' ').split()) for p in products}
    wrong = [f'{p["name"]}_{k["name"]}' for p in products for k in p['kernels']
             if f'Workspace: {formula(k["workspace"]["bytes"])} bytes' not in texts[p['name']]]
    equal(wrong, [], 'headers say the same')


def formula(by):
    terms = [f'{count:.0f}' + (f' * {word}s' if word != 'call' else '') for word, count in by.items() if count]
    return ' + '.join(terms) or '0'


def in_cuda(folder, specs):
    products = [p for p in report('cuda', specs) if p['precision'] == 'float32']
    made = run(GENERATOR, '-Wno-all', '-o', folder, *specs)
    ok(made.returncode == 0, f'{len(products)} products in CUDA', made.stdout)
    includes, code, calls = [], '', ''
    for p in products:
        for kernel in p['kernels']:
            name = f'{p["name"]}_{kernel["name"]}'
            text = read(f'{folder}/{name}.cu')
            includes += [line for line in re.findall(r'^#include .*', text, re.M) if line not in includes]
            text = re.sub(r'^(#include|typedef|static_assert\(CGTP_DEVICE).*\n', '', text, flags=re.M)
            text = re.sub(r'^namespace code\n.*?^} // namespace code\n', '', text, flags=re.M | re.S)
            text = re.sub(r'^extern "C" cgtp_status .*', '', text, flags=re.M | re.S)
            code += f'namespace of_{name}\n{{\n{text}\n}}\n'
            graph = 'cgtp_graph' if 'const cgtp_graph *' in text else 'cgtp_graph64' if 'const cgtp_graph64' in text else None
            sizes = ''.join(f'    {{ {graph} g = {{}}; g.items = {items}, g.senders = {senders}, g.receivers = {receivers};\n'
                            f'      printf(" %zu", {name}_workspace(&g)); }}\n' if graph else
                            f'    printf(" %zu", {name}_workspace((int64_t){items}));\n' for items, senders, receivers in GRAPHS)
            calls += f'    printf("{name}");\n{sizes}    puts("");\n'
    code = 'typedef float real;\n' + '\n'.join(includes) + '\n#include <stdio.h>\nint workers;\n' \
        'int simt_get_multiprocessors(void) { return workers; }\n' + code + \
        f'int main(int argc, char **)\n{{\n    workers = argc > 1 ? 16 : 132;\n{calls}    return 0;\n}}\n'
    with open(f'{folder}/main.cc', 'w') as file:
        file.write(code)
    compiled = run(CXX, '-std=c++17', '-O1', '-w', '-Itests/simt', '-Iruntime', f'-I{folder}', '-o', f'{folder}/main',
                   f'{folder}/main.cc')
    if not ok(compiled.returncode == 0, 'a program that asks them', compiled.stdout[:3000]):
        return
    for workers, arguments in (132, []), (16, ['few']):
        lines = [line.split() for line in run(f'{folder}/main', *arguments).stdout.splitlines()]
        compare(f'CUDA, {workers} multiprocessors', products, {name: [int(n) for n in rest] for name, *rest in lines}, workers)
    equal([area for p in products for k in p['kernels'] for area in k['workspace']['areas'] if 'rows' in area], [],
          'the rows of all areas are known')


def due(folder):
    """What atomic additions do without is what is said to be due to the reduction, and the spec can have them."""
    for name, expected in ('mace_large', True), ('tetris_poly_2', False):
        spec = read(f'specs/{name}.yaml')
        found = report('cuda', [f'specs/{name}.yaml'])[0]
        kernels = {k['name']: k['workspace'] for k in found['kernels']}
        some = {kernel for kernel, w in kernels.items() if any(w['due_to_reduction'].values())}
        equal(some, {'backward', 'double_backward'} if expected else set(), f'{name}: kernels with areas due to the reduction')
        if not expected:
            continue
        with open(f'{folder}/atomic.yaml', 'w') as file:
            file.write(spec + 'reduction: atomic\n')
        atomic = {k['name']: k['workspace'] for k in report('cuda', [f'{folder}/atomic.yaml'])[0]['kernels']}
        rest = {kernel: {by: w['bytes'][by] - w['due_to_reduction'][by] for by in ('edge', 'sender', 'receiver')}
                for kernel, w in kernels.items()}
        equal(rest, {kernel: {by: w['bytes'][by] for by in ('edge', 'sender', 'receiver')} for kernel, w in atomic.items()},
              f'{name}: without it')
    table = run(GENERATOR, '--print=cost', 'specs/mace_large.yaml').stdout
    ok(re.search(r'^backward +gx_edges +4608 +0 +0 +0 +0  reduction: deterministic$', table, re.M), '--print=cost', table)
    ok('gx_edges' in run(GENERATOR, '--print=plan', 'specs/mace_large.yaml').stdout, '--print=plan')


def sets_of(product, kernel):
    """Of each path set of the kernel: the bytes of an edge's rows that it reads and writes, by its paths and the spec's
    irreps alone, those of x among them, and what the plan says."""
    segments = [int(mul) * (2 * int(l) + 1) for mul, l in re.findall(r'(\d+)x(\d+)[eo]', product['irreps']['x'])]
    slot = {array['name']: array['slot'] for array in kernel['inputs'] + kernel['outputs']}
    terms = {array['name']: ' '.join(array['terms']) for array in kernel['outputs']}
    for schedule in kernel['schedules']:
        arrays = {name for output in schedule['outputs'] for name in re.findall(r'[(, ](\w+)(?=[,)])', terms[output])}
        arrays = [*arrays, *(name for name, route in zip(schedule['outputs'], schedule['routes']) if route != 'row with a fix-up')]
        for chosen in schedule['path_sets']:
            paths = [product['paths'][number] for number in chosen['paths']]
            row = {'x': sum(segments[i] for i in {path['x'] for path in paths}), 'y': product['dim']['y'],
                   'w': sum(math.prod(path['weight_shape']) for path in paths), 'z': 0}  # of the receiver, once for all edges
            yield 4 * sum(row[slot[name]] for name in arrays), 4 * row['x'], chosen['bytes_per_edge'] * chosen['channel_blocks']


def read_again():
    """Planned bytes are those of all passes: a row counts as often as path sets have it, what goes through the workspace
    once more."""
    for degree, times in (4, 3), (5, 6):
        product = report('cuda', [f'specs/flashtp_table5_lmax{degree}.yaml'])[0]
        for kernel in product['kernels']:
            sets = list(sets_of(product, kernel))
            moved = sum(mine for mine, _, _ in sets) + kernel['workspace']['bytes']['edge']
            equal(([told for _, _, told in sets], kernel['bytes_per_item_planned']), ([mine for mine, _, _ in sets], moved),
                  f"lmax {degree}, {kernel['name']}: planned bytes are those of {len(sets)} passes")
        again = sum(x for _, x, _ in sets) / (4 * product['dim']['x'])
        ok(times < again < times + 1, f'lmax {degree}: double backward reads x {again:.1f} times')


def warned(folder):
    """-Wmemory, which is not told unasked."""
    for spec, kernels in ('nequip_water', ['backward']), ('mace_large', []):
        asked = run(GENERATOR, '-Wmemory', '-o', folder, f'specs/{spec}.yaml').stdout
        equal(re.findall(r'of kernel (\w+) takes .* \[-Wmemory\]', asked), kernels, f'-Wmemory, {spec}')
    equal(run(GENERATOR, '-o', folder, 'specs/nequip_water.yaml').stdout, '', 'unasked: nothing')
    specs = sorted(glob.glob('specs/*.yaml'))
    told = run(GENERATOR, '-Wno-all', '-Wmemory', '-o', folder, *specs).stdout
    large = set()
    for product in report('cuda', specs):
        for kernel in product['kernels']:
            by, rows = kernel['workspace']['bytes'], kernel['bytes_per_row']
            workspace = by.get('edge', by.get('item', 0)) + (by['sender'] + by['receiver']) / DEGREE
            if workspace > (kernel['bytes_per_item'] + (rows['sender'] + rows['receiver']) / DEGREE) / 4:
                large.add((product['name'], kernel['name']))
    equal(set(re.findall(r'^specs/(\w+)\.yaml:.* the workspace of kernel (\w+) takes ', told, re.M)), large,
          f'-Wmemory: of {len(specs)} specs those {len(large)} kernels whose workspace is a quarter of their arguments')
    ok(large, 'there are some')
    refused = run(GENERATOR, '-Werror=memory', '-o', folder, 'specs/nequip_water.yaml')
    ok(refused.returncode == 1 and '[-Werror=memory]' in refused.stdout, '-Werror=memory', refused.stdout)


SHIM = [spec for spec in sorted(glob.glob('tests/simt/specs/*.yaml')) if 'gemm_large' not in spec]
with tempfile.TemporaryDirectory() as ROOT:
    for name in 'c', 'cuda', 'some':
        os.mkdir(f'{ROOT}/{name}')
    unordered = f'{ROOT}/unordered.yaml'
    with open(unordered, 'w') as out:
        out.write(re.sub('^name: .*', 'name: unordered', read('specs/nequip_water.yaml'), flags=re.M) + 'edges: any\n')
    in_c(f'{ROOT}/c', [spec for spec in SHIM if 'gemm' not in spec] + [unordered, 'specs/mace_large.yaml'])
    in_cuda(f'{ROOT}/cuda', SHIM + [unordered])
    due(f'{ROOT}/some')
    read_again()
    warned(f'{ROOT}/some')
done()
