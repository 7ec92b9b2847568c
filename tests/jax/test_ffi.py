"""Native functions of users: XLA FFI handlers that are compiled here, registered with JAX and called on the plugin."""
import ctypes
import pathlib
import shutil
import subprocess

import jax
from jax import lax
from jax.sharding import PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest

X = np.arange(8, dtype=np.float32)
COMPILER = shutil.which('g++') or shutil.which('c++')
pytestmark = pytest.mark.skipif(not COMPILER, reason='handlers are compiled by g++')


@pytest.fixture(name='handlers', scope='module')
def _handlers(tmp_path_factory):
  """Returns the library of handlers; handlers with a single stage are registered by their names."""
  path = tmp_path_factory.mktemp('ffi') / 'handlers.so'
  source = pathlib.Path(__file__).with_name('ffi_handlers.cc')
  subprocess.run([COMPILER, '-std=c++17', '-O1', '-shared', '-fPIC', f'-I{jax.ffi.include_dir()}', source, '-o', path],
                 check=True)
  library = ctypes.CDLL(path)
  for name in ('add', 'sum_attributes', 'double_in_place', 'nothing', 'add_one_later'):
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform='tessera')
  return library


def add(x, y, **kwargs):
  return jax.ffi.ffi_call('add', jax.ShapeDtypeStruct(x.shape, x.dtype), **kwargs)(x, y)


def test_call(handlers):
  np.testing.assert_array_equal(jax.jit(lambda x: add(x + 1, 2 * x) - 1)(X), 3 * X)
  np.testing.assert_array_equal(add(jnp.asarray(X), jnp.asarray(X)), 2 * X)


def test_attributes_of_every_kind(handlers):
  def f():
    with jax.enable_x64(True):
      return jax.ffi.ffi_call('sum_attributes', jax.ShapeDtypeStruct((2,), np.float64))(
          i32=np.int32(-3), i64=np.int64(2**40), u8=np.uint8(200), f32=np.float32(0.25), f64=np.float64(0.5), flag=True,
          text='four', array=np.array([1, 2, 3], np.int32), dictionary={'inner': 7})
  expected = -3 + 2**40 + 200 + 0.25 + 0.5 + 1 + 4 + 6 + 7
  np.testing.assert_array_equal(f(), [expected, expected])


def test_errors_of_handlers_arrive_and_the_client_stays(handlers):
  call = jax.ffi.ffi_call('add', jax.ShapeDtypeStruct((8,), np.float32))
  with pytest.raises(Exception, match='INVALID_ARGUMENT.*sizes differ: 8 and 3'):
    jax.block_until_ready(jax.jit(call)(X, X[:3]))
  with pytest.raises(Exception, match='Wrong number of arguments: expected 2 but got 1'):
    jax.block_until_ready(jax.jit(call)(X))
  np.testing.assert_array_equal(add(X, X), 2 * X)


def test_unknown_targets_and_handlers_of_other_kinds(handlers):
  with pytest.raises(Exception, match='got @nowhere; register a handler of this name by .*platform="tessera"'):
    jax.jit(jax.ffi.ffi_call('nowhere', jax.ShapeDtypeStruct((8,), np.float32)))(X)
  with pytest.raises(ValueError, match=r"version 0\.2 to 0\.5 of XLA's FFI, got one for 9\.0"):
    jax.ffi.register_ffi_target('late', jax.ffi.pycapsule(handlers.of_the_future), platform='tessera')
  with pytest.raises(ValueError, match="got other ones for 'add'"):
    jax.ffi.register_ffi_target('add', jax.ffi.pycapsule(handlers.nothing), platform='tessera')
  with pytest.raises(ValueError, match='api_version 1, got 0'):
    jax.ffi.register_ffi_target('old', jax.ffi.pycapsule(handlers.nothing), platform='tessera', api_version=0)
  jax.ffi.register_ffi_target('add', jax.ffi.pycapsule(handlers.add), platform='tessera')  # registered once more


def test_handlers_registered_for_cpu(handlers):
  jax.ffi.register_ffi_target('add_of_cpu', jax.ffi.pycapsule(handlers.add), platform='cpu')
  call = jax.ffi.ffi_call('add_of_cpu', jax.ShapeDtypeStruct((8,), np.float32))
  np.testing.assert_array_equal(jax.jit(call)(X, X), 2 * X)


@pytest.mark.parametrize('method', ['sequential', 'expand_dims', 'broadcast_all'])
def test_vmap(handlers, method):
  rows = np.arange(12, dtype=np.float32).reshape(3, 4)
  f = lambda x: add(x, x[::-1], vmap_method=method)
  np.testing.assert_array_equal(jax.jit(jax.vmap(f))(rows), rows + rows[:, ::-1])


def test_shard_map_calls_it_for_each_part(handlers):
  mesh = jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
  f = jax.jit(jax.shard_map(lambda x: add(x, lax.axis_index('x') + jnp.zeros_like(x)), mesh=mesh, in_specs=P('x'),
                            out_specs=P('x')))
  np.testing.assert_array_equal(f(X), 2 * X)


def test_loops(handlers):
  f = jax.jit(lambda x: lax.fori_loop(0, 5, lambda _, y: add(y, y), x))
  np.testing.assert_array_equal(f(X), 32 * X)


def test_aliases_and_donation(handlers):
  call = jax.ffi.ffi_call('double_in_place', jax.ShapeDtypeStruct((8,), np.float32), input_output_aliases={0: 0})
  x = jnp.asarray(X)
  np.testing.assert_array_equal(jax.jit(call)(x), 2 * X)
  np.testing.assert_array_equal(x, X)  # it is not donated, so it stays
  np.testing.assert_array_equal(jax.jit(call, donate_argnums=0)(x), 2 * X)


def test_state_of_a_call(handlers):
  for name in ('counter_type_id', 'counter_type_info'):
    getattr(handlers, name).restype = ctypes.c_void_p
  capsule = lambda name: jax.ffi.pycapsule(ctypes.c_void_p(getattr(handlers, name)()))
  jax.ffi.register_ffi_type('counter', {'type_id': capsule('counter_type_id'),
                                        'type_info': capsule('counter_type_info')}, platform='tessera')
  jax.ffi.register_ffi_target('count', {'instantiate': jax.ffi.pycapsule(handlers.counter_instantiate),
                                        'execute': jax.ffi.pycapsule(handlers.counter_execute)}, platform='tessera')
  make = lambda: jax.jit(lambda: jax.ffi.ffi_call('count', jax.ShapeDtypeStruct((), np.int32), has_side_effect=True)())
  first, second = make(), make()
  assert [int(first()) for _ in range(3)] == [1, 2, 3]
  assert int(second()) == 1  # another program, another state


def test_threads_and_futures(handlers):
  call = jax.ffi.ffi_call('add_one_later', jax.ShapeDtypeStruct((8,), np.float32))
  np.testing.assert_array_equal(jax.jit(call)(X), X + 1)


def test_layouts(handlers):
  x = np.arange(6, dtype=np.float32).reshape(2, 3)
  # The argument and the result are column-major, so the handler has the elements of both in this order.
  call = jax.ffi.ffi_call('add', jax.ShapeDtypeStruct((2, 3), np.float32), input_layouts=[(1, 0), (0, 1)],
                          output_layouts=(1, 0))
  expected = (x.T.reshape(-1) + x.reshape(-1)).reshape(3, 2).T
  np.testing.assert_array_equal(jax.jit(call)(x, x), expected)


def test_calls_of_lapack_with_other_operands_reach_the_handler_of_jaxlib():
  lowered = jax.jit(lambda: jax.ffi.ffi_call('lapack_sgetrf_ffi', (), has_side_effect=True)()).lower()
  compiled = lowered.compile()
  assert 'lapack_sgetrf_ffi' in compiled.as_text()
  with pytest.raises(Exception, match='Wrong number of arguments: expected 1 but got 0'):
    compiled()
    jax.effects_barrier()
