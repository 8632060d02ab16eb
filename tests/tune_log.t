#!/usr/bin/env python3
"""The log of a tuner that others have written into, that was cut short, for which there is no memory or no room: nothing is
read beyond its end (with ASan and UBSan, where the compiler has them), and no time is lost without a word."""
import os
import resource
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, equal, ok  # noqa: E402

CC = shlex.split(os.environ.get('CC', 'cc'))
HEADER = b'device\tproblem\tkernel\tknobs\tsource\tround\tms\tleast\terror\n'
KEY = b'device\tproblem\tforward\t-\t0123abcd\t1\t'
MANY = 1 << 30


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def build(folder, *flags):
    return run(*CC, '-std=c11', '-D_POSIX_C_SOURCE=200809L', '-Wall', '-Wextra', '-g', *flags, '-Iruntime', '-o',
               f'{folder}/log', 'tests/tuner/log.c', 'runtime/cgtp.c', '-lm')


def no_room():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))


with tempfile.TemporaryDirectory() as folder:
    sanitized = build(folder, '-fsanitize=address,undefined', '-fno-sanitize-recover=all').returncode == 0
    built = None if sanitized else build(folder)
    ok(sanitized or built.returncode == 0, 'a program that reads logs' + ', sanitized' * sanitized, built and built.stdout)

    def read(content, allocations=MANY, **more):
        """What it says of a log, and what it adds."""
        path = f'{folder}/log.tsv'
        with open(path, 'wb') as file:
            file.write(content)
        result = run(f'{folder}/log', path, str(allocations), **more)
        with open(path, 'rb') as file:
            return result.returncode, result.stdout, file.read()[len(content):]

    added = KEY.replace(b'\t1\t', b'\t2\t') + b'4.00000\t3.00000\t0.0000\n'
    time = KEY + b'2\t1.5\t0.25\n'
    for name, content, said, end in (
            ('a time', HEADER + time, '2 lines, known 2 1.5 0.25 -', b''),
            ('the last of two', time + KEY + b'7\t6\t0\n', '2 lines, known 7 6 0 -', b''),
            ('a reason', KEY + b'it fails\n', '1 lines, known 0 0 0 it fails', b''),
            ('nothing', b'', '0 lines, unknown 0 0 0 -', b''),
            ('a last line cut short', HEADER + time[:-1], '1 lines, unknown 0 0 0 -', b'\n'),
            ('a line that ends within its key', KEY[:-9] + b'\n' + time, '2 lines, known 2 1.5 0.25 -', b''),
            ('a line that ends behind its key', KEY + b'\n', '1 lines, known 0 0 0 ', b''),
            ('empty lines', b'\n\n' + time, '3 lines, known 2 1.5 0.25 -', b''),
            ('a line that begins with a zero byte', HEADER + b'\0' + time + time, '3 lines, known 2 1.5 0.25 -', b''),
            ('zero bytes at the end', time + b'\0\0\0', '1 lines, known 2 1.5 0.25 -', b'\n'),
            ('a line longer than any', time + b'x' * 100000 + b'\n', '2 lines, known 2 1.5 0.25 -', b''),
            ('other bytes', time + bytes(range(128, 256)) + b'\n', '2 lines, known 2 1.5 0.25 -', b''),
            ('many lines', b'x\n' * 1000 + time, '1001 lines, known 2 1.5 0.25 -', b'')):
        equal(read(content), (0, said + '\n', end + added), name)

    equal(read(time, 1)[0], 0, 'one allocation')
    equal(read(time, 0), (2, 'Bail out! out of memory\n', b''), 'none: the end, in words')

    status, said, more = read(time, preexec_fn=no_room, restore_signals=False)
    ok(status == 2 and 'The log cannot be written: ' in said and not more, 'no room for another time: an error', said, more)
    status, said, more = read(time[:-1], preexec_fn=no_room, restore_signals=False)
    ok(status == 2 and 'log.tsv: ' in said and not more, 'nor for the end of a line: an error', status, said, more)
done()
