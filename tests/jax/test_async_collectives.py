"""Collectives with separate start and done operations in JAX, and the order in time that programs require."""
import functools

import jax
from jax.sharding import PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest

parallel = pytest.importorskip('jax._src.lax.parallel')
if not hasattr(parallel, 'psum_start'):
  pytest.skip('this version of JAX has no psum_start', allow_module_level=True)

X = np.arange(16, dtype=np.float32)
RING = [(i, (i + 1) % 8) for i in range(8)]
PAIRS = {
    'psum': (lambda x: jax.lax.psum(x, 'x'), lambda x: parallel.psum_start(x, 'x')),
    'ppermute': (lambda x: jax.lax.ppermute(x, 'x', RING), lambda x: parallel.ppermute_start(x, 'x', RING)),
    'all_gather': (lambda x: jax.lax.all_gather(x, 'x', tiled=True), lambda x: parallel.all_gather_start(x, 'x', tiled=True)),
    'all_gather_stacked': (lambda x: jax.lax.all_gather(x, 'x'), lambda x: parallel.all_gather_start(x, 'x')),
    'all_to_all': (lambda x: jax.lax.all_to_all(jnp.tile(x, 8), 'x', 0, 0, tiled=True),
                   lambda x: parallel.all_to_all_start(jnp.tile(x, 8), 'x', 0, 0, tiled=True)),
    'psum_scatter': (lambda x: jax.lax.psum_scatter(jnp.tile(x, 8), 'x', tiled=True),
                     lambda x: parallel.psum_scatter_start(jnp.tile(x, 8), 'x', scatter_dimension=0, tiled=True)),
}


def on_devices(f):
  # JAX 0.12 has psum_start only with check_vma.
  mesh = jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
  return jax.jit(functools.partial(jax.shard_map, mesh=mesh, in_specs=P('x'), out_specs=P('x'))(f))


@pytest.mark.parametrize('name', PAIRS)
def test_start_and_done_are_the_collective(name):
  plain, start = PAIRS[name]
  expected = on_devices(plain)(X)
  np.testing.assert_array_equal(on_devices(lambda x: start(x).done())(X), expected)
  # Two of them at once, and in a loop.
  two = on_devices(lambda x: (lambda a, b: a.done() + b.done())(start(x), start(2 * x)))
  np.testing.assert_array_equal(two(X), 3 * expected)
  loop = on_devices(lambda x: jax.lax.scan(lambda c, _: (c, start(c).done()), x, None, length=3)[1][2])
  np.testing.assert_array_equal(loop(X), expected)


def test_control_dependencies_change_no_value():
  control_deps = pytest.importorskip('jax.experimental.control_deps')

  @jax.jit
  def f(x):
    a, b = jnp.sin(x), jnp.cos(x)
    control_deps.schedule([b, a])
    return a + b

  np.testing.assert_allclose(f(X), np.sin(X) + np.cos(X), rtol=1e-6)
