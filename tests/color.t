#!/usr/bin/env python3
"""Messages have colours on a terminal and nowhere else, unless the command line or the environment says otherwise;
without them they are the same text."""
import os
import pty
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, has_terminals, ok, skip  # noqa: E402

GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
SPECS = ['tests/bad/problem_parity.yaml', 'tests/bad/dead_filter.yaml']  # an error with a note, warnings
PLAIN = {name: value for name, value in os.environ.items() if name not in ('NO_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE')}


def told(terminal, *options, **environment):
    """Standard error, a terminal or a pipe, as text; a variable of the environment that is None is not there."""
    environment = {name: value for name, value in (PLAIN | {'TERM': 'xterm'} | environment).items() if value is not None}
    ours, theirs = pty.openpty()
    command = [GENERATOR, '--lint', *options, *SPECS]
    if not terminal:  # standard output is a terminal then: it must not matter
        run = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
        os.close(ours)
        os.close(theirs)
        return run.stderr.decode()
    run = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # the other end is closed
        pass
    run.communicate()
    os.close(ours)
    return b''.join(parts).decode().replace('\r\n', '\n')


def main():
    plain = told(False)
    colored = told(True)
    ok(plain.count('error:') == 3 and plain.count('warning:') == 2 and plain.count('note:') == 2, 'errors, warnings, notes', plain)
    ok('\x1b' not in plain, 'no colour where standard error is no terminal, but standard output is', repr(plain))
    for part, code in (('error:', '1;31'), ('warning:', '1;35'), ('note:', '1;36'), (r'\^~*', '1;32'), (r'\S+:\d+:\d+:', '1')):
        equal(len(re.findall(rf'\x1b\[{code}m{part}\x1b\[0m', colored)), len(re.findall(rf'(?<!\S){part}(?!\S)', plain)),
              f'on a terminal {part} is in colour {code}')
    equal(re.sub(r'\x1b\[[0-9;]*m', '', colored), plain, 'without the colours it is the same text')
    for terminal, options, environment, wanted in [
            (True, [], {'NO_COLOR': '1'}, False),
            (True, [], {'NO_COLOR': ''}, True),
            (True, [], {'TERM': 'dumb'}, False),
            (True, [], {'TERM': None}, False),
            (True, [], {'CLICOLOR': '0'}, False),
            (True, [], {'CLICOLOR': '1'}, True),
            (False, [], {'CLICOLOR': '1'}, False),
            (False, [], {'CLICOLOR_FORCE': '1'}, True),
            (False, [], {'CLICOLOR_FORCE': '0'}, False),
            (False, [], {'CLICOLOR_FORCE': ''}, False),
            (False, [], {'CLICOLOR_FORCE': '1', 'NO_COLOR': '1'}, False),
            (True, ['--color=never'], {}, False),
            (False, ['--color=never'], {'CLICOLOR_FORCE': '1'}, False),
            (False, ['--color=always'], {}, True),
            (False, ['--color=always'], {'NO_COLOR': '1', 'TERM': None}, True),
            (True, ['--color=auto'], {}, True),
            (False, ['--color=auto'], {}, False),
            (False, ['--color=always', '--color=auto'], {}, False),
            (True, ['--diagnostics=json'], {}, None),
            (False, ['--diagnostics=json'], {'CLICOLOR_FORCE': '1'}, None)]:
        found = told(terminal, *options, **environment)
        name = ' '.join(['a terminal' if terminal else 'a pipe', *options, *(f'{n}={v}' for n, v in environment.items())])
        if wanted is None:
            ok('\x1b' not in found and found.startswith('{'), f'{name}: JSON has none', repr(found))
        else:
            equal(found, colored if wanted else plain, f"{name}: {'colours' if wanted else 'none'}")


if has_terminals():
    main()
else:
    skip('colours', 'no pseudo terminals')
done()
