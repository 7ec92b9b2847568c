"""A row's result has the same bits for a single row, in a batch of any size, mapped by vmap and on devices that each have other rows.

The exceptions are in docs/performance.md: matrix products, and rows of more than 32768 elements."""
import jax
from jax.sharding import PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest


def layer_norm(v):
  return (v - v.mean(-1, keepdims=True)) * jax.lax.rsqrt(v.var(-1, keepdims=True) + 1e-5)


FUNCTIONS = {
    'sum': lambda v: v.sum(-1), 'mean': lambda v: v.mean(-1), 'product': lambda v: jnp.prod(v, -1),
    'sum of logarithms': lambda v: jnp.log(jnp.abs(v)).sum(-1), 'softmax': jax.nn.softmax,
    'logsumexp': lambda v: jax.nn.logsumexp(v, -1), 'variance': lambda v: v.var(-1), 'norm': lambda v: jnp.linalg.norm(v, axis=-1),
    'layer norm': layer_norm, 'cumulative sum': lambda v: jnp.cumsum(v, -1), 'sum of squares': lambda v: jnp.einsum('...i,...i->...', v, v),
    'largest': lambda v: v.max(-1)}


@pytest.mark.parametrize('columns', [2, 3, 5, 7, 8, 9, 10, 12, 15, 16, 17, 100, 1000])
@pytest.mark.parametrize('name', FUNCTIONS)
def test_rows(name, columns):
  f = FUNCTIONS[name]
  # Many short rows are folded by columns.
  count = 1030 if columns < 17 else 67
  rows = np.random.default_rng(columns).normal(size=(count, columns)).astype(np.float32)
  alone = np.stack([np.asarray(jax.jit(f)(row)) for row in rows[:5]])
  for batch in (1, 2, 5, 16, 67, count):
    x = rows[:batch]
    for how, g in (('jit', jax.jit(f)), ('vmap', jax.jit(jax.vmap(f)))):
      np.testing.assert_array_equal(np.asarray(g(x))[:5], alone[:batch], f'{how} of {batch} rows')


@pytest.mark.parametrize('dtype', ['float64', 'bfloat16', 'float16'])
@pytest.mark.parametrize('name', ['sum', 'product', 'softmax', 'logsumexp', 'variance', 'norm', 'sum of squares'])
def test_short_rows_of_other_dtypes(name, dtype):
  with jax.enable_x64(dtype == 'float64'):
    f = jax.jit(FUNCTIONS[name])
    for columns in range(2, 17):
      rows = jnp.asarray(np.random.default_rng(columns).normal(size=(1030, columns)), dtype)
      few, many = (np.asarray(f(rows[:n])).astype(np.float64) for n in (5, 1030))
      np.testing.assert_array_equal(many[:5], few, f'{columns} columns')


@pytest.mark.parametrize('name', FUNCTIONS)
def test_rows_op_by_op(name):
  f = FUNCTIONS[name]
  rows = np.random.default_rng(1).normal(size=(16, 4)).astype(np.float32)
  np.testing.assert_array_equal(f(jnp.asarray(rows)), np.stack([np.asarray(f(jnp.asarray(row))) for row in rows]))


@pytest.mark.parametrize('name', FUNCTIONS)
def test_rows_on_devices(name):
  f, mesh = FUNCTIONS[name], jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
  for columns in (4, 100):
    rows = np.random.default_rng(2).normal(size=(64, columns)).astype(np.float32)
    whole = np.asarray(jax.jit(f)(rows))
    sharded = jax.device_put(rows, jax.sharding.NamedSharding(mesh, P('x')))
    np.testing.assert_array_equal(jax.jit(f)(sharded), whole)
