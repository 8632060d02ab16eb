#!/usr/bin/env python3
"""What goes wrong at any one place: an allocation, libyaml's too; a call that opens, writes or renames; a signal that
ends the process. The exit status says so, and a message; no temporary file stays, and a file is as it was or as it is
to be. Every place of a small spec, some of larger ones; with TEST_ALL every place of all."""
import os
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, ok, plain, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
LIBRARY = f'{BUILD}/faults.so'
ALL = os.environ.get('TEST_ALL')
SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
SAMPLE = 60  # places, where not all are tried
EVERYTHING = {'c': 'header,hpp,source,unity,selftest', 'cuda': 'header,hpp,source,selftest'}
SMALL = '''cgtp: 1
name: small
irreps: {x: 4x0e + 4x1o, y: 0e + 1o, z: 4x0e + 4x1o}
instructions: [[0, 0, 0, uvu], [0, 1, 1, uvu], [1, 0, 1, uvu], [1, 1, 0, uvu]]
kernels: [forward, backward]
'''
SPECS = {'small': SMALL}
for name, path, layout in (('graph', 'tests/simt/specs/conv_mixed.yaml', 'layout: {x: ir_mul}\n'),
                           ('layer', 'specs/nequip_water.yaml', '')):
    with open(path) as file:
        SPECS[name] = file.read() + layout


def generate(folder, backend, fault):
    """Generates into folder/out, which is (status, messages, number of chances)."""
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)

    def prepare():
        os.dup2(theirs, 3)
        for number in SIGNALS:  # which are ignored in what runs in the background
            signal.signal(number, signal.SIG_DFL)
    process = subprocess.run([GENERATOR, f'--backend={backend}', f'--emit={EVERYTHING[backend]}', '--print=json,plan',
                              '-MD', '-Wno-all', '--force', '-o', f'{folder}/out', f'{folder}/a.yaml'],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, 'LD_PRELOAD': PRELOADED, 'FAULT': fault}, preexec_fn=prepare, pass_fds=(theirs, 3))
    os.close(theirs)
    with os.fdopen(ours) as chances:
        return process.returncode, process.stderr, int(chances.read() or 0)


def contents(folder):
    found = {}
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        with open(f'{folder}/{name}') as file:
            found[name] = file.read()
    return found


def make_old(folder, whole):
    """All files are there, and say something else; the first is a link."""
    for name in os.listdir(f'{folder}/out'):
        os.remove(f'{folder}/out/{name}')
    os.symlink('../target', f'{folder}/out/{min(whole)}')
    for name in whole:
        with open(f'{folder}/out/{name}', 'w') as file:
            file.write('old\n')


def check(name, backend, kind, right):
    """Generates once for each chance; right(status, messages, files, whole) judges."""
    with tempfile.TemporaryDirectory(prefix='cgtpgen-') as folder:
        with open(f'{folder}/a.yaml', 'w') as file:
            file.write(SPECS[name])
        generate(folder, backend, f'{kind}:0')
        whole = contents(f'{folder}/out')
        make_old(folder, whole)
        status, messages, chances = generate(folder, backend, f'{kind}:0')
        if status or not chances or contents(f'{folder}/out') != whole:
            return ok(False, f'{name}, {backend}, {kind}', f'status {status}, {chances} chances', messages)
        step = 1 if ALL or name == 'small' else max(1, chances // SAMPLE)
        wrong, tried = [], range(1, chances + 1, step)
        for n in tried:
            make_old(folder, whole)
            status, messages, _ = generate(folder, backend, f'{kind}:{n}')
            found = contents(f'{folder}/out')
            if not replaced(found, whole) or not right(status, messages, found, whole) or \
                    not os.path.islink(f'{folder}/out/{min(whole)}'):
                wrong.append(f'{kind}:{n}: status {status}, {messages[:200]!r}, {sorted(found)}')
        return ok(not wrong, f'{name}, {backend}: {kind}, {len(tried)} of {chances} places', *wrong[:10])


def replaced(files, whole):
    """Each as it was or as it is to be, and no others."""
    return sorted(files) == sorted(whole) and all(text in ('old\n', whole[name]) for name, text in files.items())


def out_of_memory(status, messages, files, whole):
    """Nothing is written, or everything: what is done after writing needs memory too."""
    if status == 0:
        return files == whole
    return status == 4 and (files == whole or set(files.values()) == {'old\n'}) and \
        (messages == 'cgtpgen: out of memory\n' or messages.endswith(': Cannot allocate memory\n'))


def call_fails(status, messages, files, whole):
    """Where it does not matter (closing what was read), everything is right; messages cannot always be written."""
    return status == 4 or status == 0 and files == whole


def ended_by(number):
    return lambda status, messages, files, whole: status == -number and not messages


if '/san' in BUILD:
    skip('faults', 'an address sanitizer has an allocator of its own')
    done()
made = subprocess.run([*os.environ.get('CC', 'gcc').split(), '-O1', '-shared', '-fPIC', '-o', LIBRARY,
                       'tests/faults/faults.c'], capture_output=True, text=True)
PRELOADED = plain(LIBRARY)
if ok(made.returncode == 0, 'the library builds', made.stderr):
    for name in SPECS:
        for backend in EVERYTHING:
            check(name, backend, 'memory', out_of_memory)
    check('small', 'cuda', 'call', call_fails)
    for number in SIGNALS:
        check('small', 'c', int(number), ended_by(number))
done()
