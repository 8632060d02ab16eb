#!/usr/bin/env python3
"""docs/spec.schema.json, for editors: its words are the generator's, it takes every right spec, and refuses every
wrong one but those named here, whose error is beyond a schema."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, 'tests')
from examples import BASE, GENERATOR, blocks, complete  # noqa: E402
from tap import done, equal, ok, skip  # noqa: E402

try:
    import jsonschema
    import yaml
except ImportError as missing:
    skip('the schema', f'no {missing.name}: apt-get install python3-jsonschema python3-yaml')
    done()

# Wrong specs that the schema takes, by what their error is seen in.
UNSEEN = {
    'the text, which YAML reads without complaint': '''
        instruction_index_fraction key_duplicate path_weight_digits yaml_carriage_return yaml_carriage_return_one
        yaml_tag_directive yaml_tag_verbatim''',
    'another spec of the call': 'collision collision_symbol collision_case kernel_name_case',
    'a log of times': 'log_cells log_no_column log_not_one log_number log_other',
    'types that belong together': 'precision_compensated precision_sum',
    'names that belong together': '''
        tune_kernel_name
        form_no_weight_output form_no_weights form_term_twice form_two_targets form_unknown_argument form_value_of_no_weights form_wrong_slot
        form_wrong_slot_of_each
        kernel_name_twice kernel_type kernel_type_unsigned''',
    'numbers of segments': '''
        problem_index_empty problem_index_only_one problem_index_range problem_variance_merged problem_variance_x
        problem_variance_yz problem_z_variance_of_filter unused_index unused_used''',
    'multiplicities': '''
        problem_elementwise_mul problem_multiplicity_of_product problem_multiplicity_u_lt_vw problem_multiplicity_uuu
        problem_multiplicity_uuu_y problem_multiplicity_uuw problem_multiplicity_uvu problem_multiplicity_uvu_lt_v
        problem_multiplicity_uvu_lt_v_y problem_multiplicity_uvuv problem_multiplicity_uvv problem_unweighted_uuw''',
    'irreps': 'problem_parity problem_parity_e problem_triangle problem_triangle_scalar',
    'sums and products of numbers': '''
        problem_coefficient_range problem_l_of_product problem_row_too_long problem_too_many_instructions
        problem_weights_too_many''',
    'what is made of it: these are warnings': '''
        dead_filter dead_input dead_input_elementwise dead_input_list dead_many dead_no_paths dead_no_paths_filter filter_multiplicity
        dead_no_paths_list repeated_instruction dead_output dead_output_mixed large_code''',
}


class Loader(yaml.SafeLoader):
    """YAML 1.2, as editors read it, where yes, on and 0o17 are no more what they were in 1.1."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (('bool', 'true|True|TRUE|false|False|FALSE', 'tTfF'),
                            ('int', '[-+]?[0-9]+', '-+0123456789'),
                            ('float', r'[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?', '-+.0123456789'),
                            ('float', r'[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)', '-+.'),
                            ('null', 'null|Null|NULL|~|', ['n', 'N', '~', ''])):
    Loader.add_implicit_resolver(f'tag:yaml.org,2002:{tag}', re.compile(f'^(?:{pattern})$'), list(first))
# A decimal number is one: in 1.1 a leading zero makes it octal, which the constructor would follow.
Loader.add_constructor('tag:yaml.org,2002:int', lambda loader, node: int(node.value))
Loader.add_constructor('tag:yaml.org,2002:float', lambda loader, node: float(node.value.lower().replace('.inf', 'inf')
                                                                             .replace('.nan', 'nan')))
SPELLED = 'cgtp: 1\nname: false\ndescription: 0\nirreps: {x: 0e, y: 0e, z: 0e}\ninstructions: fully_connected\n'

schema = json.load(open('docs/spec.schema.json'))
validator = jsonschema.Draft7Validator(schema)


def wrong(text):
    """What an editor would say of a spec; '' where it is content."""
    try:
        spec = yaml.load(text, Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return f'YAML: {error}'
    errors = sorted(validator.iter_errors(spec), key=str)
    return '\n'.join(f'{list(e.absolute_path)}: {e.message}' for e in errors)


def said(keys, end=''):
    """The words in the generator's message about a spec with these keys, which are wrong in one place."""
    spec = ''.join(f'{key}: {value}\n' for key, value in
                   ({key: text.split(': ', 1)[1].strip() for key, text in BASE.items()} | keys).items())
    run = subprocess.run([GENERATOR, '--lint', '--diagnostics=json', '-'], input=spec, capture_output=True, text=True)
    message = next(message['message'] for message in map(json.loads, run.stderr.splitlines())
                   if message['id'] in ('unknown-key', 'unknown-word', 'unknown-knob', 'knob-value', 'unknown-output'))
    words = re.search(rf'(?:known here: |expected |it has ){end}(.*?)(?:, found .*)?$', message)[1]
    return sorted(re.split(', | or ', words))


def test_words():
    properties, definitions = schema['properties'], schema['definitions']
    odd = 'qqqqqqqqqqqq'  # near to no word, so that all are listed

    def same(found, wanted, name):
        equal(sorted(map(str, found)), wanted, f'words of {name}')
    same(properties, said({odd: 1}), 'the spec')
    for key in ('irreps', 'normalization', 'variance', 'unused', 'index', 'tune'):
        same(properties[key]['properties'], said({key: f'{{{odd}: 1}}'}), key)
    same(properties['layout']['then']['properties'], said({'layout': f'{{{odd}: 1}}'}), 'layout, a mapping')
    same(definitions['layout']['enum'], said({'layout': odd}), 'layout')
    same(properties['rows']['then']['properties'], said({'rows': f'{{{odd}: 1}}'}), 'rows, a mapping')
    same(definitions['rows']['enum'], said({'rows': odd}), 'rows')
    same(properties['precision']['then']['properties'], said({'precision': f'{{{odd}: 1}}'}), 'precision, a mapping')
    same(definitions['precision']['enum'], said({'precision': odd}), 'precision')
    same(definitions['arithmetic']['enum'], said({'precision': f'{{sum: {odd}}}'}), 'the precision of sums')
    same(properties['instructions']['else']['enum'], said({'instructions': odd}, 'a list of instructions, or '),
         'instructions')
    same(definitions['instruction']['items'][3]['enum'], said({'instructions': f'[[0, 0, 0, {odd}]]'}), 'modes')
    same(definitions['index']['enum'], said({'index': f'{{x: {odd}}}'}), 'index')
    for key in ('irrep', 'path'):
        same(properties['normalization']['properties'][key]['enum'], said({'normalization': f'{{{key}: {odd}}}'}), key)
    for key in ('order', 'edges', 'reduction', 'accumulate', 'index_type'):
        same(properties[key]['enum'], said({key: odd, 'index': '{x: sender}'}), key)
    same(definitions['known']['enum'], said({'kernels': f'[{odd}]'}), 'kernels')
    same({'name', 'of', 'arguments', 'outputs'}, said({'kernels': f'[{{{odd}: 1}}]'}), 'a kernel')
    equal(set(definitions['subset']['properties']) | set(definitions['spelled']['properties']),
          {'name', 'of', 'arguments', 'outputs'}, 'and those of the schema')
    outputs = {rule['if']['properties']['of']['const']: rule['then']['properties']['outputs']['items']['enum']
               for rule in definitions['subset']['allOf']}
    equal(sorted(outputs), sorted(definitions['known']['enum']), 'every known kernel has its outputs')
    for name, words in outputs.items():
        same(words, said({'kernels': f'[{{name: k, of: {name}, outputs: [{odd}]}}]'}), f'the outputs of {name}')
    for arch in properties['tune']['properties']:
        if arch == 'c':
            continue
        equal(properties['tune']['properties'][arch], {'$ref': '#/definitions/knobs'}, f'{arch}: knobs')
        same(definitions['knobs']['properties'], said({'tune': f'{{{arch}: {{{odd}: 1}}}}'}), f'the knobs of {arch}')
    for knob, rule in definitions['knobs']['properties'].items():
        values = rule.get('enum') or range(rule['minimum'], rule['maximum'] + 1)
        text = said({'tune': f'{{sm_90: {{{knob}: 1000000}}}}'})
        wanted = ([str(value) for value in values] if 'enum' in rule or len(values) <= 3
                  else [f'{values[0]} to {values[-1]}'])
        equal(text, sorted(wanted), f'the values of {knob}')


def test_right():
    specs = {path: open(path).read() for path in glob.glob('specs/*.yaml') + glob.glob('tests/*/*.yaml') +
             glob.glob('tests/*/*/*.yaml') if not path.startswith('tests/bad/')}
    for path in ('docs/spec.md', *sorted(glob.glob('docs/diagnostics*.md'))):
        specs |= {f'{path}:{line}': complete(text.replace('\u240d', '\r'))
                  for mark, text, line in blocks(open(path).read()) if mark == 'yaml'}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, 'tests/random_spec.py', 'write', folder, '0', '300'], check=True)
        specs |= {f'random {os.path.basename(path)}': open(path).read() for path in glob.glob(f'{folder}/*.yaml')}
    specs['a truth value and a number as texts'] = SPELLED
    refused = {name: found for name, text in specs.items() if (found := wrong(text))}
    ok(not refused and len(specs) > 500, f'{len(specs)} right specs are taken',
       *(f'{name}: {found}' for name, found in refused.items()))


def test_wrong():
    names = {os.path.basename(path)[:-5] for path in glob.glob('tests/bad/*.yaml') if not path.endswith('.with.yaml')}
    unseen = {name for names in UNSEEN.values() for name in names.split()}
    taken = {name for name in names if not wrong(open(f'tests/bad/{name}.yaml', 'rb').read())}
    equal(sorted(taken - unseen), [], f'{len(names - unseen)} wrong specs are refused')
    equal(sorted(unseen - taken), [], f'{len(unseen)} that a schema cannot see are taken')


ok(jsonschema.Draft7Validator.check_schema(schema) is None, 'the schema is one')
test_words()
test_right()
test_wrong()
done()
