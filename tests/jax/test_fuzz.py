"""The fuzzer finds planted faults, reduces their programs, and finds no fault in some programs of fixed seeds."""
import json
import os
import pathlib
import re
import subprocess
import sys

import jax
import numpy as np
import pytest

if jax.__version_info__ < (0, 10):
  pytest.skip('the reference evaluates the primitives of JAX 0.10 and later', allow_module_level=True)
if not os.environ.get('TESSERA_PJRT'):
  pytest.skip('the fuzzer runs the library of a build, not that of the wheel', allow_module_level=True)

FUZZ = pathlib.Path(__file__).resolve().parent / 'fuzz'
sys.path.insert(0, str(FUZZ))
import comparer  # noqa: E402  pylint: disable=wrong-import-position
import reducer  # noqa: E402  pylint: disable=wrong-import-position
import reference  # noqa: E402  pylint: disable=wrong-import-position
import runner  # noqa: E402  pylint: disable=wrong-import-position
from program import Block, Input, Program, Statement, Type  # noqa: E402  pylint: disable=wrong-import-position

# Planted faults of Tessera: names in a program's source that are replaced, a word that the program has, and the verdict.
FAULTS = {
    'cumsum': ("{'jnp': Wrong(jnp, cumsum=lambda x, axis: jnp.cumsum(x, axis) * 1.001)}", 'jnp.cumsum(', 'tessera value'),
    'psum': ("{'lax': Wrong(lax, psum=lambda x, a: lax.pmax(x, a))}", 'lax.psum(', 'tessera value'),
    'sort': ("{'jnp': Wrong(jnp, sort=lambda x, axis=-1: jnp.sort(x, axis)[::-1])}", 'jnp.sort(', 'tessera value'),
    'error': ("{'lax': Wrong(lax, scan=lambda *a, **k: 1 / 0)}", 'lax.scan(', 'tessera ZeroDivisionError: division by zero'),
    'bits': ("{'jnp': Wrong(jnp, tanh=lambda x: jnp.tanh(x) * jax.pure_callback(lambda: np.float32(next(calls)),"
             " jax.ShapeDtypeStruct((), 'float32')).astype(x.dtype))}", 'jnp.tanh(',
             'tessera AssertionError: two runs differ in bits'),
}

# For each fault it looks for a program that the fault makes wrong, among short programs with the word in their source, and writes the
# reduced programs as JSON.
SEARCH = '''
import sys
sys.path.insert(0, {folder!r})
import environment
environment.prepare()
import itertools, json
import jax, jax.numpy as jnp, numpy as np
from jax import lax
import generator, worker

class Wrong:
  """A module of JAX with one function replaced."""
  def __init__(self, module, **functions):
    self.__dict__.update(vars(module) | functions)

calls = itertools.count()
found = {{}}
wanted = {{name: (eval(overrides), word) for name, (overrides, word, _) in {faults!r}.items()}}
for seed in range(500):
  program = generator.generate(seed)
  source = program.source()
  if len(source) > 900:
    continue
  for name, (overrides, word) in list(wanted.items()):
    if word not in source:
      continue
    verdict = worker.verdict_of(program, overrides, lazy=True)
    if verdict.who != 'equal':
      del wanted[name]
      small = worker.reduced(program, verdict, overrides, seconds={seconds})
      found[name] = f'{{verdict.who}} {{verdict.kind}}', small.source()
  if not wanted:
    break
print(json.dumps(found))
'''


@pytest.fixture(name='found', scope='module')
def _found():
  """Returns, by the name of a fault, the verdict on the program that was found and the source of the reduced program."""
  code = SEARCH.format(folder=str(FUZZ), faults=FAULTS, seconds=3)
  out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=900, check=False)
  assert out.returncode == 0, out.stderr[-3000:]
  return json.loads(out.stdout.splitlines()[-1])


@pytest.mark.parametrize('fault', FAULTS)
def test_finds_and_reduces_what_is_planted(found, fault):
  _, word, expected = FAULTS[fault]
  verdict, source = found[fault]
  assert verdict == expected
  assert word in source
  assert len(source.splitlines()) <= 12, source


def scanned():
  """Returns a program for eight devices with a scan and many irrelevant statements."""
  body = Block('f9', ('(v5,)', '(v6,)'), (Statement('v7', 'jnp.sin(v5)'), Statement('v8', 'jnp.cumsum(v7, axis=0)'),
                                          Statement('v10', 'v8 + v6')), '(v10,), (v7,)')
  main = Block('f', ('v1', 'v2', 'v3'), (Statement('v4', 'jnp.cos(v3)'), Statement('v20', 'v1 * 2'),
                                         Statement('(v11,), (v12,)', 'lax.scan(f9, (v1,), (v2,))', (body,)),
                                         Statement('v13', 'v11 + v20')), '(v4, v13, v12,)')
  types = {f'v{i}': Type((4,), 'float32') for i in range(21)} | {v: Type((3, 4), 'float32') for v in ('v2', 'v12')}
  inputs = (Input('v1', 'np.random.default_rng(1).normal(size=(4,)).astype("float32")', ('x',), True),
            Input('v2', 'np.ones((3, 4), "float32")'), Input('v3', 'np.ones((4,), "float32")', ('y',)))
  return Program((4, 2), inputs, main, types)


def test_reduces_to_a_statement_of_a_body():
  small = reducer.reduce(scanned(), lambda p: 'jnp.cumsum' in p.source(), 60)
  assert small.source() == 'def f(v1):\n  v8 = jnp.cumsum(v1, axis=0)\n  return (v8,)\n'
  assert small.inputs == (Input('v1', 'np.ones((4,), "float32")', (), False),)
  assert small.mesh == ()


def test_keeps_what_matters():
  small = reducer.reduce(scanned(), lambda p: 'lax.scan' in p.source() and any(i.donated for i in p.inputs), 60)
  assert 'lax.scan' in small.source() and [i.donated for i in small.inputs].count(True) == 1
  assert len(small.source().splitlines()) == 7


def doubled(values):
  """Returns a program that doubles two numbers, and an outcome with `values`."""
  main = Block('f', ('v1',), (Statement('v2', 'v1 * 2'),), '(v2,)')
  types = {v: Type((2,), 'float32') for v in ('v1', 'v2')}
  program = Program((), (Input('v1', 'np.array([1, 3], "float32")'),), main, types)
  return program, runner.Outcome(values=[np.array(values, 'float32')])


@pytest.mark.parametrize('ours, theirs, who', [
    ([2, 6], [2, 6], 'equal'), ([2, 6.000001], [2, 5.999999], 'equal'), ([2, 6.001], [2, 6], 'tessera'), ([2, np.nan], [2, 6], 'tessera'),
    ([2, 6], [2, 6.001], 'xla'), ([1, 3], [1, 3], 'reference'), ([1, 3], [4, 6], 'both'),
])
def test_who_is_alone_is_wrong(ours, theirs, who):
  program, outcome = doubled(ours)
  assert comparer.compare(program, outcome, lambda: doubled(theirs)[1]).who == who


def test_an_error_of_one_backend_or_of_both():
  program, outcome = doubled([2, 6])
  error = runner.Outcome(error='ValueError: no')
  assert comparer.compare(program, error, lambda: outcome).who == 'tessera'
  assert comparer.compare(program, outcome, lambda: error).who == 'xla'
  assert comparer.compare(program, error, lambda: error).who == 'refused'


def test_what_noise_leaves_open():
  exact, value = np.array([1.0, 1.0, np.inf, 1.0, np.nan]), np.array([1.01, 1.01, 5.0, np.inf, 5.0])
  noisy = [np.array([1.01, 1.0, np.inf, np.inf, np.nan])]
  assert comparer.outside(value, exact, np.dtype('float32'), noisy).tolist() == [False, True, True, False, True]
  whole = comparer.outside(np.array([1, 2]), np.array([2, 3]), np.dtype('int32'), [np.array([1, 3])])
  assert whole.tolist() == [False, True]


def fuzz(*options):
  return subprocess.run([sys.executable, str(FUZZ), *options], capture_output=True, text=True, check=False, env=dict(os.environ))


@pytest.mark.parametrize('options', [[], ['--positions']])
def test_programs_of_fixed_seeds(options):
  out = fuzz('--seeds', '0:30', '--no-reduce', '--lazy', *options)
  assert out.returncode == 0, out.stdout + out.stderr
  assert re.search(r'(^|\n)30 programs in [^:]*: \d+ equal(, \d+ refused)?(, \d+ xla)?\n$', out.stdout), out.stdout


# The programs need the devices of XLA's CPU backend too, which the processes of tests do not have.
POSITIONS = '''
import json, sys
sys.path.insert(0, {folder!r})
import environment
environment.prepare()
import positions
programs = [positions.generate(seed) for seed in range(150)]
print(json.dumps([sorted({{p.mesh for p in programs}}), '\\n'.join(p.source() for p in programs)]))
'''


def test_positions_draw_every_operation():
  out = subprocess.run([sys.executable, '-c', POSITIONS.format(folder=str(FUZZ))], capture_output=True, text=True, timeout=300, check=False)
  assert out.returncode == 0, out.stderr[-3000:]
  meshes, source = json.loads(out.stdout)
  assert meshes == [[2], [2, 2, 2], [2, 4], [4], [4, 2], [8]]
  missing = [name for name in ('gather', 'scatter', 'scatter_add', 'scatter_max', 'dynamic_slice', 'dynamic_update_slice', 'reduce_window', 'sort',
                               'top_k', 'cumsum', 'conv_general_dilated', 'pad', 'rev', 'concatenate', 'slice', 'dot_general', 'select',
                               'transpose', 'with_sharding_constraint', 'scan', 'fori_loop', 'all_to_all') if f'lax.{name}(' not in source]
  assert not missing
  assert all(f'jax.{name}(' in source for name in ('vjp', 'grad', 'jvp', 'vmap', 'shard_map'))


def test_windows_of_the_reference_without_elements():
  empty = jax.make_jaxpr(lambda x, k: jax.lax.conv_general_dilated(x, k, (2, 1), 'VALID'))(np.ones((2, 1, 1, 4)), np.ones((1, 1, 3, 2)))
  assert reference.evaluate(empty, [np.ones((2, 1, 1, 4)), np.ones((1, 1, 3, 2))], None)[0].shape == (2, 1, 0, 3)
  wraps = jax.make_jaxpr(lambda x: jax.lax.reduce_window(x, np.int32(0), jax.lax.add, (2,), (1,), 'VALID'))(np.full(3, 2**31 - 1, 'int32'))
  assert reference.evaluate(wraps, [np.full(3, 2**31 - 1, 'int32')], None)[0].tolist() == [-2, -2]


def test_generation_is_deterministic(tmp_path):
  one, two = (fuzz('--show', '7') for _ in range(2))
  assert one.returncode == 0, one.stderr
  assert one.stdout == two.stdout and 'jax.jit(f' in one.stdout
  path = tmp_path / 'reproducer.py'
  path.write_text(one.stdout)
  out = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False,
                       env=os.environ | {'JAX_PLATFORMS': 'cpu', 'XLA_FLAGS': '--xla_force_host_platform_device_count=8'})
  assert out.returncode == 0, out.stderr


@pytest.mark.parametrize('seeds', ['5', 'a:b', '9:3'])
def test_seeds_that_are_none(seeds):
  out = fuzz('--seeds', seeds)
  assert out.returncode == 2
  assert f"--seeds: expected FIRST:LAST, got '{seeds}'" in out.stderr


PRIMITIVES = {
    'top_k': (lambda x: jax.lax.top_k(x, 3), [np.inf, np.nan, 1, np.inf], [[np.nan, np.inf, np.inf], [1, 0, 3]]),
    'zeros': (lambda x: jax.lax.top_k(x, 3)[1], [-0.0, 0, -0.0, 0], [[1, 3, 0]]),
    'scan': (lambda x: jax.lax.scan(lambda c, a: (c * x[0] + a, (c, a)), x[1], x), [2, 3, 5], [43, [3, 8, 19], [2, 3, 5]]),
    'unstack': (lambda x: [jax.numpy.stack([b, a]) for a, b in [jax.numpy.unstack(x)]], [3, 4], [[4, 3]]),
    'platform': (lambda x: jax.lax.platform_dependent(x, tpu=jax.numpy.sin, default=lambda x: x + 1), [3, 4], [[4, 5]]),
    'searchsorted': (lambda x: jax.numpy.searchsorted(x, x - 0.5), [1, 2, 3], [[0, 1, 2]]),
    'reshape': (lambda x: jax.lax.reshape(x.reshape(2, 2), (4,), (1, 0)), [1, 2, 3, 4], [[1, 3, 2, 4]]),
    'log2': (jax.numpy.log2, [1, 4, 0.5], [[0, 2, -1]]),
    'empty': (lambda x: (jax.numpy.max(x[:0], initial=2.0), jax.numpy.min(x[:0].astype('int32'), initial=3)), [1], [2, 3]),
    'complex': (lambda x: jax.lax.complex(x, x), [np.inf, -1], [[complex(np.inf, np.inf), -1 - 1j]]),
    'order': (lambda x: jax.numpy.searchsorted(x, x[::-1]), [-0.0, 0, 1, np.nan], [[3, 2, 0, 0]]),
    'rfft': (jax.numpy.fft.rfft, [1, -np.inf, 1, 1], [[-np.inf, complex(0, np.inf), np.inf]]),
    'lu': (lambda x: jax.lax.linalg.lu(x.reshape(2, 2)), [1, 2, 4, 3], [[[4, 3], [0.25, 1.25]], [1, 1], [1, 0]]),
    'pivots': (lambda x: jax.lax.linalg.lu_pivots_to_permutation(x.astype('int32'), 3), [2, 2], [[2, 0, 1]]),
    'irfft': (lambda x: jax.numpy.fft.irfft(x[:4], 6), [3, np.inf, 1, 2], [[np.inf, np.inf, -np.inf, -np.inf, -np.inf, np.inf]]),
}
if hasattr(jax.lax, 'polynomial'):
  PRIMITIVES['polynomial'] = (lambda x: jax.lax.polynomial(x, [1.0, 5.0, x]), [3.0, 1.0], [[1 + 15 + 27, 7]])


@pytest.mark.parametrize('name', PRIMITIVES)
def test_the_reference_knows_primitives(name):
  f, values, expected = PRIMITIVES[name]
  x = np.array(values, 'float32')
  jaxpr = jax.make_jaxpr(f)(x)
  for seed in (None, 1):
    for got, wanted in zip(reference.evaluate(jaxpr, [x], seed), expected, strict=True):
      np.testing.assert_allclose(got, wanted, 1e-5)


def verdict(statement, values, dtype, result, result_dtype):
  """Who is wrong of backends that agree on the result of a statement about v1."""
  main = Block('f', ('v1',), (Statement('v2', statement),), '(v2,)')
  types = {'v1': Type((len(values),), dtype), 'v2': Type((len(result),), result_dtype)}
  program = Program((), (Input('v1', f'np.array({values}, "{dtype}")'),), main, types)
  outcome = runner.Outcome(values=[np.array(result, result_dtype)])
  return comparer.compare(program, outcome, lambda: outcome).who


def test_what_wide_intermediates_explain_is_no_error():
  # In float32 the functions are inverse to each other; rounded to bfloat16 in between they are not.
  statement = 'jax.scipy.special.logit(jax.nn.sigmoid(v1)) != v1'
  assert verdict(statement, [2.0, 3.0, 4.0, 5.0, 6.0], 'bfloat16', [False] * 5, 'bool') == 'equal'
  assert verdict(statement, [2.0, 3.0, 4.0, 5.0, 6.0], 'bfloat16', [True] * 5, 'bool') == 'equal'
  assert verdict(statement, [2.0], 'float32', [False], 'bool') == 'equal'  # nor in float64
  assert verdict('v1 * 2 != v1', [2.0], 'bfloat16', [False], 'bool') == 'reference'


def test_the_sign_of_nan_and_cancelled_differences_are_open():
  for place in (0, 1):
    assert verdict('lax.top_k(v1 * jnp.inf, 1)[1]', [-1.0, 0.0], 'float32', [place], 'int32') == 'equal'
  assert verdict('v1 / 49 * 49 - v1 != 0', [1.0], 'float32', [True], 'bool') == 'equal'
  assert verdict('v1 / 49 * 49 - v1 != 0', [1.0], 'float32', [False], 'bool') == 'equal'


def test_what_rounding_alone_explains_is_no_error():
  # arcsinh(x) equals x in bfloat16 and is less than x in float64.
  main = Block('f', ('v1',), (Statement('v2', 'jnp.arcsinh(v1) == v1'),), '(v2,)')
  program = Program((), (Input('v1', 'np.array([0.03, 2], "bfloat16")'),), main, {'v1': Type((2,), 'bfloat16'), 'v2': Type((2,), 'bool')})
  outcome = runner.Outcome(values=[np.array([True, False])])
  assert comparer.compare(program, outcome, lambda: outcome).who == 'equal'
