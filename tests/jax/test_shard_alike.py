"""jax.experimental.shard_alike: values that have the same sharding without a constraint on which one."""
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest

# JAX 0.12 no longer has it.
shard_alike = pytest.importorskip('jax.experimental.shard_alike').shard_alike

X = np.arange(64, dtype=np.float32).reshape(8, 8)


@pytest.fixture(name='rows', scope='module')
def _rows():
  mesh = jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)
  return NamedSharding(mesh, P('x', 'y'))


def test_a_constant_is_sharded_as_an_argument(rows):
  f = jax.jit(lambda x: shard_alike(x, jnp.arange(64.0).reshape(8, 8))[1])
  out = f(jax.device_put(X, rows))
  assert out.sharding.is_equivalent_to(rows, 2)
  np.testing.assert_array_equal(out, X)


def test_an_argument_is_sharded_as_another(rows):
  out = jax.jit(shard_alike)(jax.device_put(X, rows), X + 1)
  assert all(y.sharding.is_equivalent_to(rows, 2) for y in out)
  np.testing.assert_array_equal(out[1], X + 1)


def test_in_a_loop(rows):
  def body(_, carry):
    return shard_alike(carry, jnp.full((8, 8), 2.0))[1] + carry
  f = jax.jit(lambda x: jax.lax.fori_loop(0, 3, body, x))
  out = f(jax.device_put(X, rows))
  assert out.sharding.is_equivalent_to(rows, 2)
  np.testing.assert_array_equal(out, X + 6)


def test_derivatives_are_sharded_alike(rows):
  def f(x):
    a, b = shard_alike(x, jnp.ones((8, 8)))
    return (a * b * a).sum()
  np.testing.assert_array_equal(jax.jit(jax.grad(f))(jax.device_put(X, rows)), 2 * X)


def test_on_one_device():
  out = jax.jit(lambda x: shard_alike(x, 2 * x))(X)
  np.testing.assert_array_equal(out[1], 2 * X)


def test_in_a_branch_that_some_devices_take(rows):
  twice = lambda block: shard_alike(block, 2 * block)[1]
  f = lambda block: jax.lax.cond(block.sum() > 400, twice, lambda same: same, block)
  out = jax.jit(jax.shard_map(f, mesh=rows.mesh, in_specs=P('x'), out_specs=P('x')))(jax.device_put(X, rows))
  np.testing.assert_array_equal(out, np.concatenate([X[:4], 2 * X[4:]]))
