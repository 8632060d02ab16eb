#!/usr/bin/env python3
"""The changelog names a change of what the generator writes: bytes and symbols of all layers of specs/, in C and CUDA,
against those of the last release, which stand in the changelog.

UPDATE=1 writes today's there, for a release.
"""
import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from tap import done, ok  # noqa: E402

CHANGELOG = 'docs/CHANGELOG.md'
RECORD = r'<!-- output of (\S+): bytes (\w+) symbols (\w+) -->'


def output(generator, specs):
    """Digests of all that is written, but for version and seal, and of the names that headers declare."""
    texts, names = hashlib.sha256(), hashlib.sha256()
    for backend in 'c', 'cuda':
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([generator, f'--backend={backend}', '-Wno-all', '-o', folder, *specs], check=True)
            for path in sorted(glob.glob(f'{folder}/*')):
                with open(path) as file:
                    text = re.sub(r'cgtpgen [\d.]+|seal \w+|digest.*|[0-9a-f]{16,}', '', file.read())
                texts.update(f'{os.path.basename(path)}\n{text}'.encode())
                if path.endswith('.h'):
                    names.update('\n'.join(re.findall(r'^CGTP_API [^;]*;|^#define \w+ .*|^extern [^;]*;', text,
                                                      re.M)).encode())
    return texts.hexdigest()[:16], names.hexdigest()[:16]


with open(CHANGELOG) as FILE:
    TEXT = FILE.read()
BYTES, SYMBOLS = output(os.environ.get('CGTPGEN', 'build/cgtpgen'), sorted(glob.glob('specs/*.yaml')))
if os.environ.get('UPDATE'):
    with open(CHANGELOG, 'w') as FILE:
        FILE.write(re.sub(r'(bytes )\w+( symbols )\w+( -->)', rf'\g<1>{BYTES}\g<2>{SYMBOLS}\3', TEXT, count=1))
RELEASE = re.search(RECORD, TEXT)
NEW = TEXT[TEXT.index('## '):TEXT.index(f'## {RELEASE[1]}')] if RELEASE else ''
ok(RELEASE, 'the changelog has what the last release wrote')
ok(not RELEASE or BYTES == RELEASE[2] or '\n- bytes:' in NEW, 'a change of bytes is named', BYTES)
ok(not RELEASE or SYMBOLS == RELEASE[3] or '\n- symbols:' in NEW, 'a change of symbols is named', SYMBOLS)
done()
