"""Python functions that compiled programs call on the host: pure_callback, io_callback, jax.debug."""
import functools

import jax
import jax.extend
from jax import lax
from jax.experimental import io_callback
from jax.sharding import NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest

X = np.arange(8, dtype=np.float32)


@pytest.fixture(name='mesh', scope='module')
def _mesh():
  return jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))


def twice_on_host(x, **kwargs):
  return jax.pure_callback(lambda a: 2 * np.asarray(a), jax.ShapeDtypeStruct(x.shape, x.dtype), x, **kwargs)


def test_pure_callback():
  f = jax.jit(lambda x: twice_on_host(x + 1) - 1)
  np.testing.assert_array_equal(f(X), 2 * (X + 1) - 1)
  np.testing.assert_array_equal(f(X[::-1]), 2 * (X[::-1] + 1) - 1)  # called again, does not return the value of the first call


def test_pure_callback_of_trees_and_dtypes():
  def on_host(a, b):
    return {'sum': np.asarray(a).sum(keepdims=True), 'other': ~np.asarray(b)}
  shapes = {'sum': jax.ShapeDtypeStruct((1,), jnp.int32), 'other': jax.ShapeDtypeStruct((3,), jnp.bool_)}
  out = jax.jit(lambda a, b: jax.pure_callback(on_host, shapes, a, b))(jnp.arange(5), jnp.array([True, False, True]))
  assert out['sum'].tolist() == [10] and out['other'].tolist() == [False, True, False]


@pytest.mark.parametrize('method', ['sequential', 'expand_dims', 'broadcast_all'])
def test_pure_callback_under_vmap(method):
  rows = np.arange(12, dtype=np.float32).reshape(3, 4)
  out = jax.vmap(lambda x: twice_on_host(x, vmap_method=method))(rows)
  np.testing.assert_array_equal(out, 2 * rows)


def test_custom_derivative_around_a_callback():
  @jax.custom_jvp
  def square(x):
    return jax.pure_callback(lambda a: np.square(a), jax.ShapeDtypeStruct(x.shape, x.dtype), x)
  square.defjvp(lambda primals, tangents: (square(primals[0]), 2 * primals[0] * tangents[0]))
  np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: square(x).sum()))(X), 2 * X)


def test_unordered_effects_happen_though_nothing_uses_them():
  seen = []
  f = jax.jit(lambda x: (io_callback(lambda v: seen.append(float(v)), None, x), x + 1)[1])
  for i in range(3):
    assert f(float(i)) == i + 1
  jax.effects_barrier()
  assert sorted(seen) == [0, 1, 2]


def test_ordered_effects_of_a_loop_keep_their_order():
  seen = []

  @jax.jit
  def f(x):
    def body(_, carry):
      io_callback(lambda v: seen.append(float(v)), None, carry, ordered=True)
      return 2 * carry
    return lax.fori_loop(0, 6, body, x)
  assert f(1.0) == 64
  jax.effects_barrier()
  assert seen == [1, 2, 4, 8, 16, 32]


def test_ordered_effects_of_calls_follow_each_other():
  seen = []
  f = jax.jit(lambda x: io_callback(lambda v: seen.append(int(v)), None, x, ordered=True))
  for i in range(20):
    f(i)
  jax.effects_barrier()
  assert seen == list(range(20))


def test_ordered_effects_of_values_that_are_independent():
  seen = []

  @jax.jit
  def f(x, y):
    io_callback(lambda v: seen.append(('sum', float(v))), None, jnp.exp(0 * x).sum(), ordered=True)
    io_callback(lambda v: seen.append(('y', float(v))), None, y, ordered=True)
    z = lax.cond(y > 0, lambda v: io_callback(lambda u: (seen.append(('branch', float(u))), u)[1], v, v, ordered=True), lambda v: v, y)
    io_callback(lambda v: seen.append(('last', float(v))), None, y, ordered=True)
    return z + x.max()
  assert f(np.arange(1000, dtype=np.float32), np.float32(1)) == 1000
  jax.effects_barrier()
  assert seen == [('sum', 1000), ('y', 1), ('branch', 1), ('last', 1)]


def test_results_of_ordered_callbacks():
  state = [0]

  def draw():
    state[0] += 1
    return np.int32(state[0])
  f = jax.jit(lambda: [io_callback(draw, jax.ShapeDtypeStruct((), jnp.int32), ordered=True) for _ in range(3)])
  assert [int(v) for v in f()] == [1, 2, 3]
  assert [int(v) for v in f()] == [4, 5, 6]


def test_branches_call_only_what_is_taken():
  seen = []

  @jax.jit
  def f(x):
    return lax.cond(x > 0, lambda x: io_callback(lambda v: seen.append(v) or np.float32(1), jax.ShapeDtypeStruct((), 'f4'), x),
                    lambda x: -x, x)
  assert f(-2.0) == 2 and not seen
  assert f(2.0) == 1
  jax.effects_barrier()
  assert len(seen) == 1


def test_debug_print(capsys):
  @jax.jit
  def f(x):
    jax.debug.print('x = {x} and {}', x.sum(), x=x)
    return x
  f(X[:3]).block_until_ready()
  jax.debug.print('not jitted {}', jnp.int32(7))
  jax.effects_barrier()
  assert sorted(capsys.readouterr().out.splitlines()) == ['not jitted 7', 'x = [0. 1. 2.] and 3.0']


def test_a_sharded_argument_is_given_whole_and_once(mesh):
  calls = []

  def on_host(a):
    calls.append(np.asarray(a))
    return 2 * np.asarray(a)
  x = jax.device_put(X, NamedSharding(mesh, P('x')))
  out = jax.jit(lambda x: jax.pure_callback(on_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1)(x)
  np.testing.assert_array_equal(out, 2 * X + 1)
  assert len(calls) == 1
  np.testing.assert_array_equal(calls[0], X)


def test_a_shard_map_calls_for_each_part(mesh):
  seen = []

  @jax.jit
  @functools.partial(jax.shard_map, mesh=mesh, in_specs=P('x'), out_specs=P('x'))
  def f(block):
    jax.debug.callback(lambda v: seen.append(v.tolist()), block)
    return twice_on_host(block)
  np.testing.assert_array_equal(f(jax.device_put(X, NamedSharding(mesh, P('x')))), 2 * X)
  jax.effects_barrier()
  assert sorted(seen) == [[v] for v in range(8)]


def test_an_exception_reaches_the_caller_and_the_client_goes_on():
  def fails(_):
    raise LookupError('no such row: 3')
  f = jax.jit(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct((), jnp.float32), x))
  with pytest.raises(jax.errors.JaxRuntimeError, match='no such row: 3') as caught:
    f(1.0).block_until_ready()
  assert 'LookupError' in str(caught.value)
  assert jax.jit(lambda x: twice_on_host(x))(jnp.float32(2)) == 4


def test_a_result_of_another_shape_is_refused():
  f = jax.jit(lambda x: jax.pure_callback(lambda a: np.zeros(5, np.float32), jax.ShapeDtypeStruct((3,), jnp.float32), x))
  with pytest.raises(Exception, match=r'\(5,\)|\[5\]'):
    f(1.0).block_until_ready()
  assert jax.jit(lambda x: twice_on_host(x))(jnp.float32(2)) == 4


def test_functions_go_with_their_programs():
  import gc
  import weakref

  class Function:
    def __call__(self, a):
      return np.asarray(a)
  function = Function()
  alive = weakref.ref(function)
  f = jax.jit(lambda x: jax.pure_callback(function, jax.ShapeDtypeStruct((), jnp.float32), x))
  assert f(1.0) == 1
  del f, function
  jax.clear_caches()
  gc.collect()
  assert alive() is None


def test_the_mesh_of_the_caller_is_none_of_the_functions():
  explicit = jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Explicit,))
  with jax.set_mesh(explicit):
    @jax.jit
    @jax.shard_map(in_specs=P('x'), out_specs=(P('x'), P('x')))
    def f(block):
      like = jax.ShapeDtypeStruct(block.shape, block.dtype)
      return jax.pure_callback(lambda a: (a + 1, jnp.asarray(a) * 2), (like, like), block)
    more, twice = f(jax.device_put(X, P('x')))
  np.testing.assert_array_equal(more, X + 1)
  np.testing.assert_array_equal(twice, 2 * X)


@pytest.mark.parametrize('check_vma', [True, False])
def test_values_of_callbacks_that_differ_between_devices_outside_of_jit(mesh, check_vma):
  seen = []

  def on_host(a):
    seen.append(float(a[0, 0]))
    return np.asarray(a + 1), np.asarray(2 * a.sum(1))

  def f(block):
    like = (jax.ShapeDtypeStruct(block.shape, block.dtype), jax.ShapeDtypeStruct(block.shape[:1], block.dtype))
    more, sums = jax.pure_callback(on_host, like, block)
    return more + block, sums
  x = np.arange(48, dtype=np.float32).reshape(16, 3)
  out = jax.shard_map(f, mesh=mesh, in_specs=P('x'), out_specs=P('x'), check_vma=check_vma)(x)
  np.testing.assert_array_equal(out[0], 2 * x + 1)
  np.testing.assert_array_equal(out[1], 2 * x.sum(1))
  assert sorted(seen) == [6.0 * i for i in range(8)]


def test_values_of_io_callbacks_that_differ_between_devices_outside_of_jit():
  grid = jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)
  f = lambda a, b: io_callback(lambda v, w: np.asarray(v + w), jax.ShapeDtypeStruct((2,), jnp.float32), a, b)
  out = jax.shard_map(f, mesh=grid, in_specs=(P('x'), P('y')), out_specs=P(('x', 'y')))(X, X[:4])
  np.testing.assert_array_equal(out.reshape(4, 2, 2), X.reshape(4, 1, 2) + X[:4].reshape(1, 2, 2))


def test_equal_values_of_callbacks_need_not_be_sharded_outside_of_jit(mesh):
  def shape_of(block):
    return jax.pure_callback(lambda a: np.int32(a.shape[0]), jax.ShapeDtypeStruct((), jnp.int32), block)
  assert jax.shard_map(shape_of, mesh=mesh, in_specs=P('x'), out_specs=P())(np.zeros(16, np.float32)) == 2


def test_values_of_callbacks_that_differ_between_devices_are_refused_where_one_is_expected(mesh):
  f = jax.shard_map(twice_on_host, mesh=mesh, in_specs=P('x'), out_specs=P())
  x = jax.device_put(X, NamedSharding(mesh, P('x')))
  with pytest.raises(ValueError, match='out_specs'):
    f(x)
  with pytest.raises(jax.errors.JaxRuntimeError, match=r'\[shard_map\] expected result 0 to be the same .* jax.jit'):
    jax.jit(f)(x)


def test_effects_of_functions_that_return_nothing():
  seen = []

  @jax.jit
  def f(x):
    io_callback(lambda v: seen.append(float(v)), None, x)
    io_callback(lambda v: seen.append(float(v)), None, 2 * x)
  jax.vmap(f)(jnp.arange(3.0))
  jax.effects_barrier()
  assert sorted(seen) == [0, 0, 1, 2, 2, 4]


def test_effects_of_branches_that_return_nothing(mesh):
  seen = []
  note = lambda v: jax.debug.callback(lambda w: seen.append(float(w)), v)
  f = jax.jit(lambda x: lax.cond(x > 0, note, lambda v: None, x))
  f(-1.0)
  f(2.0)
  g = jax.jit(lambda i, x: lax.switch(i, [lambda v: None, note, lambda v: note(10 * v)], x) or x)
  for i in range(3):
    assert g(i, 3.0) == 3
  jax.effects_barrier()
  assert sorted(seen) == [2, 3, 30]
  seen.clear()
  h = jax.jit(jax.shard_map(lambda x: note(x.sum()), mesh=mesh, in_specs=P('x'), out_specs=None))
  h(X)
  jax.effects_barrier()
  assert sorted(seen) == list(range(8))


def test_devices_that_take_a_branch_call_its_functions(mesh):
  seen = []
  note = lambda v: jax.debug.callback(lambda w: seen.append(float(w)), v)

  def ways(x):
    i = lax.axis_index('x')
    lax.cond(i == 2, lambda v: note(v), lambda v: None, x.sum())
    lax.cond(i < 6, lambda v: None, lambda v: note(100 * v), x.sum())
    y = lax.switch(i - 1, [lambda v: v, lambda v: (note(1000. + v), 2 * v)[1], lambda v: (note(2000. + v), 3 * v)[1]], x.sum())
    return x + y
  f = jax.jit(jax.shard_map(ways, mesh=mesh, in_specs=P('x'), out_specs=P('x')))
  x = np.arange(8, dtype=np.float32)
  result = f(x)
  jax.effects_barrier()
  # lax.switch clamps the index: at least 0, at most the last.
  np.testing.assert_array_equal(result, x + x * np.array([1, 1, 2, 3, 3, 3, 3, 3]))
  assert sorted(seen) == [2, 600, 700, 1002, 2003, 2004, 2005, 2006, 2007]


def test_ordered_calls_in_a_shard_map_that_return_nothing(mesh):
  seen = []
  def f(x, y):
    io_callback(lambda v: seen.append(v.shape), None, x, ordered=True)
    return x + y[..., None]
  out = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P(None, 'x'), P(None)), out_specs=P(None, 'x')))(jnp.zeros((2, 16)), jnp.ones(2))
  jax.effects_barrier()
  assert seen == [(2, 2)] * 8
  np.testing.assert_array_equal(out, np.ones((2, 16)))


def test_packages_call_the_public_name():
  from jax.interpreters import mlir
  primitive = jax.extend.core.Primitive('plus_one_on_host')
  primitive.def_abstract_eval(lambda x: x)

  def lower(ctx, x):
    results, _, _ = mlir.emit_python_callback(ctx, lambda v: (np.asarray(v) + 1,), None, [x], ctx.avals_in, ctx.avals_out,
                                              has_side_effect=False)
    return results

  mlir.register_lowering(primitive, lower)
  np.testing.assert_array_equal(jax.jit(primitive.bind)(X), X + 1)


def test_a_function_of_a_branch_that_few_devices_take_gets_their_values_alone(mesh):
  seen = []

  def host(a):
    seen.append(float(a[0]))
    return 2 * a

  def call(x):
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

  def branch(x):
    return lax.cond(x[0] > 5, call, lambda x: x, x)

  def nested(x):
    return lax.cond(x[0] > 2, branch, lambda x: -x, x)

  def loop(x):  # a device takes the branch in its last iteration
    return lax.while_loop(lambda x: x[0] < 6, lambda x: branch(x + 1), x)

  def called_each_trip(x):
    return lax.while_loop(lambda x: x[0] < 3, lambda x: call(x) + 1, x)

  x = np.arange(8, dtype=np.float32)
  for f, expected, called in ((branch, np.where(x > 5, 2 * x, x), [6, 7]),
                              (nested, np.where(x > 5, 2 * x, np.where(x > 2, x, -x)), [6, 7]),
                              (loop, np.where(x < 6, 12, x), [6] * 6),
                              (called_each_trip, [3, 3, 5, 3, 4, 5, 6, 7], [0, 1, 1, 2])):
    seen.clear()
    mapped = jax.shard_map(f, mesh=mesh, in_specs=P('x'), out_specs=P('x'), check_vma=False)
    np.testing.assert_array_equal(jax.jit(mapped)(x), expected)
    assert sorted(seen) == called
