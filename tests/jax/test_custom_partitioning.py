"""jax.experimental.custom_partitioning: functions whose authors partition them."""
import jax
from jax.experimental.custom_partitioning import BATCHING, SdyShardingRule, custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest
import tessera_jax

X = np.arange(32 * 16, dtype=np.float32).reshape(32, 16)


@pytest.fixture(name='mesh', scope='module')
def _mesh():
  return jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def _sharded(mesh, *spec):
  return jax.device_put(X, NamedSharding(mesh, P(*spec)))


def _fft(x):
  return jnp.fft.fft(x)


def _rows_only(sharding, rank):
  return NamedSharding(sharding.mesh, P(*(tuple(sharding.spec) + (None,) * rank)[:rank - 1], None))


def _row_wise(lower, rule, seen=None):
  """Returns a function of one array; each device needs the whole last dimension."""
  function = custom_partitioning(lower)

  def partition(mesh, args, result):
    if seen is not None:
      seen.append((args, result))
    kept = _rows_only(args[0].sharding, len(args[0].shape))
    return mesh, lower, kept, (kept,)

  function.def_partition(partition, infer_sharding_from_operands=lambda mesh, args, result: args[0].sharding,
                         sharding_rule=rule)
  return function


@pytest.mark.parametrize('rule', ['... i -> ... i', SdyShardingRule(((BATCHING, 'i'),), ((BATCHING, 'i'),))])
def test_the_example_of_the_docs_sends_nothing_by_rows_and_gathers_a_line(mesh, rule):
  seen = []
  fft = jax.jit(_row_wise(_fft, rule, seen))
  by_rows = _sharded(mesh, 'x').astype(np.complex64)
  plan = tessera_jax.explain(fft, by_rows)
  assert not plan.collectives
  assert [entry.spec for entry in plan.outputs] == [entry.spec for entry in plan.inputs]
  np.testing.assert_allclose(fft(by_rows), np.fft.fft(X), rtol=1e-4, atol=1e-2)
  [argument], result = seen[-1]
  assert (argument.shape, argument.dtype, argument.sharding) == ((32, 16), np.complex64,
                                                                 NamedSharding(mesh, P('x', None)))
  assert (result.shape, result.sharding) == ((32, 16), NamedSharding(mesh, P('x', None)))
  line = jax.device_put(np.arange(64, dtype=np.complex64), NamedSharding(mesh, P('x')))
  fft_of_line = jax.jit(_row_wise(_fft, 'i -> i'), out_shardings=NamedSharding(mesh, P('x')))
  assert [c.name for c in tessera_jax.explain(fft_of_line, line).collectives] == ['all_gather']
  np.testing.assert_allclose(fft_of_line(line), np.fft.fft(np.arange(64)), rtol=1e-4, atol=1e-2)


def test_columns_are_moved_to_what_partition_wants(mesh):
  flip = jax.jit(_row_wise(lambda x: x[:, ::-1], 'i j -> i j'))
  by_columns = _sharded(mesh, None, 'y')
  np.testing.assert_array_equal(flip(by_columns), X[:, ::-1])
  assert tessera_jax.explain(flip, by_columns).collectives


def _matmul(mesh_axis):
  """Returns x @ y with an explicit sum over devices."""
  function = custom_partitioning(lambda x, y: x @ y)

  def partition(mesh, args, result):
    del args
    rows = result.sharding.spec[0] if len(result.sharding.spec) else None
    def lower(x, y):
      return jax.lax.psum(x @ y, mesh_axis)
    return mesh, lower, NamedSharding(mesh, P(rows, None)), (NamedSharding(mesh, P(rows, mesh_axis)),
                                                             NamedSharding(mesh, P(mesh_axis, None)))

  function.def_partition(partition, infer_sharding_from_operands=None, sharding_rule='i j, j k -> i k',
                         reduction_factors=('j',))
  return function


def test_collectives_of_the_callback(mesh):
  f = jax.jit(_matmul('y'))
  x, y = _sharded(mesh, 'x', 'y'), jax.device_put(X.T, NamedSharding(mesh, P('y')))
  plan = tessera_jax.explain(f, x, y)
  assert [(c.name, c.axes) for c in plan.collectives] == [('all_reduce', ('y',))]
  out = f(x, y)
  np.testing.assert_array_equal(out, X @ X.T)
  assert out.sharding.is_equivalent_to(NamedSharding(mesh, P('x')), 2)


def test_devices_know_their_places(mesh):
  function = custom_partitioning(lambda x: x)

  def partition(mesh, args, result):
    del args
    lower = lambda x: x + jax.lax.axis_index('x') * 10 + jax.lax.axis_index('y')
    return mesh, lower, result.sharding, (result.sharding,)

  function.def_partition(partition, sharding_rule='i j -> i j')
  sharding = NamedSharding(mesh, P('x', 'y'))
  out = jax.jit(function, out_shardings=sharding)(_sharded(mesh, 'x', 'y'))
  rows, columns = np.indices(X.shape)
  np.testing.assert_array_equal(out, X + rows // 8 * 10 + columns // 8)


def test_several_results_loops_and_branches(mesh):
  function = custom_partitioning(lambda x: (x + 1, x.sum(1)))

  def partition(mesh, args, result):
    del result
    rows = NamedSharding(mesh, P(args[0].sharding.spec[0]))
    def lower(x):
      twice = jax.lax.fori_loop(0, 2, lambda _, y: y + 0.5, x)
      return jax.lax.cond(x[0, 0] > -1, lambda y: y, lambda y: -y, twice), x.sum(1)
    return mesh, lower, (rows, rows), (rows,)

  function.def_partition(partition, sharding_rule='i j -> i j, i')

  @jax.jit
  def f(x):
    def trip(_, carry):
      x, total = carry
      y, sums = function(x)
      return y, total + sums
    return jax.lax.fori_loop(0, 3, trip, (x, jnp.zeros(32)))

  x, total = f(_sharded(mesh, 'x'))
  np.testing.assert_array_equal(x, X + 3)
  np.testing.assert_array_equal(total, 3 * X.sum(1) + 3 * 16)
  assert x.sharding.is_equivalent_to(NamedSharding(mesh, P('x')), 2)


def test_on_one_device_and_in_a_shard_map_it_is_the_function(mesh):
  seen = []
  twice = _row_wise(lambda x: 2 * x, 'i j -> i j', seen)
  np.testing.assert_array_equal(jax.jit(twice)(X), 2 * X)
  in_parts = jax.jit(jax.shard_map(twice, mesh=mesh, in_specs=P('x', 'y'), out_specs=P('x', 'y')))
  np.testing.assert_array_equal(in_parts(X), 2 * X)
  assert not seen


def _fails(mesh, partition, match):
  function = custom_partitioning(lambda x: x)
  function.def_partition(partition, sharding_rule='i j -> i j')
  with pytest.raises(Exception, match=match):
    jax.block_until_ready(jax.jit(function)(_sharded(mesh, 'x')))
  # The client still works.
  np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(_sharded(mesh, 'x')), X + 1)


def test_a_callback_that_raises(mesh):
  def partition(mesh, args, result):
    raise KeyError('no rule for this')
  _fails(mesh, partition, r'(?s)\[custom_partitioning\] expected the callback `partition` of .CustomSPMDPartitioning. to '
         r'return, got its error: .*no rule for this.*; correct the callback')


def test_callbacks_that_return_what_does_not_fit(mesh):
  keep = lambda x: x
  whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P('x'))
  _fails(mesh, lambda mesh, args, result: (mesh, keep, whole, (rows,)), 'Mismatch in result shapes')
  _fails(mesh, lambda mesh, args, result: (mesh, keep, rows, (P('x'),)), 'must return Sharding')
  _fails(mesh, lambda mesh, args, result: (mesh, keep, rows), 'expected 4, got 3')


def test_callbacks_with_shardings_of_other_devices(mesh):
  other = NamedSharding(jax.make_mesh((4,), ('x',), devices=jax.devices()[4:],
                                      axis_types=(jax.sharding.AxisType.Auto,)), P('x'))
  _fails(mesh, lambda mesh, args, result: (mesh, lambda x: x, other, (other,)),
         r'\[custom_partitioning\] expected a sharding over axes of the program.s mesh .*, got .*; return a NamedSharding')


def test_executables_are_not_serialised(mesh):
  function = jax.jit(_row_wise(lambda x: 2 * x, 'i j -> i j'))
  compiled = function.lower(_sharded(mesh, 'x')).compile()
  with pytest.raises(Exception, match=r'\[serialize\] expected a program that another process can compile'):
    compiled.runtime_executable().serialize()
