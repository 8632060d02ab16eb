"""An installed copy, and projects outside of this tree that use it: what the tests of build systems share."""
import os
import re
import shutil
import subprocess

# Projects are not built with the options that the test itself was started with; the generator is installed
# with them, or it would be built anew.
VARIABLES = [word.replace('\\ ', ' ') for word in re.split(r'(?<!\\) ', os.environ.get('MAKEFLAGS', ''))
             if re.match(r'\w+=', word)]
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if not k.startswith(('MAKE', 'MFLAGS', 'CGTPGEN', 'CFLAGS', 'NVCC'))}

SPEC = '''cgtp: 1
name: layer
irreps: {x: 2x0e + 1x1o, y: 0e + 1o, z: 2x0e + 1o}
instructions: fully_connected
kernels: [forward]
'''
PROGRAM = '''#include "layer.h"
#include <stdio.h>

int main(void)
{
    printf("%s, %s: %s\\n", layer_product.name, layer_product.backend,
           cgtp_status_text(layer_forward(-1, 0, 0, 0, 0, 0, 0, 0)));
    return layer_product.abi != CGTP_ABI;
}
'''
NEGATIVE = 'a number of items or rows is negative or too large, or a stride is less than a row'  # what PROGRAM is told


def run(*command, folder=None):
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def project(folder, files):
    os.makedirs(folder)
    for file, content in files.items():
        write(f'{folder}/{file}', content)
    return folder


def unoptimised(folder, **others):
    """Puts compilers first into PATH that optimise nothing (-O0 for -O3), and `others`, by their names here: other tests compile
    the same code as it is meant. What asks for -march=native, as it computes for long, takes less time with -O1."""
    os.mkdir(folder)
    for name, program in {'cc': 'cc', 'gcc': 'gcc', 'c++': 'c++', 'g++': 'g++', **others}.items():
        level = 3 if name in others else 0
        path = shutil.which(program, path=ENVIRONMENT['PATH'])
        if path:
            write(f'{folder}/{name}', f'#!/bin/bash\nlevel={level}\n[[ " $* " != *" -march=native "* ]] || level=1\n'
                                      f'exec {path} "${{@/#-O3/-O$level}}"\n')
            os.chmod(f'{folder}/{name}', 0o755)
    ENVIRONMENT['PATH'] = f"{folder}:{ENVIRONMENT['PATH']}"


def install(root):
    """make install for the prefix /usr into `root`, then as if that were its place. Returns what make said, and
    the text of the pkg-config file as installed."""
    result = run('make', 'install', 'PREFIX=/usr', f'DESTDIR={root}', *VARIABLES)
    path = f'{root}/usr/share/pkgconfig/cgtpgen.pc'
    text = read(path)
    write(path, text.replace('prefix=/usr', f'prefix={root}/usr'))
    ENVIRONMENT['PKG_CONFIG_PATH'] = os.path.dirname(path)
    ENVIRONMENT['PATH'] = f"{root}/usr/bin:{ENVIRONMENT['PATH']}"
    return result, text
