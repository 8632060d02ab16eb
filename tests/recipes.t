#!/usr/bin/env python3
"""Recipes for distributors (docs/packaging): make recipes fills them in, what they call is there, and the linters of each have
nothing to say, where they are."""
import ast
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from examples import blocks  # noqa: E402
from installed import VARIABLES, read, run, write  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
GENERATOR = os.path.abspath(os.environ.get('CGTPGEN', 'build/cgtpgen'))
VERSION = re.search(r'"(.*)"', read('cgtpgen/util/version.h')).group(1)
LINTERS = {  # few systems have them; of Spack's own style what its repository of packages asks of ruff
    'conda/meta.yaml': ['conda-smithy', 'recipe-lint', 'conda'],
    'spack/package.py': ['ruff', 'check', '--isolated', '--no-fix', '--line-length=99', '--extend-select=E,I,W', '--ignore=F403,F405',
                         '--config=lint.isort.sections={spack=["spack"]}', '--config=lint.isort.section-order=["future", '
                         '"standard-library", "third-party", "spack", "first-party", "local-folder"]', 'spack/package.py'],
    'vcpkg/vcpkg.json': ['vcpkg', 'format-manifest', 'vcpkg/vcpkg.json'],
    'Containerfile': ['hadolint', '--ignore=DL3008', 'Containerfile'],
    'check.yml': ['actionlint', 'check.yml'],
}
# What the functions of vcpkg would do, as far as the portfile is to be run.
VCPKG = '''function(vcpkg_download_distfile out)
    set(${out} archive PARENT_SCOPE)
endfunction()
function(vcpkg_extract_source_archive out)
    set(${out} "${TREE}" PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 a "" SOURCE_PATH "")
    execute_process(COMMAND ${CMAKE_COMMAND} -S "${a_SOURCE_PATH}" -B "${OUT}" RESULT_VARIABLE status OUTPUT_QUIET)
    if(status)
        message(FATAL_ERROR "does not configure")
    endif()
endfunction()
function(vcpkg_cmake_install)
    file(WRITE "${CURRENT_PACKAGES_DIR}/bin/cgtpgen" "")
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 a "" "" FILE_LIST)
    foreach(file ${a_FILE_LIST})
        if(NOT EXISTS "${file}")
            message(FATAL_ERROR "there is no ${file}")
        endif()
    endforeach()
endfunction()
'''


def digest(path, method):
    with open(path, 'rb') as file:
        return hashlib.new(method, file.read()).hexdigest()


def test_filled(folder):
    there = sorted(os.path.relpath(f'{at}/{name}', folder) for at, _, names in os.walk(folder) for name in names)
    texts = {name: read(f'{folder}/{name}') for name in there}
    equal(sorted(set(LINTERS) - set(there)), [], 'each recipe is there')
    equal([(name, word) for name in there for word in re.findall(r'@[A-Z_0-9]+@', texts[name])], [], 'nothing is left to fill in')
    sdist, url = f'{BUILD}/cgtpgen-{VERSION}.tar.gz', f'https://here.example/cgtpgen-{VERSION}.tar.gz'
    for name in 'conda/meta.yaml', 'spack/package.py', 'vcpkg/portfile.cmake':
        method = 'sha512' if name.startswith('vcpkg') else 'sha256'
        ok(url in texts[name] and digest(sdist, method) in texts[name] and VERSION in texts[name],
           f'{name}: version, address and checksum of the archive of sources', texts[name])
    found = re.search(r'"https://here.example/(.*?)"\n.*"(\w{64})  ', texts['check.yml'])
    ok(found and digest(f'{BUILD}/{found[1]}', 'sha256') == found[2], "check.yml: of the generator's archive", texts['check.yml'])
    return texts


def test_commands(root, texts):
    """What recipes call of make and CMake is there."""
    for name, text in texts.items():
        for line in re.findall(r'(?:RUN |script: )(make .*)', text):
            planned = run('bash', '-c', f"PREFIX={root}/prefix; {line.replace('-C /cgtpgen', '')} -n")
            ok(planned.returncode == 0 and 'bin/cgtpgen' in planned.stdout, f'{name}: {line[:40]}', planned.stdout[-1000:])
    called = re.search(r'make\((.*)\)', texts['spack/package.py'])[1].replace('f"', '"').replace('{prefix}', '/usr')
    planned = run('make', '-n', *ast.literal_eval(f'[{called}]'))
    ok(planned.returncode == 0 and 'bin/cgtpgen' in planned.stdout, 'spack/package.py: its make', planned.stdout[-1000:])
    if not shutil.which('cmake'):
        return skip('vcpkg/portfile.cmake', 'no cmake')
    write(f'{root}/run.cmake', VCPKG + texts['vcpkg/portfile.cmake'])
    result = run('cmake', f'-DTREE={os.getcwd()}', f'-DOUT={root}/out', f'-DCURRENT_PACKAGES_DIR={root}/packages', '-P', f'{root}/run.cmake')
    return ok(result.returncode == 0 and os.listdir(f'{root}/packages') == ['tools'], 'vcpkg/portfile.cmake: runs', result.stdout)


def test_read(folder, texts):
    equal([type(node).__name__ for node in ast.parse(texts['spack/package.py']).body], ['ImportFrom', 'ImportFrom', 'ClassDef'],
          'spack/package.py: is a class')
    equal(json.loads(texts['vcpkg/vcpkg.json'])['version'], VERSION, 'vcpkg/vcpkg.json: is JSON')
    try:
        import yaml
    except ImportError:
        return skip('YAML', 'there is no yaml for python')
    plain = re.sub(r'{{ (?:compiler|stdlib)\(.*?\) }}', 'gcc', re.sub(r'{%.*%}\n', '', texts['conda/meta.yaml'])).replace('{{ version }}', VERSION)
    equal(yaml.safe_load(plain)['package'], {'name': 'cgtpgen', 'version': VERSION}, 'conda/meta.yaml: is YAML')
    steps = yaml.safe_load(texts['check.yml'])['jobs']['check']['steps']
    check = next(step['run'] for step in steps if 'cgtpgen --check' in step.get('run', ''))
    page = {words: text for words, text, _ in blocks(read('docs/vendoring.md'))}
    write(f'{folder}/layer.yaml', page['yaml file=layer.yaml'])
    os.mkdir(f'{folder}/bin')
    os.symlink(GENERATOR, f'{folder}/bin/cgtpgen')
    check = f'PATH={os.path.abspath(folder)}/bin:$PATH\n{check}'
    stale = run('bash', '-c', check, folder=folder)
    run('bash', '-c', check.replace('--check ', ''), folder=folder)
    fresh = run('bash', '-c', check, folder=folder)
    return equal((stale.returncode, fresh.returncode, fresh.stdout), (3, 0, ''), 'check.yml: fails where files are not those of the spec')


if '/san' in BUILD:
    skip('recipes', 'a sanitizer cannot be linked statically')
else:
    with tempfile.TemporaryDirectory() as ROOT:
        made = run('make', 'recipes', 'URL=https://here.example', *VARIABLES)
        if ok(made.returncode == 0, 'make recipes', made.stdout):
            FOLDER = shutil.copytree(made.stdout.split()[-1], f'{ROOT}/recipes')
            TEXTS = test_filled(FOLDER)
            for NAME, LINTER in LINTERS.items():
                if shutil.which(LINTER[0]):
                    SAID = run(*LINTER, folder=FOLDER)
                    ok(SAID.returncode == 0, f'{NAME}: {LINTER[0]} has nothing to say', SAID.stdout)
                else:
                    skip(f'{NAME}: {LINTER[0]}', 'it is not there')
            test_commands(ROOT, TEXTS)
            test_read(FOLDER, TEXTS)
done()
