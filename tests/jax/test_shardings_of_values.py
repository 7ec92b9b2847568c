"""jax.debug.inspect_array_sharding, and prints of the parts of sharded arrays."""
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest

X = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture(name='mesh', scope='module')
def _mesh():
  return jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def test_the_sharding_of_a_value_in_a_program(mesh):
  seen = []
  def f(x):
    y = jnp.sin(x)
    jax.debug.inspect_array_sharding(y, callback=seen.append)
    jax.debug.inspect_array_sharding(y.T, callback=seen.append)
    jax.debug.inspect_array_sharding(y.sum(), callback=seen.append)
    return y * 2
  x = jax.device_put(X, NamedSharding(mesh, P(('x', 'y'))))
  compiled = jax.jit(f).lower(x).compile()
  assert [s.is_equivalent_to(NamedSharding(mesh, spec), rank) for s, spec, rank in zip(
      seen, (P(('x', 'y')), P(None, ('x', 'y')), P()), (2, 2, 0), strict=True)] == [True] * 3
  np.testing.assert_allclose(compiled(x), 2 * np.sin(X), rtol=1e-6)
  assert len(seen) == 3  # at compile time only


def test_in_loops_and_shard_maps(mesh):
  seen = []
  def trip(_, x):
    jax.debug.inspect_array_sharding(x, callback=seen.append)
    return x + 1
  x = jax.device_put(X, NamedSharding(mesh, P('x')))
  np.testing.assert_array_equal(jax.jit(lambda x: jax.lax.fori_loop(0, 3, trip, x))(x), X + 3)
  assert [s.spec for s in seen] == [P('x')] or all(s.is_equivalent_to(NamedSharding(mesh, P('x')), 2) for s in seen)
  seen.clear()
  inner = jax.shard_map(lambda x: trip(0, x), mesh=mesh, in_specs=P('x'), out_specs=P('x'))
  np.testing.assert_array_equal(jax.jit(inner)(x), X + 1)
  assert [s.spec for s in seen] == [P()]


def test_a_callback_that_raises(mesh):
  def fail(sharding):
    raise KeyError('not this one')
  def f(x):
    jax.debug.inspect_array_sharding(x, callback=fail)
    return x + 1
  x = jax.device_put(X, NamedSharding(mesh, P('x')))
  with pytest.raises(Exception, match=r'(?s)\[inspect_array_sharding\] expected the callback to return, got its error: .*'
                                      'not this one'):
    jax.jit(f)(x)
  np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(x), X + 1)


def _printed(f, *args):
  """Returns what a function passes to jax.debug.callback for the parts of its arguments."""
  seen = []
  jax.block_until_ready(jax.jit(lambda *args: f(lambda *parts: seen.append(parts), *args))(*args))
  jax.effects_barrier()
  return seen


def test_callbacks_of_parts(mesh):
  x = jax.device_put(X, NamedSharding(mesh, P('x', 'y')))
  w = jax.device_put(np.arange(4), NamedSharding(mesh, P('y')))
  def f(tell, x, w):
    jax.debug.callback(tell, x, w, 2 * w.sum(), partitioned=True)
    return x + 1
  seen = _printed(f, x, w)
  parts = {(x.shape, w.shape, int(s)) for x, w, s in seen}
  assert parts == {((2, 2), (2,), 12)} and len(seen) == 8
  whole = {int(v) for x, _, _ in seen for v in np.asarray(x).ravel()}
  assert whole == set(range(32))


def test_callbacks_of_arrays_that_are_not_divided_evenly_get_them_whole(mesh):
  x = jax.device_put(np.arange(6.0, dtype=np.float32), NamedSharding(mesh, P('y')))
  def f(tell, x):
    jax.debug.callback(tell, x[:5], partitioned=True)
    return x + 1
  [(seen,)] = _printed(f, x)
  np.testing.assert_array_equal(seen, np.arange(5))


def test_callbacks_of_parts_on_one_device_and_in_a_shard_map(mesh):
  def f(tell, x):
    jax.debug.callback(tell, x, partitioned=True)
    return x + 1
  assert [x.shape for x, in _printed(f, X)] == [(8, 4)]
  inner = lambda tell, x: jax.shard_map(lambda x: f(tell, x), mesh=mesh, in_specs=P('x'), out_specs=P('x'))(x)
  assert {x.shape for x, in _printed(inner, X)} == {(2, 4)}
