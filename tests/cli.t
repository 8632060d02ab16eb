#!/usr/bin/env python3
"""The command line as docs/cgtpgen.1 describes it: options, exit statuses, what is written, what left alone."""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok, skip  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
SANITIZED = '/san' in os.environ.get('BUILD', 'build')
LARGE = os.path.abspath('specs/flashtp_table5_lmax5.yaml')
MANUAL = open('docs/cgtpgen.1').read()

SPEC = '''cgtp: 1
name: NAME
irreps: {x: 4x0e + 4x1o, y: 0e + 1o, z: 4x0e + 4x1o}
instructions:
  - [0, 0, 0, uvu]
  - [0, 1, 1, uvu]
  - [1, 0, 1, uvu]
  - [1, 1, 0, uvu]
kernels: [forward, backward]
'''
BAD = SPEC.replace('uvu', 'uvx', 1)
FILES = ['NAME.c', 'NAME.h', 'NAME_backward.cu', 'NAME_forward.cu']  # without an option, that is for CUDA


class Result:
    def __init__(self, process):
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr

    def __repr__(self):
        return f'exit {self.status}\nstdout: {self.out!r:.2000}\nstderr: {self.err!r:.2000}'


def run(*arguments, stdin='', folder=None, prepare=None, environment=None, **more):
    """stdin: text, or a file."""
    more = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE} | more
    given = {'input' if isinstance(stdin, str) else 'stdin': stdin}
    return Result(subprocess.run([GENERATOR, *arguments], **given, text=True, cwd=folder, preexec_fn=prepare,
                                 env=environment, **more))


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)
    return path


def read(path):
    with open(path) as f:
        return f.read()


def spec(folder, name='a', text=SPEC):
    return write(f'{folder}/{name}.yaml', text.replace('NAME', name))


def files(name='a'):
    return sorted(f.replace('NAME', name) for f in FILES)


def contents(folder):
    return {name: (read(f'{folder}/{name}'), os.stat(f'{folder}/{name}').st_mtime_ns)
            for name in os.listdir(folder)}


def fails(status, message, *arguments, **more):
    """Exits with this status, says this, writes nothing to standard output."""
    result = run(*arguments, **more)
    ok(result.status == status and message in result.err and not result.out,
       f"{' '.join(arguments).replace(tempfile.gettempdir(), '')}: {status}, {message}", result)
    return result


def test_json(folder):
    """For programs each line is an object, whatever is wrong: what is about no spec has no kind."""
    a, taken, old = spec(folder), write(f'{folder}/taken', ''), f'{folder}/old'
    run('--backend=c', '-o', old, spec(folder, 'b', SPEC.replace('forward, backward', 'forward, backward, jvp')))
    mine = f'{folder}/mine'
    os.mkdir(mine)
    write(f'{mine}/a.h', 'mine\n')
    for status, severity, words, *arguments in [
            (2, 'error', 'unknown option --zzz', '--zzz', a), (2, 'error', 'no spec given'), (2, 'error', '-W: unknown warning', '-Wx', a),
            (4, 'error', f'{folder}/gone.yaml: No such file', f'{folder}/gone.yaml'), (4, 'error', 'a spec is a file', 'help'),
            (4, 'error', f'{folder}/gone: No such file', f'@{folder}/gone'), (4, 'error', f'cannot write {taken}/x', '-o', f'{taken}/x', a),
            (4, 'error', f'{mine}/a.h is not of cgtpgen', '-o', mine, a), (2, 'error', 'it is a spec', '-MD', '-MF', a, '-o', f'{folder}/new', a),
            (0, 'note', 'b_jvp.c is left over', '--backend=c', '-o', old, spec(folder, 'b'))]:
        result = run('--diagnostics=json', *arguments)
        told = [json.loads(line) for line in result.err.splitlines()]
        equal((result.status, [(one['id'], one['severity'], one['file'], words in one['message']) for one in told]),
              (status, [(None, severity, None, True)]), f'--diagnostics=json: {words.replace(folder, "")}')
        text = run(*arguments).err
        equal(text, f"cgtpgen: {told[0]['message']}\n" if told else '', 'and as text the same')


def test_usage(folder):
    a = spec(folder)
    for message, *arguments in [
            ('no spec given',),
            ('unknown option --prnt; did you mean --print?', '--prnt=paths', a),
            ('unknown option --chek; did you mean --check?', '--chek', a),
            ('unknown option -MX; did you mean -M', '-MX', a),
            ('unknown option --zzzzzzz\n', '--zzzzzzz', a),
            ('unknown option --output; -o DIR says where files go\n', '--output=x', a),
            ('unknown option --verbose; --print=plan and -d say more\n', '--verbose', a),
            ("--print: unknown word 'path'; did you mean paths?", '--print=path', a),
            ("--print: unknown word ''", '--print=paths,,nnz', a),
            ("--emit: unknown word 'headers'; did you mean header?", '--emit=headers', a),
            ("unknown backend 'cudaa'; did you mean cuda?", '--backend=cudaa', a),
            ("unknown architecture 'sm_91'; did you mean sm_90?", '--arch=sm_91', a),
            ('--arch=sm_90 is for --backend=cuda', '--backend=c', '--arch=sm_90', a),
            ('--emit=device is for --backend=cuda', '--backend=c', '--emit=runtime,device', a),
            ('--arch=c is for --backend=c', '--arch=c', a),
            ("unknown architecture '90'; there are sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 and c\n", '--arch=90', a),
            ("did you mean sm_90? There are sm_80, ", '--arch=sm_91', a),
            ("unknown backend 'hip'; there are cuda and c\n", '--backend=hip', a),
            ("--emit: unknown word 'foo'; there are header, hpp, source, unity, plan, selftest, torch, jax, tune, runtime, check, ranks, device and report\n", '--emit=foo', a),
            ("--print: unknown word 'foo'; there are paths, nnz, weights, plan, cost and json\n", '--print=foo', a),
            ("-d: unknown letter 'x'; there are spflecm", '-dx', a),
            ('-o needs a value', a, '-o'),
            ('-o needs a value', a, '-o', ''),
            ("--name: 'a-b' has more than letters, digits, _ and %", '--name=a-b', a),
            ('--name needs a % for the specs\' names where there are several', '--name=b', a, a),
            ('--print needs a value', '--print=', a),
            ("--mutate: '1x' is no number", '--mutate=1x', a),
            ("--mutate: 'x' is no number", '--mutate=x', a),
            ("--mutate: '123456789' is no number", '--mutate=123456789', a),
            ('--check takes no value', '--check=yes', a),
            ('-o is given twice', '-o', 'b', '-o', 'c', a),
            ('--backend is given twice', '--backend=c', '--backend=c', a),
            ('standard input (-) can be read only once', '-', '-'),
            ("-W: unknown warning 'dead-inptu'; did you mean dead-input? There are all, ", '-Wdead-inptu', a),
            ("-W: unknown warning 'parity'; there are all, ", '-Wno-error=parity', a),
            ("-W: unknown warning 'all'", '-Werror=all', a),
            ('-W needs a value', a, '-W'),
            ("unknown form of diagnostics 'jsn'; did you mean json?", '--diagnostics=jsn', a),
            ("unknown choice of --color 'on'; there are auto, always and never", '--color=on', a),
            ('--color=always is for text', '--color=always', '--diagnostics=json', a),
            ('--lint writes nothing', '--lint', '-o', 'out', a),
            ('--lint writes nothing', '--lint', '--check', a),
            ('--lint writes nothing', '--lint', '--list', a),
            ('--lint writes nothing', '--lint', '--print=paths', a),
            ('--lint writes nothing', '--lint', '-MD', a),
            ('--lint writes nothing', '--lint', '--emit=report', '--measured=f', a),
            ('--measured is for the report', '--measured=f', a),
            ('--measured is for the report', '--measured=f', '--emit=report', '--print=plan', a),
            ('--check and --list exclude each other', '--check', '--list', a),
            ('--check compares with a folder', '--check', '-o', '-', a),
            ('--print needs standard output for itself', '--print=paths', '-o', '-', a),
            ('--print needs standard output for itself', '--print=paths', '--list', a),
            ('--print needs standard output for itself', '--print=paths', '--check', a),
            ('--print needs standard output for itself', '--print=paths', '-MD', '-MF-', '-o', 'x', a),
            ('-MD writes a file', '-MD', '--list', a),
            ('both write to standard output', '-o-', '-MD', '-MF', '-', a),
            ('-MF, -MT and -MP need -MD', '-MF', 'f', a),
            ('-MF, -MT and -MP need -MD', '-MT', 'f', a),
            ('-MF, -MT and -MP need -MD', '-MP', a),
            ('-MD writes a file', '-MD', '--check', a),
            ('-MD with -o - needs -MF', '-MD', '-o', '-', a),
            ('-MD with --print needs -o', '-MD', '--print=nnz', a)]:
        fails(2, message, *arguments, folder=folder)
    equal(os.listdir(folder), ['a.yaml'], 'a wrong command line writes nothing')


def test_help():
    result = run('--help')
    ok(result.status == 0 and not result.err and result.out.startswith('Usage: cgtpgen '), '--help', result)
    ok(max(map(len, result.out.splitlines())) <= 110, 'the lines of --help are short')
    options = set(re.findall(r'(?:^  |, )(--?[A-Za-z]+)', result.out, re.M))
    manual = {('--' if long else '-') + name for long, name in re.findall(r'Fl (Fl )?(\w+)', MANUAL)}
    equal(options, manual, '--help and the manual name the same options')
    result = run('--version', 'nothing.yaml')
    ok(result.status == 0 and re.fullmatch(r'cgtpgen \d+\.\d+\.\d+\n', result.out), '--version', result)
    for letter, word in ('-h', '--help'), ('-V', '--version'):
        equal(run(letter).out, run(word).out, f'{letter} is {word}')
    for letters in ('-V', '-h'), ('-h', '-V'):
        equal(run(*letters).out, run('--help').out, f'{" ".join(letters)}: help comes first')
    with tempfile.TemporaryDirectory(prefix='cgtpgen-') as folder:
        version = result.out.split()[1]
        text = run('-o-', spec(folder)).out
        equal([text.count('\n * Generated by cgtpgen '), text.count(version)], [len(files()), 1],
              'every file says that it is generated, the header alone by which version')


def test_manual(folder):
    """What the manual shows is so: a message, and how a self-test is built."""
    shown = re.search(r'^(layer\.yaml:(\d+):\d+: .*)\n(.*)\n(.*)$', MANUAL, re.M)
    lines = SPEC.replace('NAME', 'layer').splitlines()[:-1]
    lines += ['#'] * (int(shown[2]) - 1 - len(lines)) + [shown[3]]
    write(f'{folder}/layer.yaml', '\n'.join(lines) + '\n')
    equal(run('--lint', 'layer.yaml', folder=folder).err, shown[0] + '\n', "the manual's message is what is said")
    spec(folder, 'layer')
    os.symlink(os.path.abspath('runtime'), f'{folder}/runtime')
    os.symlink(GENERATOR, f'{folder}/cgtpgen')
    commands = re.findall(r'^\$ (cgtpgen --backend=c --emit=header,source,selftest .*)\n\$ (cc .*)$', MANUAL, re.M)[0]
    for command in *commands, './selftest':
        made = subprocess.run(command, shell=True, cwd=folder, env=os.environ | {'PATH': f'{folder}:{os.environ["PATH"]}'},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        ok(made.returncode == 0, f"the manual's {command}", made.stdout)


def test_backends(folder):
    a = spec(folder)
    for name, *option in (('default',), ('cuda', '--backend=cuda'), ('c', '--backend=c')):
        run(*option, '-o', f'{folder}/{name}', a)
    default, cuda, c = ({name: text for name, (text, _) in contents(f'{folder}/{part}').items()}
                        for part in ('default', 'cuda', 'c'))
    equal(sorted(default), files(), 'the kernels of the default backend are .cu files')
    ok(default == cuda, 'the default backend is CUDA')
    in_c = ['a.c', 'a.h', 'a_backward.c', 'a_forward.c']
    equal(sorted(c), in_c, '--backend=c: they are .c files')
    texts = [re.sub(r'^ \* Workspace: .*\n|\(text \w+\)', '', text, flags=re.M) for text in (c['a.h'], cuda['a.h'])]
    equal(texts[0], texts[1], 'the header is the same but for the workspace')
    ok('"cgtp_cuda.h"' in cuda['a_forward.cu'] and '"cgtp_c.h"' in c['a_forward.c'],
       "the kernels include their backend's runtime")
    equal([(run('--check', *option, '-o', f'{folder}/{name}', a).status) for name, *option in
           (('cuda',), ('c', '--backend=c'), ('c',), ('cuda', '--backend=c'))], [0, 0, 3, 3],
          '--check compares what the backend writes')
    equal(sorted(run('--backend=c', '--list', a).out.split()), in_c, '--backend=c --list')
    out = run('--backend=c', '-o-', a).out
    equal(sorted(re.findall(r'^==> (.*) <==$', out, re.M)), in_c, '--backend=c -o -')
    rule = run('--backend=c', '-MD', '-MF-', '-o', f'{folder}/c', a).out.replace('\\\n', '')
    equal(sorted(rule.split(':')[0].split()), [f'{folder}/c/{name}' for name in in_c], '--backend=c -MD')
    for option, arch, evaluation in (([], 'sm_90', 'tiled'), (['--arch=sm_80'], 'sm_80', 'tiled'),
                                     (['--backend=c'], 'c', 'loops')):
        report = json.loads(run('--print=json', *option, a).out)
        planned = {one['evaluation'] for kernel in report['kernels'] for one in kernel['schedules']}
        equal((report['arch'], planned), (arch, {evaluation}), f"--print=json {' '.join(option)}: planned for {arch}")
        ok(bool(report['machine']) == (arch != 'c') and (arch == 'c' or min(map(float, list(report['machine'].values())[1:])) > 1e11),
           f"--print=json {' '.join(option)}: a machine and its rates", report['machine'])
    plan, plan_c = (run('--print=plan', *option, a).out for option in ([], ['--backend=c']))
    both = plan.split('schedules for')[0]
    ok(plan_c.startswith(f'{both}schedules for c\n') and plan.startswith(f'{both}schedules for sm_90\n'),
       "--print=plan: a target's schedules follow what all have", plan, plan_c)


def test_many_outputs(folder):
    names = [a + b for a in 'abcdefgh' for b in 'abcdefgh']
    for slot, term in (('x', 'Q_x(y, w, gz)'), ('y', 'Q_y(x, w, gz)'), ('z', 'Q_g(x, y, w)')):
        for reduction in ('deterministic', 'atomic'):
            text = SPEC.replace('NAME', 'many').replace('4x', '32x').replace('kernels: [forward, backward]', f"""\
index: {{x: sender, y: item, w: item, z: receiver}}
reduction: {reduction}
kernels:
  - name: outputs
    outputs:
""" + ''.join(f'      out{name}: ["{term}"]\n' for name in names))
            result = run('-Wno-large-code', '-o-', '-', stdin=text)
            equal((result.status, result.err, len(set(re.findall(r'float \*(out\w\w)', result.out)))),
                  (0, '', len(names)), f'as many outputs as there may be, of {slot}, {reduction}')


def test_writing(folder):
    a, out = spec(folder), f'{folder}/deep/out'
    equal(run('--list', '-o', out, a).out.split(), [f'{out}/{name}' for name in
          ['a.h', 'a.c', 'a_forward.cu', 'a_backward.cu']], '--list')
    ok(not os.path.exists(f'{folder}/deep'), '--list writes nothing')
    result = run('-o', out, a)
    ok((result.status, result.out, result.err) == (0, '', ''), 'generates in silence', result)
    equal(sorted(os.listdir(out)), files(), 'the files, and no temporary ones')
    before = contents(out)
    run(f'-o{out}/', '--backend=cuda', '--emit=header', '--emit', 'source', '--', a)
    equal(contents(out), before, 'unchanged files keep their times')
    write(f'{out}/a.c', read(f'{out}/a.c') + 'stale')
    run('-o', out, a)
    after = contents(out)
    ok(after['a.c'][0] == before['a.c'][0] and all(after[n] == before[n] for n in after if n != 'a.c'),
       'only the file that differs is replaced')
    run(a, folder=folder)
    ok(set(files()) < set(os.listdir(folder)), 'the default folder is the current one')
    result = run('-o', f'{out}/a.h', a)
    ok(result.status == 4 and 'a.h: Not a directory' in result.err, '-o names a file: 4', result)


def test_streams(folder):
    a, out = spec(folder), f'{folder}/out'
    run('-o', out, a)
    result = run('-o', '-', '-', stdin=read(a))
    parts = re.split(r'^==> (.*) <==\n', result.out, flags=re.M)
    ok(result.status == 0 and parts[0] == '' and dict(zip(parts[1::2], parts[2::2])) ==
       {name: text for name, (text, _) in contents(out).items()}, 'all files on standard output, the same', result)
    equal(run('-o', '-', '--emit=header', a).out, read(f'{out}/a.h'), 'one file on standard output as it is')
    text = run('--emit=header', '-o-', '-', stdin=SPEC + 'description: "a */ b /* c"\n').out
    ok(' * a * / b / * c\n' in text, 'no description ends the comment that it stands in', text)
    text = SPEC.replace('[forward, backward]', '[' + ', '.join(f'{{name: {name}, of: forward}}' for name in ('new', 'ALL', 'end_')) + ']')
    text = run('--emit=hpp', '-o-', '-', stdin=text).out
    equal([f' {name}(' in text for name in ('new', 'new_', 'ALL', 'ALL_', 'end_', 'end__')], [False, True] * 3,
          'what cannot be a name in C++ has an underscore there')
    result = run('-', stdin=BAD)
    ok(result.status == 1 and result.err.startswith('<stdin>:5:'), 'errors in standard input', result)


def test_reports(folder):
    a = spec(folder)
    out = run('--print=json,paths,nnz,weights,plan,cost', a, folder=folder)
    ok(out.status == 0 and not out.err, 'all reports', out)
    equal(os.listdir(folder), ['a.yaml'], 'a report alone writes no file')
    for words in ('a: paths', 'a: nonzero', 'a: weights', '"name": "a"'):
        ok(words in out.out, f'the report {words}', out)
    equal(run('--print=paths', '--print', 'cost', a).out,
          run('--print=paths', a).out + run('--print=cost', a).out, 'lists add up')
    both = json.loads(run('--print=json', a, spec(folder, 'b')).out)
    equal([product['name'] for product in both], ['a', 'b'], 'JSON of two specs: a list')
    both = run('--print=json,paths', a, f'{folder}/b.yaml').out
    equal([one['name'] for one in json.loads(both[both.index('\n[\n'):])], ['a', 'b'], 'after the other reports')
    os.remove(f'{folder}/b.yaml')
    text = 'quotes " \' and \\, a\ttab, \u00e9, \u4e16'
    product = json.loads(run('--print=json', '-', stdin=SPEC + f'description: {json.dumps(text)}\n').out)
    equal((product['name'], product['description'], [k['name'] for k in product['kernels']]),
          ('NAME', text, ['forward', 'backward']), 'JSON strings are escaped')
    equal(product['kernels'][1]['outputs'][2], {'name': 'gw', 'slot': 'w', 'terms': ['Q_w(x, y, gz)']},
          'JSON says what a kernel computes')
    run('--print=paths', '-o', f'{folder}/out', a)
    equal(sorted(os.listdir(f'{folder}/out')), files(), 'with -o files are written too')
    for letter, words in zip('spflecm', ('instruction 0', 'nonzero', 'Q_x(', 'matrices', 'schedules for', 'flops per channel', 'bytes of memory')):
        result = run('-d', letter, '-o', f'{folder}/out', a)
        ok(result.status == 0 and words in result.err and not result.out, f'-d {letter}', result)
    ok('backward, derivative of forward(' in run('-df', '--list', a).err and
       'gx (cotangent of x) = ' in run('-df', '--list', a).err, '-d f says what derives from what')
    both = run('-dpf', '-d', 'm', '--list', a).err
    ok('nonzero' in both and 'Q_x(' in both and 'memory' in both, 'letters add up')


def test_wrong_specs(folder):
    good, bad, out = spec(folder, 'good'), spec(folder, 'bad', BAD), f'{folder}/out'
    worse = spec(folder, 'worse', SPEC.replace('4x1o', '4x1z'))
    run('-o', out, good)
    before = contents(out)
    write(good, read(good).replace('4x', '8x'))
    result = run('-o', out, good, bad, worse)
    ok(result.status == 1 and 'bad.yaml:5:' in result.err and 'worse.yaml:3:' in result.err,
       'every wrong spec is reported', result)
    equal(contents(out), before, 'no file changes, of the right specs neither')
    fails(1, 'bad.yaml:5:', '--print=paths', bad)
    fails(1, 'bad.yaml:5:', '--check', '-o', out, bad)
    fails(1, 'bad.yaml:5:', '-MD', '-o', out, bad)
    twin = write(f'{folder}/twin.yaml', read(good))
    fails(1, f"twin.yaml: error: the name 'good' is that of {good} too", '-o', out, good, twin)
    a = write(f'{folder}/x.yaml', SPEC.replace('NAME', 'n').replace('[forward, backward]',
              '[{name: k_f, of: forward, outputs: [z]}]'))
    b = write(f'{folder}/y.yaml', SPEC.replace('NAME', 'n_k').replace('[forward, backward]',
              '[{name: f, of: forward, outputs: [z]}]'))
    fails(1, f'y.yaml: error: it defines n_k_f, and so does {a}', '-o', out, a, b)
    equal(contents(out), before, 'still no file changed')
    fails(1, 'big.yaml', write(f'{folder}/big.yaml', SPEC + '#' * (1 << 20)))
    fails(1, '/dev/zero', '/dev/zero')


def test_warnings(folder):
    text = SPEC.replace('1x1o', '1o').replace('y: 0e + 1o', 'y: 0e + 1o + 2e').replace(
        '[forward, backward]', '[{name: k, arguments: {by: d y}, outputs: {a: ["Q_g(x, y, w)"]}}]')
    a, other, out = spec(folder, 'a', text), spec(folder, 'b'), f'{folder}/out'

    def told(*options):
        """The exit status, the kinds of errors and of warnings, whether files were written."""
        result = run(*options, '-o', out, a, other)
        written = os.path.isdir(out) and bool(os.listdir(out))
        for name in os.listdir(out) if written else []:
            os.remove(f'{out}/{name}')
        return (result.status, re.findall(r': error: .* \[-Werror=(.*)\]', result.err),
                re.findall(r': warning: .* \[-W(.*)\]', result.err), written)
    dead, argument = 'dead-input', 'dead-argument'
    for options, errors, warnings in [
            ([], [], [dead, argument]),
            (['-Wall'], [], [dead, argument]),
            (['-Wno-dead-input'], [], [argument]),
            (['-W', 'no-dead-input'], [], [argument]),
            (['-Wno-all'], [], []),
            (['-Wno-all', f'-W{dead}'], [], [dead]),
            ([f'-W{dead}', '-Wno-all'], [], []),
            (['-Wno-parity'], None, None),
            (['-Werror'], [dead, argument], []),
            (['-Werror', '-Wno-error'], [], [dead, argument]),
            (['-Werror', f'-Wno-{dead}'], [argument], []),
            (['-Werror', f'-Wno-error={dead}'], [argument], [dead]),
            ([f'-Wno-error={dead}', '-Werror'], [argument], [dead]),
            ([f'-Werror={dead}'], [dead], [argument]),
            ([f'-Werror={dead}', '-Wno-all'], [], []),
            ([f'-Werror={dead}', '-Wall'], [dead], [argument]),
            ([f'-Werror={dead}', f'-Wno-error={dead}'], [], [dead, argument]),
            (['-Wno-all', f'-Wno-error={dead}'], [], []),
            (['-Wno-all', f'-Werror={dead}'], [dead], [])]:
        if errors is None:
            fails(2, "unknown warning 'parity'", *options, a)
        else:
            equal(told(*options), (1 if errors else 0, errors, warnings, not errors), f"warnings, {' '.join(options)}")
    before = sorted(os.listdir(folder))
    result = run('--lint', a, other, folder=folder)
    ok(result.status == 0 and not result.out and result.err.count('warning') == 2, '--lint', result)
    result = run('--lint', '-Werror', a, other, folder=folder)
    ok(result.status == 1 and not result.out and result.err.count('error:') == 2, '--lint -Werror', result)
    result = run('--lint', '-', stdin=BAD, folder=folder)
    ok(result.status == 1 and '<stdin>:5:' in result.err, '--lint of a wrong spec', result)
    result = run('--lint', other, other, folder=folder)
    ok((result.status, result.out, result.err) == (0, '', ''), '--lint judges each spec by itself', result)
    equal(sorted(os.listdir(folder)), before, '--lint writes nothing')
    manual = set(re.findall(r'(?:empty-product|repeated-instruction|dead-\w+|filter-multiplicity|large-code|edited-file|memory(?=\nand))', MANUAL))
    told_of = run('-Wx', a).err
    ok(all(name in told_of for name in manual) and sum('-' in name for name in manual) == told_of.count('-') - 1 and 'memory' in manual,
       'the manual names the warnings that there are', manual, told_of)


def test_input_output(folder):
    a, bad, out = spec(folder), spec(folder, 'bad', BAD), f'{folder}/out'
    fails(4, 'none.yaml: No such file or directory', f'{folder}/none.yaml')
    fails(4, 'cgtpgen: help: No such file or directory; a spec is a file, and --help lists the options\n', 'help')
    fails(4, 'Is a directory', folder)
    result = run(bad, f'{folder}/none.yaml')
    ok(result.status == 1 and 'none.yaml' in result.err, 'the first that happens: 1', result)
    result = run(f'{folder}/none.yaml', bad)
    ok(result.status == 4 and 'bad.yaml:5:' in result.err, 'the first that happens: 4', result)
    full = open('/dev/full', 'w')
    for arguments in (['--help'], ['--version'], ['--print=paths', a], ['-o', '-', a], ['--list', a],
                      ['--check', '-o', out, a], ['-MD', '-MF', '-', '-o', f'{folder}/full', a]):
        result = run(*arguments, stdout=full)
        ok(result.status == 4 and 'standard output: No space left on device' in result.err,
           f'{arguments[0]}: standard output is full: 4', result)
        result = run(*arguments, prepare=lambda: os.close(1))
        ok(result.status == 4 and 'standard output: Bad file descriptor' in result.err,
           f'{arguments[0]}: standard output is closed: 4', result)
    fails(1, 'it generates a_selftest.c, and so does', '--emit=source,selftest', '--list', a, spec(folder, 'a_selftest'))
    os.remove(f'{folder}/a_selftest.yaml')
    result = run('--emit=torch', '--list', a, spec(folder, 'b'))
    equal(result.out.split(), ['a_torch.cpp', 'a.py', 'pyproject.toml', 'setup.py', 'b_torch.cpp', 'b.py'],
          'files that all products share are written once')
    result = run('--emit=jax,torch', '--list', a)
    equal(result.out.split(), ['a_torch.cpp', 'a.py', 'pyproject.toml', 'setup.py', 'a_jax.cpp', 'a_jax.py'],
          'and once for PyTorch and JAX')
    fails(1, 'it generates setup.py, and so does', '--emit=torch', '--list', spec(folder, 'setup'))
    os.remove(f'{folder}/setup.yaml')
    fails(1, 'it generates a_jax.py, and so does', '--emit=torch,jax', '--list', a, spec(folder, 'a_jax'))
    os.remove(f'{folder}/a_jax.yaml')
    os.remove(f'{folder}/b.yaml')
    reader, gone = os.pipe()
    os.close(reader)
    for arguments in ['--print=paths', a], ['-o', '-', a], ['-MD', '-MF', '-', '-o', f'{folder}/gone', a]:
        result = run(*arguments, stdout=gone)
        ok(result.status == -signal.SIGPIPE and not result.err, f'{arguments[0]}: nobody reads standard output', result)
        result = run(*arguments, stdout=gone, prepare=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
        ok(result.status == 4 and result.err == 'cgtpgen: standard output: Broken pipe\n',
           f'{arguments[0]}: nobody reads it, where SIGPIPE is ignored: 4', result)
    equal(sorted(os.listdir(f'{folder}/gone')), files(), 'the files are whole')
    os.close(gone)
    for closed in (0, 1, 2):
        result = run('-o', out, a, prepare=lambda: os.close(closed))
        ok(result.status == 0, f'descriptor {closed} is closed but not needed: 0', result)
    result = run('-', prepare=lambda: os.close(0))
    ok(result.status == 4 and '<stdin>: Bad file descriptor' in result.err, 'standard input is closed: 4', result)
    equal(sorted(os.listdir(out)), files(), 'the files are whole')
    fails(4, '/dev/full: No space left on device', '-MD', '-MF', '/dev/full', '-o', f'{folder}/new', a)
    equal(os.listdir(f'{folder}/new'), [], 'and the others are not written')

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    before = contents(out)
    write(a, read(a).replace('4x', '8x'))
    result = run('-o', out, a, prepare=small_files)
    ok(result.status == 4 and 'File too large' in result.err, 'a write that fails half-way: 4', result)
    equal(contents(out), before, 'changes nothing and leaves nothing behind')
    write(a, read(a).replace('8x', '4x'))
    os.remove(f'{out}/a.h')
    os.mkfifo(f'{out}/a.h')
    fails(4, f'{out}/a.h: No such device or address', '-o', out, a, timeout=60)
    fails(4, f'{out}/a.h: Operation not supported', '--check', '-o', out, a, timeout=60)
    reader = subprocess.Popen(['cat', f'{out}/a.h'], stdout=subprocess.PIPE, text=True)
    writer = os.open(f'{out}/a.h', os.O_WRONLY)  # so that the reader is there, and does not end
    result = run('-o', out, a, timeout=60)
    os.close(writer)
    ok(result.status == 0 and reader.communicate()[0].startswith('/* a: C interface'), 'a pipe that is read', result)


def test_argument_files(folder):
    """@FILE: its words stand in its place."""
    a, words = spec(folder), f'{folder}/words'
    listed = run('--backend=c', '--list', a).out

    def given(text, *arguments, **more):
        write(words, text)
        return run(*arguments, f'@{words}', folder=folder, **more)
    for text in f'--backend=c\n--list\n{a}\n', f' --backend=c\t--list\r\n\f\v{a}', f'"--backend"=\'c\' "--list" {a}':
        equal(given(text).out, listed, f'words of {text.replace(folder, "")!r}')
    for text, name in (r"'a \b\"c'", r'a \b\"c'), (r'"a \\b\"c\'d"', r"""a \b"c'd"""), (r'a\ b\"c\'d\@', r"""a b"c'd@"""), \
            ('a"b c"d', 'ab cd'), ("''", None), ('a\\', 'a\\'):
        result = given(f'-MD -MF- -o {folder}/out {a} -MT {text}')
        ok(result.out.startswith(f'{name}: ') if name else 'cgtpgen: -MT needs a value\n' == result.err,
           f'the word {text} is {name}', result)
    write(f'{folder}/inner', '--list')
    equal(given(f'@{folder}/inner {a}', '--backend=c').out, listed, 'a file that names another')
    equal(given('c', '--list', a, '--backend').err, run('--backend', 'c', a, '--list').err, 'the value of an option')
    equal(given('', '--backend=c', '--list', a).out, listed, 'an empty file')
    equal(run('--backend=c', '--list', '@-', stdin=a).out, listed, 'standard input')
    os.rename(a, f'{folder}/@a.yaml')
    equal(run('--backend=c', '--list', './@a.yaml', folder=folder).out, listed, 'a spec with such a name')
    fails(4, '@none: No such file or directory', '@none', '--help')
    for text, message in (f'@{words}', 'more than 100 files of arguments; does one name itself?'), \
            ('a "b c', "a quotation mark is missing at the end of 'b c'"), ("'a", "at the end of 'a'"), \
            ('a\0b', 'it is no text: it holds a zero byte'), ('--chek', 'unknown option --chek'):
        result = given(text)
        ok(result.status == 2 and message in result.err and not result.out, f'{text.replace(folder, "")!r}: {message}', result)


def test_names(folder):
    """--name: other files and functions, the same product."""
    a, b, out = spec(folder), spec(folder, 'b'), f'{folder}/out'
    run('-o', out, a)
    before = {name: text for name, (text, _) in contents(out).items()}
    run('-MD', '--name=left_%_2', '-o', out, a)
    after = {name: text for name, (text, _) in contents(out).items() if name not in before}
    equal(sorted(after), sorted(['left_a_2.spec.d', *(name.replace('a', 'left_a_2', 1) for name in files())]), '--name: files')
    equal(set(re.findall(r'\b\w*a_(?:2_)?(?:product|forward|backward)\b', after['left_a_2.h'])),
          {'left_a_2_product', 'left_a_2_forward', 'left_a_2_backward'}, 'functions')
    digests = {re.search(r'_DIGEST "(\w+)"', text).group(1) for text in [before['a.h'], after['left_a_2.h']]}
    equal(len(digests), 1, 'the digest is of the spec, whatever the name')
    equal(run('--name=one', '--list', a).out.split()[0], 'one.h', 'a pattern without %: that name')
    equal([run('--name=%', '-o-', a).out], [run('-o-', a).out], 'the pattern %: nothing changes')
    equal(run('--name=%_2', '--list', '--emit=header', a, b).out.split(), ['a_2.h', 'b_2.h'], 'several specs')
    fails(1, f"{a}: error: --name=cgtp_%: 'cgtp_a' cannot be the name of a product: names that begin with cgtp_ are "
          "the runtime's", '--name=cgtp_%', a)
    fails(1, "--name=2%: '2a' cannot be the name of a product: a C identifier has", '--name=2%', a)
    fails(1, "it has 66 characters; at most 64 are allowed", f'--name={"x" * 65}%', a)
    typed = write(f'{folder}/t.yaml', SPEC.replace('[forward, backward]', '[{name: t, of: forward}]'))
    fails(1, "--name=int8: the function of kernel t would be int8_t, which is a type in C", '--name=int8', typed)


def test_leftovers(folder):
    """Files of kernels that are gone are named and, with --prune, removed; no others are, whatever they look like."""
    a, out = spec(folder), f'{folder}/out'
    other = spec(folder, 'a_b')
    run('--emit=header,source,selftest', '-o', out, a, other)
    stale = f'{out}/a_backward.cu'
    text = read(stale)
    kept = {'a_notes.cu': 'mine', 'a_old.cu': re.sub(r' \(text \w+\)', '', text), 'a_triple.cu': text.replace(' */', ' */\nint mine;', 1), 'a_backward.cu.orig': text.replace('/* a:', '/* b:'), 'b_backward.cu': text,
            'a_backward_mine.cu': text.replace('Generated by cgtpgen', 'Once generated by cgtpgen'), 'a_empty.c': ''}
    for name, content in kept.items():
        write(f'{out}/{name}', content)
    os.symlink('a_backward.cu', f'{out}/a_link.cu')
    os.mkdir(f'{out}/a_folder.cu')
    write(a, read(a).replace('[forward, backward]', '[forward]'))
    run('-o', out, a)
    before = set(os.listdir(out))
    result = run('-o', out, a)
    told = "cgtpgen: {} is left over: today's spec does not make it; {}\n".format
    edited, old, removes, removed, stays = f'{out}/a_triple.cu', f'{out}/a_old.cu', '--prune removes it', 'it is removed', \
        'it stays, for it was edited since cgtpgen wrote it'
    equal((result.status, result.out, result.err), (0, '', told(stale, removes) + told(old, removes) + told(edited, removes)), 'told')
    result = run('--check', '-o', out, a)
    lines = text.count('\n')
    ok(result.status == 3 and result.out.startswith(f'--- {stale}\n+++ /dev/null\n@@ -1,{lines} +0,0 @@\n-/* a: back') and
       result.out.count('\n--- ') == 2, '--check: 3, and the file as a removal', result)
    result = run('--prune', '-o', out, a)
    ok((result.status, result.out, result.err) == 
       (0, '', told(stale, removed) + told(old, 'it stays, for it has no checksum, and may be edited') + told(edited, stays)),
       '--prune says what it does', result)
    equal(before - set(os.listdir(out)), {'a_backward.cu'}, 'removes that file and no other')
    result = run('--prune', '--force', '-o', out, a)
    equal((result.status, result.err, before - set(os.listdir(out))), (0, told(old, removed) + told(edited, removed), {'a_backward.cu', 'a_old.cu', 'a_triple.cu'}),
          'with --force what was edited, too')
    equal(run('--check', '-o', out, a).status, 0, '--check afterwards: 0')
    result = run('--prune', '--backend=c', '-o', out, a)
    equal(before - set(os.listdir(out)), {'a_backward.cu', 'a_old.cu', 'a_triple.cu', 'a_forward.cu'}, "another backend's kernels are left over")
    equal(run('--prune', '-o', f'{folder}/none', a).status, 0, '--prune where there is nothing')
    for arguments in ['--check'], ['--list'], ['-o', '-'], ['--print=cost']:
        fails(2, '--prune removes files: not with', '--prune', *arguments, a)


def test_foreign(folder):
    """What is not of cgtpgen is not written over, and nothing else is then; edited files are named."""
    a, out = spec(folder), f'{folder}/out'
    everything = '--emit=header,hpp,source,selftest,torch,report'
    wanted = run('--list', everything, '-o', out, a).out.split()
    os.mkdir(out)
    for path in wanted:
        write(path, 'int hand_written;\n')
    for arguments in [], ['-Wno-all'], ['--prune'], ['-MD']:
        result = run(*arguments, everything, '-o', out, a)
        equal((result.status, result.err), (4, ''.join(f'cgtpgen: {path} is not of cgtpgen, and stays; --force replaces it\n'
                                                       for path in wanted)), f'hand-written files are named {arguments}')
        equal({read(path) for path in wanted} | set(os.listdir(out)),
              {'int hand_written;\n'} | {os.path.basename(path) for path in wanted}, 'and stay; nothing is written beside them')
    os.remove(wanted[0])
    equal((run(everything, '-o', out, a).status, os.path.exists(wanted[0])), (4, False), 'not one file is')
    result = run('--force', everything, '-o', out, a)
    equal((result.status, result.err, run(everything, '--check', '-o', out, a).status), (0, '', 0), '--force writes all')
    equal(run('-Werror', everything, '-o', out, a).status, 0, 'what is as it was written is ours')
    write(wanted[1], read(wanted[1]).replace('\n', '\r\n'))
    equal(run('-Werror', everything, '-o', out, a).status, 0, 'with other line ends, too')
    for path in wanted:
        write(path, read(path) + '\n')
    result = run(everything, '-o', out, a)
    equal((result.status, [line.split(': warning')[0] for line in result.err.splitlines()], result.err.count('[-Wedited-file]')),
          (0, wanted, len(wanted)), 'edited files are named')
    for path in wanted:
        write(path, '')
    equal(run('-Werror', everything, '-o', out, a).status, 0, 'in empty files nothing can be lost')
    makefile = f'{folder}/Makefile'
    for text in ('all: a.h\n\techo\n', '# mine\n', 'CC = gcc\n', 'include x\nall: a.h\n'):
        write(makefile, text)
        result = run('-MD', '-MF', makefile, '-o', out, a)
        equal((result.status, result.err, read(makefile)),
              (4, f'cgtpgen: {makefile} is not of cgtpgen, and stays; --force replaces it\n', text), f'-MF over {text!r}')
    for more in [], ['-MP'], ['-MT', 'x=y:$@ z'], ['--force']:
        write(makefile, 'a.o: a.c \\\n  b.h\n\nb.h:\n')
        for _ in range(2):
            equal(run('-MD', '-MF', makefile, *more, '-o', out, a).status, 0, f'-MF over rules, and over its own {more}')
    for arguments in ['--check'], ['--list'], ['-o', '-'], ['--print=cost'], ['--lint']:
        fails(2, '--force replaces files: not with', '--force', *arguments, a)


def test_mutant(folder):
    """What --mutate makes says so, for it looks like any other; nothing else does."""
    a, out = spec(folder), f'{folder}/out'
    run('--backend=c', '-o', out, '--mutate=1', a)
    texts = [read(f'{out}/{name}') for name in os.listdir(out)]
    ok(len(texts) > 2 and all(' With a mistake made on purpose (--mutate=1). Generated by cgtpgen ' in text for text in texts),
       'every file of a mutant says that it is one', texts[0][:200])
    run('--backend=c', '-Werror', '-o', out, '--mutate=0', a)
    ok(not any('mistake' in read(f'{out}/{name}') for name in os.listdir(out)), 'and no other does')


def test_memory(folder):
    if SANITIZED:
        return skip('out of memory', 'an address sanitizer needs its own')
    for backend in ('cuda', 'c'):
        starved, statuses, out = 0, set(), f'{folder}/{backend}'
        for megabytes in (4, 5, 6, 8, 10, 12, 16, 24, 400):
            def limit():
                resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20,) * 2)
            result = run(f'--backend={backend}', '-o', out, LARGE, prepare=limit)
            if result.err == 'cgtpgen: out of memory\n' and result.status == 4:
                starved += 1
                ok(not os.path.exists(out),
                   f'{backend}: out of memory with {megabytes} MB: 4, nothing written')
            else:
                statuses.add((megabytes, result.status))
        ok(starved, f'{backend}: some limit was too low for the generator and not for the loader', statuses)
        ok((400, 0) in statuses, f'{backend}: 400 MB are enough', statuses)


def test_check(folder):
    a, out = spec(folder), f'{folder}/out'
    result = run('--check', '-o', out, a)
    ok(result.status == 3 and result.out.count('--- /dev/null\n') == 4 and not os.path.exists(out),
       '--check with nothing there: 3, all files as additions', result)
    run('-o', out, a)
    result = run('--check', '-o', out, a)
    ok((result.status, result.out, result.err) == (0, '', ''), '--check when fresh: 0, silent', result)
    fails(4, 'Not a directory', '--check', '-o', a, a)
    path = f'{out}/a.h'
    text = read(path)
    lines = text.splitlines(keepends=True)
    write(path, ''.join(lines[:9] + ['an old line\n'] + lines[10:]))
    before = contents(out)
    result = run('--check', '-o', out, a)
    wanted = (f'--- {path}\n+++ {path}\n@@ -7,7 +7,7 @@\n' + ''.join(' ' + line for line in lines[6:9]) +
              '-an old line\n+' + lines[9] + ''.join(' ' + line for line in lines[10:13]))
    equal((result.status, result.out), (3, wanted), '--check when stale: 3 and the diff')
    equal(contents(out), before, '--check writes nothing')
    os.remove(f'{out}/a.c')
    result = run('--check', '-o', out, a)
    ok(result.status == 3 and f'--- /dev/null\n+++ {out}/a.c\n@@ -0,0 +1,' in result.out, 'a missing file',
       result)


def test_dependencies(folder):
    a, b, out = spec(folder, 'a'), spec(folder, 'b'), f'{folder}/out'

    def targets(name):
        return [f'{out}/{name}{end}' for end in ('.h', '.c', '_forward.cu', '_backward.cu')]

    def rule(text):
        left, right = text.replace('\\\n', '').split(':', 1)
        return left.split(), right.split()
    run('-MD', '-o', out, a, b)
    equal([rule(read(f'{out}/{n}.spec.d')) for n in 'ab'], [(targets('a'), [a]), (targets('b'), [b])], '-MD')
    run('-MD', '-MF', f'{folder}/all.d', '-o', out, a, b)
    equal(read(f'{folder}/all.d'), read(f'{out}/a.spec.d') + read(f'{out}/b.spec.d'), '-MF')
    result = run('-MD', '-MF-', '-MP', '-MT', 'one', '-MTtwo words', '-o', out, a)
    equal(result.out, f'one two words: {a}\n\n{a}:\n', '-MF -, -MP and -MT')
    equal(rule(run('-MD', '-MF-', '-o', out, '-', stdin=read(a)).out), (targets('a'), []), 'standard input')
    equal(rule(run('-MD', '-MF-', 'a.yaml', folder=folder).out)[0],
          ['a.h', 'a.c', 'a_forward.cu', 'a_backward.cu'], 'targets in the current folder have no folder')
    before = contents(out)
    run('-MD', '-o', out, a, b)
    equal(contents(out), before, 'dependency files keep their times too')
    odd = f'{folder}/a: b#c$d'
    os.mkdir(odd)
    run('-MD', '-MF', f'{folder}/odd.d', '-o', odd, a)
    write(f'{folder}/Makefile', f'all: made\ninclude odd.d\nmade: {odd.replace(" ", chr(92) + " ").replace(":", chr(92) + ":").replace("#", chr(92) + "#").replace("$", "$$")}/a.h\n\ttouch made\n')
    made = subprocess.run(['make', '-C', folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ok(made.returncode == 0 and os.path.exists(f'{folder}/made'), 'make reads names with blanks and signs', made.stdout)
    os.symlink(a, f'{folder}/link')
    before = contents(out), read(a)
    for path, what in ((a, 'a spec'), (f'{folder}/../{os.path.basename(folder)}/a.yaml', 'a spec'), (f'{folder}/link', 'a spec'),
                       (f'{out}/a.h', 'the dependency file and generated too'),
                       (f'{out}/../out/a_forward.cu', 'the dependency file and generated too')):
        fails(2, f'would be overwritten: it is {what}', '-MD', '-MF', path, '-o', out, a)
    for path in a, f'{folder}/link':
        with open(a) as stdin:
            fails(2, f'{path} would be overwritten: it is a spec', '-MD', '-MF', path, '-o', out, '-', stdin=stdin)
    equal((contents(out), read(a)), before, 'and nothing is written')
    with open(a) as stdin:
        equal((run('-MD', '-MF', './-', '-o', out, '-', stdin=stdin, folder=folder).status, os.path.exists(f'{folder}/-')),
              (0, True), 'a file may have the name of standard input')
    linked = f'{folder}/linked'
    os.mkdir(linked)
    os.symlink(a, f'{linked}/a.h')
    fails(2, f'{linked}/a.h would be overwritten: it is a spec', '-o', linked, a)


def test_determinism(folder):
    a, b = spec(folder, 'a'), spec(folder, 'b')
    os.mkdir(f'{folder}/else where')
    environment = {'TZ': 'Asia/Kathmandu', 'LC_ALL': 'de_DE.UTF-8', 'LANG': 'tr_TR', 'HOME': '/nowhere'}
    for backend in ('cuda', 'c'):
        option = f'--backend={backend}'
        run(option, '-o', f'{folder}/{backend}', a, b)
        plain = {name: text for name, (text, _) in contents(f'{folder}/{backend}').items()}
        run(option, '-o', backend, '../b.yaml', '../a.yaml', folder=f'{folder}/else where',
            environment=environment)
        other = {name: text for name, (text, _) in contents(f'{folder}/else where/{backend}').items()}
        ok(other == plain, f'{backend}: the output depends on no folder, locale, time zone or order of specs')
        ok(not any(folder in text for text in plain.values()), f'{backend}: and names no folder')
        reports = [option, '--print=json,cost,paths,plan', a]
        equal(run(*reports, environment=environment).out, run(*reports).out, f'{backend}: nor do reports')


test_help()
for test in (test_usage, test_json, test_manual, test_backends, test_many_outputs, test_writing, test_streams, test_reports, test_wrong_specs,
             test_warnings, test_input_output, test_argument_files, test_names, test_leftovers, test_foreign, test_mutant,
             test_memory, test_check, test_dependencies, test_determinism):
    with tempfile.TemporaryDirectory(prefix='cgtpgen-') as folder:
        test(folder)
done()
