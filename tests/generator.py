"""build(folder, compiler, flags, *more): the generator and `more` sources by another compiler or with other flags, all
at once (compile.sh). (program, what was said); the program is kept while no source or flag changes. counting(): so that
it counts calls (counter.c), without optimisation, which compilers.t and limits.t share. by_cmake(): (folder, what was said),
by gcc without optimisation and warnings as errors, which compilers.t and cmake.t share."""
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


def is_kept(stamp, program, inputs, wanted):
    """Was the program made of these inputs, as wanted?"""
    if not os.path.exists(stamp) or not os.path.exists(program):
        return False
    if os.stat(program).st_mtime_ns <= max(os.stat(path).st_mtime_ns for path in inputs):
        return False
    with open(stamp) as there:
        return there.read() == wanted


def build(folder, compiler, flags, *more):
    program, stamp = f'{folder}/cgtpgen', f'{folder}/flags'
    more = [*more, f'{BUILD}/runtime_texts.c']  # which make makes
    inputs = [path for path in glob.glob('cgtpgen/**', recursive=True) if os.path.isfile(path)] + [*more, __file__]
    wanted = ' '.join([compiler, *STANDARD, *flags, *sorted(inputs)])
    if is_kept(stamp, program, inputs, wanted):
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


def by_cmake():
    folder = f'{BUILD}/by cmake'
    log, program = f'{folder}/said', f'{folder}/cgtpgen'
    inputs = [path for root in ('cgtpgen', 'runtime') for path in glob.glob(f'{root}/**', recursive=True)
              if os.path.isfile(path) and '__pycache__' not in path]
    os.makedirs(BUILD, exist_ok=True)
    with open(f'{BUILD}/by_cmake.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, wanted = f'{folder}/flags', ' '.join(sorted([*inputs, __file__]))
        if not is_kept(stamp, program, [*inputs, __file__], wanted):
            shutil.rmtree(folder, ignore_errors=True)
            said = run('cmake', '-G', 'Ninja', '-S', 'cgtpgen', '-B', folder, '-DCMAKE_BUILD_TYPE=None',
                       '-DCMAKE_C_COMPILER=gcc', f"-DCMAKE_C_FLAGS=-O0 {' '.join(STANDARD[2:])}")
            said += run('cmake', '--build', folder, '--verbose')
            with open(log, 'w') as there:
                there.write(said)
            with open(stamp, 'w') as there:
                there.write(wanted)
        with open(log) as there:
            return folder, there.read()
