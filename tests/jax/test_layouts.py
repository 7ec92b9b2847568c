"""Orders of dimensions in memory: Format and Layout of arguments and results, with_layout_constraint."""
import jax
from jax.experimental.layout import Format, Layout, with_layout_constraint
from jax.sharding import NamedSharding, PartitionSpec as P, SingleDeviceSharding
import jax.numpy as jnp
import numpy as np
import pytest

X = np.arange(16 * 8, dtype=np.float32).reshape(16, 8)
COLUMNS = Layout(major_to_minor=(1, 0))


@pytest.fixture(name='mesh', scope='module')
def _mesh():
  return jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def order(array):
  return array.format.layout.major_to_minor


def memory(array):
  """Returns the numbers of the array's first part in the order of memory."""
  import ctypes
  part = array.addressable_shards[0].data
  return np.ctypeslib.as_array(ctypes.cast(part.unsafe_buffer_pointer(), ctypes.POINTER(ctypes.c_float)), (part.size,))


@pytest.mark.parametrize('spec', [P('x', 'y'), P('y'), P(None, ('x', 'y')), P()])
def test_arrays_in_columns(mesh, spec):
  sharding = NamedSharding(mesh, spec)
  by_columns = jax.device_put(X, Format(COLUMNS, sharding))
  assert order(by_columns) == (1, 0) and by_columns.sharding == sharding
  np.testing.assert_array_equal(by_columns, X)
  part = np.asarray(by_columns.addressable_shards[0].data)
  np.testing.assert_array_equal(memory(by_columns), part.T.ravel())
  back = jax.device_put(by_columns, Format(Layout(major_to_minor=(0, 1)), sharding))
  assert order(back) == (0, 1)
  np.testing.assert_array_equal(memory(back), part.ravel())


def test_programs_between_orders(mesh):
  sharding = NamedSharding(mesh, P('x', 'y'))
  by_columns = jax.device_put(X, Format(COLUMNS, sharding))
  f = jax.jit(lambda x, y: (x @ y, x + 1), out_shardings=(None, Format(COLUMNS, sharding)))
  product, more = f(by_columns, X.T)
  np.testing.assert_allclose(product, X @ X.T, rtol=1e-6)
  np.testing.assert_array_equal(more, X + 1)
  assert (order(product), order(more)) == ((0, 1), (1, 0))
  # The type of an argument's result in another dimension: three dimensions, two of them sharded.
  cube = np.arange(4 * 2 * 6, dtype=np.int32).reshape(4, 2, 6)
  turned = jax.device_put(cube, Format(Layout(major_to_minor=(2, 0, 1)), NamedSharding(mesh, P('x', 'y'))))
  assert order(turned) == (2, 0, 1)
  np.testing.assert_array_equal(turned, cube)
  out = jax.jit(lambda x: x.sum(0))(turned)
  np.testing.assert_array_equal(out, cube.sum(0))


def test_auto_moves_nothing_for_a_transpose():
  device = SingleDeviceSharding(jax.devices()[0])
  compiled = jax.jit(lambda x: x.T, in_shardings=Format(Layout.AUTO, device),
                     out_shardings=Format(Layout.AUTO, device)).lower(X).compile()
  assert compiled.input_formats[0][0].layout.major_to_minor == (0, 1)
  assert compiled.output_formats.layout.major_to_minor == (1, 0)
  out = compiled(jnp.asarray(X))
  np.testing.assert_array_equal(out, X.T)
  np.testing.assert_array_equal(memory(out), X.ravel())


def test_the_text_has_the_orders(mesh):
  by_columns = jax.device_put(X, Format(COLUMNS, NamedSharding(mesh, P('x', 'y'))))
  compiled = jax.jit(lambda x, y: (x * y, y + 1), out_shardings=(by_columns.format, None)).lower(by_columns, 2.).compile()
  assert 'entry_computation_layout={(f32[4,4]{0,1}, f32[])->(f32[4,4]{0,1}, f32[])}' in compiled.as_text()
  np.testing.assert_array_equal(compiled(by_columns, 2.)[0], X * 2)


def test_a_donated_argument_in_columns(mesh):
  format_ = Format(COLUMNS, NamedSharding(mesh, P('x', 'y')))
  array = jax.device_put(X, format_)
  out = jax.jit(lambda x: x * 2, in_shardings=format_, out_shardings=format_, donate_argnums=0)(array)
  assert array.is_deleted() and order(out) == (1, 0)
  np.testing.assert_array_equal(out, X * 2)


def test_views_of_arrays_in_columns():
  array = jax.device_put(X, Format(COLUMNS, SingleDeviceSharding(jax.devices()[0])))
  np.testing.assert_array_equal(np.from_dlpack(array), X)
  np.testing.assert_array_equal(jax.device_get(array), X)
  np.testing.assert_array_equal(array[3:5], X[3:5])
  seen = jax.jit(lambda x: jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(X.shape, X.dtype), x))(array)
  np.testing.assert_array_equal(seen, X)
  np.testing.assert_array_equal(jax.device_put(array, jax.devices()[1]), X)


def test_with_layout_constraint_changes_no_value():
  f = jax.jit(lambda x: with_layout_constraint(x.T, COLUMNS) * 2)
  np.testing.assert_array_equal(f(X), X.T * 2)
  assert order(f(X)) == (0, 1)


def test_tiles_are_refused_and_the_client_stays():
  tiled = Format(Layout(major_to_minor=(0, 1), tiling=((8, 128),)), SingleDeviceSharding(jax.devices()[0]))
  with pytest.raises(Exception, match=r'\[layout\] expected an order of the 2 dimensions of result 0, got .*T\(8,128\)'):
    jax.jit(lambda x: x + 1, out_shardings=tiled)(X)
  np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(X), X + 1)
