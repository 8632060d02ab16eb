#!/usr/bin/env python3
"""What the planner chooses for convolutions of several path sets: how often they go through the edges, how long their
rings are, how lines of weights that they share are copied. What kernels so planned compute, simt_golden.t checks."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = ['tests', 'tests/gpu']
import drawn  # noqa: E402
from tap import done, equal, ok  # noqa: E402

GENERATOR = os.environ.get('CGTPGEN', 'build/cgtpgen')


def generated(spec, *how):
    return subprocess.run([GENERATOR, '-Wno-all', *how, '-'], input=spec, capture_output=True, text=True, check=True).stdout


def path_sets(spec, kernel):
    """Of each pass of the kernel what is planned for its path sets."""
    plan = next(one for one in json.loads(generated(spec, '--print=json'))['kernels'] if one['name'] == kernel)
    return [one['path_sets'] for one in plan['schedules']]


fixed = {layer.name: layer.text() for layer in drawn.fixed()}
torn, three = drawn.layer(31, 57).text(), drawn.layer(31, 29).text()
equal([len(sets) for sets in path_sets(torn, 'double_backward')], [1, 1],
      'double backward of 32 + 16 channels: a path set in each of two passes')
again = torn + 'tune: {sm_90: {passes: 1}}\n'
equal([len(sets) for sets in path_sets(again, 'double_backward')], [2], 'by a knob in one pass: two path sets')
(sets,) = path_sets(three, 'double_backward')
equal(len(sets), 3, 'of 32 + 16 + 8 channels one of two passes would have two path sets: one pass of three')
rings = [one['stages'] * one['stage_bytes'] for one in sets]
room = max(rings)
ok(all(one['stages'] == min(8, room // one['stage_bytes']) for one in sets) and len({one['stages'] for one in sets}) > 1,
   'each path set has as many stages as the longest ring has room for', sets)
ok('cgtp_policy_parts()' in generated(three, '-o', '-'), 'lines of weights that path sets share come in parts')
ok('cgtp_policy_parts()' not in generated(fixed['mace_128'], '-o', '-'), 'lines of one path set come whole')
ok(all(one['channel_blocks'] <= 4 for one in path_sets(fixed['mace_129'], 'backward')[0]),
   '129 channels backward: channel blocks are warps of one block')
done()
