"""build(folder, compiler, flags, *more): the generator and `more` sources by another compiler or with other flags, all
at once (compile.sh). (program, what was said); the program is kept while no source or flag changes. counting(): so that
it counts calls (counter.c), without optimisation, which compilers.t and limits.t share."""
import fcntl
import glob
import os
import shutil
import subprocess

BUILD = os.environ.get('BUILD', 'build')
STANDARD = '-std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror'.split()


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout or ('' if done.returncode == 0 else f'exit status {done.returncode}')


def build(folder, compiler, flags, *more):
    program, stamp = f'{folder}/cgtpgen', f'{folder}/flags'
    more = [*more, f'{BUILD}/runtime_texts.c']  # which make makes
    inputs = [path for path in glob.glob('cgtpgen/**', recursive=True) if os.path.isfile(path)] + [*more, __file__]
    newest = max(os.stat(path).st_mtime_ns for path in inputs)
    wanted = ' '.join([compiler, *STANDARD, *flags, *sorted(inputs)])
    if os.path.exists(stamp) and os.path.exists(program) and os.stat(program).st_mtime_ns > newest:
        with open(stamp) as there:
            if there.read() == wanted:
                return program, ''
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree('cgtpgen', f'{folder}/source')
    sources = [shutil.copy(path, f'{folder}/source') for path in more]
    sources += sorted(glob.glob(f'{folder}/source/*/**/*.c', recursive=True))
    said = run('tests/compile.sh', compiler, *STANDARD, *flags, f'-I{folder}/source', '--', *sources)
    said += said or run(compiler, *flags, '-o', program, *(path[:-1] + 'o' for path in sources), '-lyaml', '-pthread')
    with open(stamp, 'w') as there:
        there.write(wanted)
    return program, said


def counting():
    """By clang where there is it, which takes least time."""
    compiler = shutil.which('clang') or os.environ.get('CC', 'gcc').split()[0]
    os.makedirs(BUILD, exist_ok=True)
    with open(f'{BUILD}/counting.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build(f'{BUILD}/counting', compiler, ['-O0', '-finstrument-functions'], 'tests/counter.c')
