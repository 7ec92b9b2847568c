"""jax.experimental.buffer_callback: Python functions that write to the results' memory."""
import functools

import jax
from jax.experimental import buffer_callback as module
from jax.sharding import PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest

X = np.arange(12, dtype=np.float32).reshape(3, 4)
TYPE = jax.ShapeDtypeStruct(X.shape, X.dtype)


def double(ctx, out, x):
  assert ctx.stage == module.ExecutionStage.EXECUTE
  np.asarray(out)[...] = 2 * np.asarray(x)


def test_values_and_what_buffers_say():
  seen = []

  def callback(ctx, out, x, *, bias):
    del ctx
    seen.append((x.shape, x.dtype, x.ndim, x.writeable, out['y'].writeable, np.asarray(x).flags.writeable))
    np.testing.assert_array_equal(np.from_dlpack(x), np.asarray(x))
    assert x.__dlpack_device__() == (1, 0) and np.asarray(x, dtype=np.float64).dtype == np.float64
    np.asarray(out['y'])[...] = np.asarray(x) + np.asarray(bias)

  call = module.buffer_callback(callback, {'y': TYPE})
  np.testing.assert_array_equal(jax.jit(lambda x: call(x + 1, bias=3.)['y'] - 1)(X), X + 3)
  assert seen == [((3, 4), np.dtype(np.float32), 2, False, True, False)]


@pytest.mark.parametrize('method', ['sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all'])
def test_vmap(method):
  call = module.buffer_callback(double, jax.ShapeDtypeStruct((4,), np.float32), vmap_method=method)
  np.testing.assert_array_equal(jax.vmap(call)(X), 2 * X)


def test_an_aliased_argument_is_the_result_and_other_readers_keep_theirs():

  def add_one(ctx, out, x):
    assert np.asarray(out).ctypes.data == np.asarray(x).ctypes.data and x.writeable
    np.asarray(out)[...] += 1

  call = module.buffer_callback(add_one, TYPE, input_output_aliases={0: 0})
  x = jnp.asarray(X)
  np.testing.assert_array_equal(jax.jit(lambda x: call(x) + x)(x), 2 * X + 1)
  np.testing.assert_array_equal(x, X)


def test_effects_without_results():
  seen = []
  call = module.buffer_callback(lambda ctx, out, x: seen.append(float(np.asarray(x))), (), has_side_effect=True)
  f = jax.jit(lambda x: (call(x), x + 1)[1])
  assert [float(f(float(i))) for i in range(3)] == [1, 2, 3]
  jax.effects_barrier()
  assert seen == [0, 1, 2]


def test_shard_map_calls_with_a_device_s_part():
  mesh = jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
  parts = []

  def callback(ctx, out, x):
    parts.append(float(np.asarray(x)[0]))
    double(ctx, out, x)

  call = module.buffer_callback(callback, jax.ShapeDtypeStruct((1,), np.float32))
  f = jax.jit(functools.partial(jax.shard_map, mesh=mesh, in_specs=P('x'), out_specs=P('x'), check_vma=False)(call))
  x = np.arange(8, dtype=np.float32)
  np.testing.assert_array_equal(f(x), 2 * x)
  assert sorted(parts) == list(x)


def test_errors_arrive_and_the_client_stays():
  call = module.buffer_callback(lambda ctx, out, x: 1, TYPE)
  with pytest.raises(Exception, match=r'\[buffer_callback\] expected a callback that returns nothing, got a value'):
    jax.block_until_ready(call(X))
  call = module.buffer_callback(lambda ctx, out, x: ctx.stream, TYPE)
  with pytest.raises(Exception, match='XLA FFI GPU context is not available'):
    jax.block_until_ready(call(X))
  kept = []

  def keep(ctx, out, x):
    kept.append(x)
    with pytest.raises(ValueError, match=r'\[buffer_callback\] expected float32 for an array without a copy, got float64'):
      x.__array__(np.float64, copy=False)
    double(ctx, out, x)

  np.testing.assert_array_equal(module.buffer_callback(keep, TYPE)(X), 2 * X)
  with pytest.raises(RuntimeError, match=r'\[buffer_callback\] expected a buffer to be used before its callback returns'):
    np.asarray(kept[0])
