"""pmap of older versions of JAX, which is a program of several replicas. Newer ones make it a shard_map."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

# pylint: disable=not-callable

if not hasattr(jax.config, 'jax_pmap_shmap_merge'):
  pytest.skip('pmap is a shard_map in this version of JAX', allow_module_level=True)

DEVICES = 8
X = np.arange(DEVICES * 6, dtype=np.float32).reshape(DEVICES, 2, 3)


@pytest.fixture(autouse=True)
def replicas():
  jax.config.update('jax_pmap_shmap_merge', False)
  yield
  jax.config.update('jax_pmap_shmap_merge', True)


def pmap(f, **options):
  return jax.pmap(f, axis_name='i', **options)


def test_collectives():
  sums, numbers, shifted, gathered, largest, count = pmap(lambda x: (
      jax.lax.psum(x, 'i'), jax.lax.axis_index('i'), jax.lax.ppermute(x, 'i', [(k, (k + 1) % DEVICES) for k in range(DEVICES)]),
      jax.lax.all_gather(x, 'i'), jax.lax.pmax(x, 'i'), jax.lax.psum(1, 'i')))(X)
  np.testing.assert_array_equal(sums, np.broadcast_to(X.sum(0), X.shape))
  np.testing.assert_array_equal(numbers, np.arange(DEVICES))
  np.testing.assert_array_equal(shifted, np.roll(X, 1, axis=0))
  np.testing.assert_array_equal(gathered, np.broadcast_to(X, (DEVICES, *X.shape)))
  np.testing.assert_array_equal(largest, np.broadcast_to(X.max(0), X.shape))
  np.testing.assert_array_equal(count, np.full(DEVICES, DEVICES))


def test_groups_and_all_to_all():
  groups = [[k, k + 4] for k in range(4)]
  sums = pmap(lambda x: jax.lax.psum(x, 'i', axis_index_groups=groups))(X)
  np.testing.assert_array_equal(sums, np.tile(X[:4] + X[4:], (2, 1, 1)))
  square = np.arange(DEVICES**2).reshape(DEVICES, DEVICES)
  np.testing.assert_array_equal(pmap(lambda x: jax.lax.all_to_all(x, 'i', 0, 0))(square), square.T)


def test_sums_of_booleans():
  some = pmap(lambda x: jax.lax.psum(x > 40, 'i'))(X)
  np.testing.assert_array_equal(np.asarray(some) > 0, np.broadcast_to((X > 40).any(0), X.shape))


def test_gradients_and_loops():
  got = pmap(jax.grad(lambda x: (jax.lax.psum(x, 'i')**2).sum()))(X)
  np.testing.assert_allclose(got, np.broadcast_to(2 * DEVICES * X.sum(0), X.shape))

  def until_large(x):
    return jax.lax.while_loop(lambda c: jax.lax.psum(c, 'i').sum() < 5000, lambda c: 2 * c, x)

  np.testing.assert_array_equal(pmap(until_large)(X), 8 * X)

  def steps(x):
    return jax.lax.scan(lambda c, _: (c + jax.lax.pmean(jnp.sin(c), 'i'), c.sum()), x, None, length=3)

  end, sums = pmap(steps)(X)
  want, want_sums = X.astype(np.float64), []
  for _ in range(3):
    want_sums.append(want.sum((1, 2)))
    want = want + np.sin(want).mean(0)
  np.testing.assert_allclose(end, want, rtol=1e-5)
  np.testing.assert_allclose(sums, np.stack(want_sums, 1), rtol=1e-5)


def test_nested_and_donated():
  x = X.reshape(2, 4, 6)
  inner = jax.pmap(lambda x: (jax.lax.psum(x, 'j'), jax.lax.psum(x, ('i', 'j'))), axis_name='j')
  rows, all_of_them = pmap(inner)(x)
  np.testing.assert_array_equal(rows, np.broadcast_to(x.sum(1, keepdims=True), x.shape))
  np.testing.assert_array_equal(all_of_them, np.broadcast_to(x.sum((0, 1)), x.shape))
  given = pmap(lambda x: x)(X)
  taken = pmap(lambda x: x + 1, donate_argnums=0)(given)
  assert given.is_deleted()
  np.testing.assert_array_equal(taken, X + 1)
