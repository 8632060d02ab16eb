"""run(command, source, *outputs): what a compiler makes of a source and says of it. It is kept in BUILD/stored under all that
it depends on - the command, the compiler's version, the source and what that includes by name - so that the same is
compiled once, in whichever run of the tests."""
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

STORE = os.path.join(os.environ.get('BUILD', 'build'), 'stored')
MOST = 1000  # results that are kept: those used last


def said_by(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@functools.lru_cache(None)
def version(compiler):
    """Of the compiler, and of gcc, which nvcc calls; with the flags that nvcc takes from its environment."""
    flags = [os.environ.get(f'NVCC_{where}_FLAGS', '') for where in ('PREPEND', 'APPEND')]
    return [said_by([name, '--version']).stdout for name in (compiler, 'gcc')] + flags


def read(path):
    with open(path) as file:
        return file.read()


def inputs(source, folders):
    """Path and text of the source and of all that it includes in quotes, where it is found."""
    found, waiting = {}, [source]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = read(path)
        for name in re.findall(r'^\s*#\s*include\s*"(.*?)"', found[path], re.M):
            waiting += [there for there in (os.path.join(folder, name) for folder in (os.path.dirname(path), *folders))
                        if os.path.exists(there)][:1]
    return sorted(found.items())


def run(command, source, *outputs):
    folders = [word[2:] for word in command if word.startswith('-I')]
    key = hashlib.sha256(repr((command, outputs, version(command[0]), inputs(source, folders))).encode()).hexdigest()
    kept = f'{STORE}/{key}'
    if os.path.isdir(kept):
        os.utime(kept)
        for number, path in enumerate(outputs):
            shutil.copy(f'{kept}/{number}', path)
        return subprocess.CompletedProcess(command, 0, read(f'{kept}/said'))
    result = said_by(command)
    if result.returncode == 0:
        keep(kept, result.stdout, outputs)
    return result


def keep(kept, said, outputs):
    """Whole or not at all, whoever else keeps the same now."""
    os.makedirs(STORE, exist_ok=True)
    made = tempfile.mkdtemp(dir=STORE)
    with open(f'{made}/said', 'w') as file:
        file.write(said)
    for number, path in enumerate(outputs):
        shutil.copy(path, f'{made}/{number}')
    try:
        os.rename(made, kept)
    except OSError:
        shutil.rmtree(made)
    there = sorted((entry for entry in os.scandir(STORE) if len(entry.name) == 64), key=lambda entry: entry.stat().st_mtime)
    for entry in there[:-MOST]:
        shutil.rmtree(entry.path, ignore_errors=True)
