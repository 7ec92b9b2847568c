"""What memory buffers have, who keeps it, and executables as data: costs, memory, bytes."""
import ctypes
import gc
import mmap
import os
import pathlib
import subprocess
import sys
import weakref

import jax
from jax import lax
from jax.experimental import serialize_executable, topologies
from jax.sharding import NamedSharding, PartitionSpec as P
import jax.numpy as jnp
from jax_plugins.tessera import library_path
import jaxlib
from jaxlib import xla_client
import numpy as np
import pytest

X = np.arange(64, dtype=np.float32).reshape(16, 4)


@pytest.fixture(name='mesh', scope='module')
def _mesh():
  return jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))


# --- donation


def test_a_donated_argument_is_deleted_and_its_memory_used():
  x = jnp.arange(4096.0)
  where = x.unsafe_buffer_pointer()
  out = jax.jit(lambda x: 2 * x + 1, donate_argnums=0)(x)
  assert x.is_deleted() and out.unsafe_buffer_pointer() == where
  np.testing.assert_array_equal(out, 2 * np.arange(4096, dtype=np.float32) + 1)
  with pytest.raises(RuntimeError, match='deleted'):
    x + 1  # pylint: disable=pointless-statement


def test_an_argument_that_is_not_donated_keeps_its_value():
  x = jnp.arange(4096.0)
  out = jax.jit(lambda x: 2 * x + 1)(x)
  assert not x.is_deleted() and out.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
  np.testing.assert_array_equal(x, np.arange(4096))


def test_a_donated_argument_whose_value_is_needed_late():
  x = jnp.arange(4096.0)
  out = jax.jit(lambda x: (x + 1, x[::-1] * jnp.cumsum(x)), donate_argnums=0)(x)
  plain = np.arange(4096, dtype=np.float32)
  np.testing.assert_array_equal(out[0], plain + 1)
  np.testing.assert_allclose(out[1], plain[::-1] * np.cumsum(plain), rtol=1e-6)


WHOLE = {  # functions whose results depend on other elements than their own
    'cumsum': jnp.cumsum, 'sort': jnp.sort, 'reversed': lambda x: x[::-1], 'roll': lambda x: jnp.roll(x, 3),
    'transpose': lambda x: x.reshape(64, 64).T.reshape(-1), 'softmax': lambda x: jax.nn.softmax(x.reshape(64, 64)).reshape(-1),
    'product': lambda x: (x.reshape(64, 64) @ x.reshape(64, 64)).reshape(-1), 'convolve': lambda x: jnp.convolve(x, x[:3], 'same'),
    'gather': lambda x: x[jnp.arange(4096) ^ 1], 'bits': lambda x: jax.lax.bitcast_convert_type(x[::-1], jnp.int32),
    'loop': lambda x: jax.lax.fori_loop(0, 3, lambda i, x: jnp.sort(x)[::-1] + i, x)}


@pytest.mark.parametrize('name', WHOLE)
def test_a_result_is_in_the_memory_that_was_donated_for_it(name, mesh):
  f, x = WHOLE[name], jnp.cos(jnp.arange(4096.0))
  want = np.asarray(f(x))
  where = x.unsafe_buffer_pointer()
  out = jax.jit(f, donate_argnums=0)(x)
  assert x.is_deleted() and out.unsafe_buffer_pointer() == where
  np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
  # Each device's part stays on its device.
  rows = jax.jit(lambda: jnp.cos(jnp.arange(8 * 4096.0)).reshape(8, -1), out_shardings=NamedSharding(mesh, P('x')))()
  want, where = np.asarray(jax.vmap(f)(rows)), [s.data.unsafe_buffer_pointer() for s in rows.addressable_shards]
  out = jax.jit(jax.vmap(f), donate_argnums=0, out_shardings=rows.sharding)(rows)
  assert [s.data.unsafe_buffer_pointer() for s in out.addressable_shards] == where
  np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
def test_packed_weights_are_those_of_their_array(dtype, mesh):
  """A convolution keeps a packed form of weights that it sees again; memory that is donated gets other weights."""

  @jax.jit
  def convolve(x, w):
    return lax.conv_general_dilated(x, w.astype(x.dtype), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))

  update = jax.jit(lambda w: w + 1, donate_argnums=0)
  random = np.random.default_rng(0)
  x = jnp.asarray(random.normal(size=(8, 5, 5, 32)), dtype)
  w = jnp.asarray(random.integers(-8, 8, (3, 3, 32, 32)), jnp.float32)
  rows, everywhere = (NamedSharding(mesh, spec) for spec in (P('x'), P()))
  for step in range(3):
    # Weights that are used once.
    want = np.asarray(convolve(x, jnp.asarray(np.asarray(w) + 0)))
    if step == 2:
      x, w = jax.device_put(x, rows), jax.device_put(w, everywhere)
    for _ in range(4):
      np.testing.assert_array_equal(convolve(x, w), want)
    before = w
    w = update(w)
    assert before.is_deleted()
  w.delete()
  with pytest.raises(RuntimeError, match='deleted'):
    convolve(x, w)


def test_one_donated_argument_is_one_results_memory():
  x = jnp.arange(4096.0)
  where = x.unsafe_buffer_pointer()
  one, other = jax.jit(lambda x: (x[::-1], jnp.sort(-x)), donate_argnums=0)(x)
  assert (one.unsafe_buffer_pointer() == where) != (other.unsafe_buffer_pointer() == where)
  np.testing.assert_array_equal(one, np.arange(4096.0)[::-1])
  np.testing.assert_array_equal(other, -np.arange(4096.0)[::-1])


def test_a_donated_argument_that_is_a_result_is_not_overwritten():
  x = jnp.arange(4096.0)
  backwards, same = jax.jit(lambda x: (x[::-1], x), donate_argnums=0)(x)
  np.testing.assert_array_equal(backwards, np.arange(4096.0)[::-1])
  np.testing.assert_array_equal(same, np.arange(4096.0))


def test_donation_of_sharded_arrays(mesh):
  x = jax.device_put(X, NamedSharding(mesh, P('x')))
  out = jax.jit(lambda x: x - 1, donate_argnums=0)(x)
  assert x.is_deleted() and out.sharding.spec == P('x')
  np.testing.assert_array_equal(out, X - 1)


@pytest.mark.parametrize('spec', [P(), P('x')], ids=['replicated', 'sharded'])
def test_donated_parts_in_memories_of_their_own_are_results_that_last(mesh, spec):
  f = jax.jit(lambda x: (jnp.cos(x), x), donate_argnums=0)
  kept = []
  for i in range(6):
    # device_put makes a part for each device. Its memory is freed with the argument.
    out = f(jax.device_put(X + i, NamedSharding(mesh, spec), may_alias=False))
    kept.append([np.asarray(a) for a in out])
  for i, (cosine, same) in enumerate(kept):
    np.testing.assert_array_equal(same, X + i)
    np.testing.assert_allclose(cosine, np.cos(X + i), rtol=1e-5)


def test_an_argument_donated_twice_is_refused():
  x = jnp.ones(16)
  with pytest.raises(Exception, match='donate'):
    jax.jit(lambda a, b: a + b, donate_argnums=(0, 1))(x, x)
  y = jnp.ones(16)
  np.testing.assert_array_equal(jax.jit(lambda a, b: a + b, donate_argnums=0)(y, jnp.ones(16)), 2 * np.ones(16))


# --- a result is nobody else's memory


def test_a_result_that_is_an_argument_outlives_it():
  x = jnp.arange(4096.0) + 0
  same, other = jax.jit(lambda x: (x, x))(x)
  assert len({a.unsafe_buffer_pointer() for a in (x, same)}) == 2
  x.delete()
  filler = [jnp.full(4096, -1.0) for _ in range(8)]
  np.testing.assert_array_equal(same, np.arange(4096))
  np.testing.assert_array_equal(other, np.arange(4096))
  del filler


def test_results_outlive_donated_ones_of_each_other():
  same, other = jax.jit(lambda x: (x, x))(jnp.arange(4096.0))
  jax.jit(lambda x: 0 * x, donate_argnums=0)(same).block_until_ready()
  np.testing.assert_array_equal(other, np.arange(4096))


def test_shards_and_copies_outlive_their_array(mesh):
  x = jax.device_put(X, NamedSharding(mesh, P('x')))
  same = jax.jit(lambda x: x)(x)
  shard = same.addressable_shards[3].data
  moved = jax.device_put(same, NamedSharding(mesh, P()))
  del x, same
  filler = [jax.device_put(-X, NamedSharding(mesh, P('x'))) for _ in range(8)]
  np.testing.assert_array_equal(shard, X[6:8])
  np.testing.assert_array_equal(moved, X)
  del filler


def test_the_host_may_change_what_it_gave():
  host = np.arange(1024, dtype=np.float32)
  x = jnp.array(host)
  host[:] = -1
  np.testing.assert_array_equal(x, np.arange(1024))
  given = np.asarray(x)
  del x
  filler = [jnp.full(1024, -1.0) for _ in range(8)]
  np.testing.assert_array_equal(given, np.arange(1024))
  del filler


# --- unreduced


def test_an_unreduced_result_is_summed_where_it_is_asked_for(mesh):
  del mesh
  explicit = jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
  with jax.set_mesh(explicit):
    a = jax.device_put(X[:8], P(None, 'x'))
    b = jax.device_put(X[:4], P('x', None))
    product = jax.jit(lambda a, b: jnp.einsum('ij,jk->ik', a, b, out_sharding=P(None, None, unreduced={'x'})))
    assert 'all_reduce' not in product.lower(a, b).compile().as_text()
    parts = product(a, b)
    assert parts.sharding.spec.unreduced == {'x'}
    columns, rows = np.split(X[:8], 4, axis=1), np.split(X[:4], 4)
    for shard, device in zip(parts.addressable_shards, range(8)):
      np.testing.assert_allclose(shard.data, columns[device // 2] @ rows[device // 2], rtol=1e-6)
    whole = jax.jit(lambda p: jax.sharding.reshard(p, P(None, None)))(parts)
  np.testing.assert_allclose(whole, X[:8] @ X[:4], rtol=1e-6)


# --- bits of other generators, rounding


def test_rbg_keys():
  key = jax.random.key(0, impl='rbg')
  bits = np.asarray(jax.random.bits(key, (1000,)))
  assert len(set(bits.tolist())) > 990
  np.testing.assert_array_equal(bits, jax.jit(lambda k: jax.random.bits(k, (1000,)))(key))
  assert (np.asarray(jax.random.bits(jax.random.split(key)[1], (1000,))) != bits).any()


def test_reduce_precision():
  out = lax.reduce_precision(jnp.array([1.3, 2.7, 1e30, -1e-30]), exponent_bits=5, mantissa_bits=2)
  np.testing.assert_array_equal(out, np.array([1.25, 2.5, np.inf, -0.0], np.float32))


# --- executables as data


def compiled_product(mesh):
  rows = NamedSharding(mesh, P('x'))
  x = jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=rows)
  return jax.jit(lambda x: jnp.tanh(x @ x.T).sum(0), out_shardings=rows).lower(x).compile()


def test_cost_and_memory_analysis(mesh):
  one = jax.jit(lambda x: x @ x.T).lower(X).compile()
  cost = one.cost_analysis()
  assert cost['flops'] == pytest.approx(2 * 16 * 4 * 16, rel=0.1)
  assert cost['bytes accessed'] >= 4 * (2 * 64 + 256)
  memory = one.memory_analysis()
  assert memory.argument_size_in_bytes == 4 * 64 and memory.output_size_in_bytes == 4 * 256
  sharded = compiled_product(mesh).memory_analysis()
  assert sharded.argument_size_in_bytes == 4 * 64 // 8 and sharded.output_size_in_bytes == 4 * 16 // 8


def test_the_text_of_a_compiled_program_is_that_of_a_device(mesh):
  text = compiled_product(mesh).as_text()
  assert 'all-gather' in text and 'dot(' in text and 'tanh(' in text
  assert 'num_partitions=8' in text
  one = jax.jit(lambda x: jnp.sin(x) + 1).lower(X).compile().as_text()
  assert 'sine(' in one and 'f32[16,4]' in one


def as_text(function, *args):
  return jax.jit(function).lower(*args).compile().as_text()


@pytest.mark.parametrize('name, dtype', [
    ('erf', np.float32), ('erfc', np.float32), ('erf_inv', np.float16), ('lgamma', np.float32), ('digamma', np.float32),
    ('sinh', np.float32), ('atanh', np.complex64), ('asin', np.complex64)])
def test_the_text_names_functions_that_hlo_lacks(name, dtype):
  assert name in as_text(getattr(lax, name), np.full(3, .5, dtype))


def test_the_text_names_such_functions_in_loops():
  assert 'erf_inv' in as_text(lambda key: jax.random.normal(key, (3,)), jax.random.key(0))
  assert 'lgamma' in as_text(lambda x: lax.fori_loop(0, 3, lambda _, x: lax.lgamma(x), x), np.ones(3, np.float32))


def test_the_text_has_the_attributes_that_users_give_a_call():
  groups = pytest.importorskip('jax.experimental.scheduling_groups', exc_type=ImportError)
  if not hasattr(groups, 'xla_metadata_call'):
    pytest.skip('this JAX has no xla_metadata_call')
  g = groups.xla_metadata_call(lambda x: x * 2, inlineable='false')
  assert 'frontend_attributes={inlineable="false"}' in as_text(lambda x: jnp.sin(g(x)), np.ones(3, np.float32))
  step = lambda total, x: (total + g(x), x)
  assert 'frontend_attributes={inlineable="false"}' in as_text(lambda x: lax.scan(step, 0., x), np.ones(3, np.float32))


def test_the_text_has_no_calls_that_are_inlined_early():
  if not hasattr(jax, 'Inline'):
    pytest.skip('this JAX has no jax.Inline')
  twice = lambda x: jax.jit(lambda x: jnp.sin(x) * 2, inline=jax.Inline.XLA_EARLY)(x) + 1  # pylint: disable=no-member
  called = lambda inline: as_text(lambda x: jax.jit(twice, inline=inline)(x) * x, np.ones(3, np.float32))
  assert 'call(' in called(jax.Inline.XLA_LATE)  # pylint: disable=no-member
  assert 'call(' not in called(jax.Inline.XLA_EARLY) and 'sine(' in called(jax.Inline.XLA_EARLY)  # pylint: disable=no-member


def test_the_text_has_an_exchange_for_each_array(mesh):
  f = jax.shard_map(lambda *arrays: [lax.all_to_all(x, 'x', 0, 0) for x in arrays], mesh=mesh, in_specs=P('x'), out_specs=P('x'))
  text = as_text(f, np.ones((64, 3), np.float32), np.ones((64, 5), np.float32))
  assert text.count(' all-to-all(') == 2


def jaxlib_has(name):
  [library] = pathlib.Path(jaxlib.__file__).parent.glob('libjax_common.so')
  with open(library, 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
    return content.find(name.encode()) >= 0


@pytest.fixture(name='reads')
def _reads():
  """What jaxlib has asked PJRT_Executable_OptimizedProgram for, a list that grows: the table of functions counts."""
  library = ctypes.CDLL(library_path())
  library.GetPjrtApi.restype = ctypes.c_void_p
  head, number = 40, 48  # bytes before the functions, and its place among them, in every version (pjrt_c_api.h)
  entry = ctypes.c_void_p.from_address(library.GetPjrtApi() + head + 8 * number)
  function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
  original, seen = entry.value, []

  def counted(args):
    seen.append(args)
    return function(original)(args)

  counting = function(counted)
  entry.value = ctypes.cast(counting, ctypes.c_void_p).value
  yield seen
  entry.value = original


@pytest.mark.skipif(not jaxlib_has('PJRT_Shardings_PJRT_Executable_OutputShardings'),
                    reason='this jaxlib has no extension for shardings, and reads them from the text')
def test_jaxlib_compiles_without_reading_the_program(mesh, reads):
  one = jax.jit(lambda x: jnp.cos(x) - 1).lower(X).compile()
  assert not reads
  sharded = compiled_product(mesh)
  assert not reads
  assert sharded.input_shardings[0][0].spec == P('x') and sharded.output_shardings.spec == P('x')
  assert one.input_formats[0][0].layout.major_to_minor == (0, 1)
  assert not reads
  assert 'cosine(' in one.as_text()
  assert len(reads) == 2  # its size, then its text


def test_a_serialized_executable_runs_again(mesh):
  compiled = compiled_product(mesh)
  x = jax.device_put(X, NamedSharding(mesh, P('x')))
  payload, in_tree, out_tree = serialize_executable.serialize(compiled)
  again = serialize_executable.deserialize_and_load(payload, in_tree, out_tree)
  out = again(x)
  assert out.sharding.spec == P('x')
  np.testing.assert_array_equal(out, compiled(x))


@pytest.mark.parametrize('damage', [
    lambda ours: b'',
    lambda ours: b'nothing of ours',
    lambda ours: ours[:len(ours) // 2],
    lambda ours: ours[:-1],
    lambda ours: ours + b'x',
    lambda ours: ours[:60] + bytes([ours[60] ^ 255]) + ours[61:],
    lambda ours: ours[:-1] + bytes([ours[-1] ^ 1]),
], ids=['empty', 'other', 'half', 'short', 'long', 'changed', 'changed_at_the_end'])
def test_damaged_executables_are_refused(damage):
  client = jax.devices()[0].client
  data = bytes(jax.jit(lambda x: x + 1).lower(X).compile().runtime_executable().serialize())
  begin = data.index(b'tessera executable')  # before it stands what jaxlib adds
  devices = xla_client.DeviceList(tuple(jax.devices()[:1]))
  client.deserialize_executable(data, devices, xla_client.CompileOptions())
  with pytest.raises(jax.errors.JaxRuntimeError, match=r'\[deserialize\] expected'):
    client.deserialize_executable(data[:begin] + damage(data[begin:]), devices, xla_client.CompileOptions())
  np.testing.assert_array_equal(jnp.ones(3) + 1, 2 * np.ones(3))


def test_an_executable_for_more_devices_than_there_are(mesh, environment, tmp_path):
  (tmp_path / 'executable').write_bytes(bytes(compiled_product(mesh).runtime_executable().serialize()))
  code = f'''
import jax
from jaxlib import xla_client
data = open({str(tmp_path / 'executable')!r}, 'rb').read()
try:
  jax.devices()[0].client.deserialize_executable(data, xla_client.DeviceList(tuple(jax.devices())), xla_client.CompileOptions())
except jax.errors.JaxRuntimeError as error: print(error)
print(jax.numpy.ones(2).sum())'''
  env = environment | {'TESSERA_DEVICES': 'cpu:4'}
  out = subprocess.run([sys.executable, '-c', code], env=env, capture_output=True, text=True, check=False).stdout
  assert '[compile] expected a program for devices of this client, which has 4, got one for 8 devices, device 4' in out
  assert out.endswith('2.0\n')


# --- names, options, kinds of memory


def test_names_that_are_no_identifiers_keep_their_shardings(mesh):
  def f(x):
    return x + 1
  f.__name__ = 'scatter-add of "rows"'
  out = jax.jit(f)(jax.device_put(X, NamedSharding(mesh, P('x'))))
  assert out.sharding.spec == P('x')
  np.testing.assert_array_equal(out, X + 1)


def test_compiler_options():
  f = lambda x: x + 1
  for option in ({'xla_embed_ir_in_executable': 1}, {'optimization_level': 29}):
    jax.jit(f, compiler_options=option)(1.0)
  with pytest.raises(jax.errors.JaxRuntimeError, match=r"No such compile option: 'fast': \[compile\] expected options of XLA"):
    jax.jit(f, compiler_options={'fast': True})(1.0)
  assert jax.jit(f)(1.0) == 2


def test_kinds_of_memory(mesh):
  device = jax.devices()[0]
  assert [m.kind for m in device.addressable_memories()] == ['device', 'pinned_host', 'unpinned_host']
  assert device.default_memory().kind == 'device'
  rows = NamedSharding(mesh, P('x'))
  host = rows.with_memory_kind('pinned_host')
  x = jax.device_put(X, host)
  assert x.sharding == host and x.sharding.memory_kind == 'pinned_host'
  out, kept = jax.jit(lambda x: (x + 1, jax.device_put(2 * x, rows)), out_shardings=(host, rows))(x)
  assert out.sharding.memory_kind == 'pinned_host' and kept.sharding.memory_kind == 'device'
  np.testing.assert_array_equal(out, X + 1)
  np.testing.assert_array_equal(kept, 2 * X)
  back = jax.device_put(out, rows)
  assert back.sharding.memory_kind == 'device'
  np.testing.assert_array_equal(back, X + 1)
  with pytest.raises(ValueError, match='memory kind'):
    NamedSharding(mesh, P('x'), memory_kind='no_such_kind')


# --- memory of the host


def aligned(n):
  room = np.zeros(4 * n + 64, np.uint8)
  begin = -room.ctypes.data % 64
  return room[begin:begin + 4 * n].view(np.float32)


def test_aligned_arrays_of_the_host_are_used_where_they_are():
  host = aligned(4096)
  host[:] = np.arange(4096)
  x = jax.device_put(host)
  assert x.unsafe_buffer_pointer() == host.ctypes.data
  y = jax.jit(lambda x: 2 * x, donate_argnums=0)(x)  # the host's memory is no result's
  assert y.unsafe_buffer_pointer() != host.ctypes.data
  np.testing.assert_array_equal(host, np.arange(4096))
  np.testing.assert_array_equal(y, 2 * np.arange(4096))
  copied = jnp.array(host)
  host[:] = -1
  np.testing.assert_array_equal(copied, np.arange(4096))


def test_a_donated_array_of_the_host_is_no_results_memory():
  host = aligned(4096)
  host[:] = np.arange(4096)
  same = jax.jit(lambda x: x, donate_argnums=0)(jax.device_put(host))
  assert same.unsafe_buffer_pointer() != host.ctypes.data
  jax.jit(lambda x: 0 * x - 1, donate_argnums=0)(same).block_until_ready()
  np.testing.assert_array_equal(host, np.arange(4096))


def test_an_array_of_the_host_lives_as_long_as_what_uses_it():
  host = aligned(4096)
  host[:] = np.arange(4096)
  alive = weakref.ref(host.base)
  x = jax.device_put(host)
  del host
  gc.collect()
  assert alive() is not None
  np.testing.assert_array_equal(x, np.arange(4096))
  del x
  gc.collect()
  assert alive() is None


def test_numpy_views_keep_their_memory():
  x = jnp.arange(4096.0) + 0
  view = np.asarray(x)
  assert view.ctypes.data == x.unsafe_buffer_pointer()
  x.delete()
  filler = [jnp.full(4096, -1.0) for _ in range(8)]
  np.testing.assert_array_equal(view, np.arange(4096))
  x = jnp.arange(4096.0) + 0
  view = np.asarray(x)
  out = jax.jit(lambda x: 0 * x - 5, donate_argnums=0)(x)  # nothing is donated while the view is there
  assert not x.is_deleted() and out.unsafe_buffer_pointer() != view.ctypes.data
  np.testing.assert_array_equal(view, np.arange(4096))
  del filler


# --- meshes of other orders


def test_arrays_on_meshes_of_other_orders(mesh):
  forward = NamedSharding(mesh, P('x'))
  backward = NamedSharding(jax.sharding.Mesh(np.array(jax.devices()[::-1]).reshape(2, 4), ('a', 'b')), P(('b', 'a')))
  x = jax.device_put(X, forward)
  for target in (backward, forward):
    x = jax.device_put(x, target)
    assert x.sharding == target
    np.testing.assert_array_equal(x, X)
    for shard in x.addressable_shards:
      np.testing.assert_array_equal(shard.data, X[shard.index])
  moved = jax.jit(lambda x: x + 1, out_shardings=forward)(x)
  for shard in moved.addressable_shards:
    np.testing.assert_array_equal(shard.data, X[shard.index] + 1)


# --- devices that are not there


def test_programs_for_one_device_are_called_on_eight(mesh):
  one = jax.sharding.Mesh(np.array(jax.devices()[:1]), 'x')
  for f in (lambda x: lax.with_sharding_constraint(x, NamedSharding(one, P('x'))).sum(0),
            jax.jit(lambda x: x.sum(0), in_shardings=NamedSharding(one, P('x')))):
    exported = jax.export.export(jax.jit(f), platforms=['tessera'])(X)
    assert exported.nr_devices == 1
    x = jax.device_put(X, NamedSharding(mesh, P('x')))
    np.testing.assert_array_equal(jax.jit(exported.call)(x), X.sum(0))


def test_programs_are_compiled_for_devices_that_are_not_there():
  topology = topologies.get_topology_desc('tpu_v4:2x2x4', 'tessera')
  assert len(topology.devices) == 16 and topology.devices[5].device_kind == 'tpu_v4'
  assert topology.devices[5].coords == [1, 0, 1]
  there = jax.sharding.Mesh(np.array(topology.devices).reshape(4, 4), ('x', 'y'))
  x = jax.ShapeDtypeStruct((16, 16), jnp.float32, sharding=NamedSharding(there, P('x', 'y')))
  compiled = jax.jit(lambda x: (x @ x.T).sum(0)).lower(x).compile()
  assert compiled.cost_analysis()['communication bytes'] > 0
  assert compiled.memory_analysis().argument_size_in_bytes == 4 * 16
  with pytest.raises(Exception, match=r'expected'):
    topologies.get_topology_desc('tpu_v4', 'tessera')
  assert len(jax.devices()) == 8


# --- other libraries, and the compilation cache


def test_dlpack():
  x = jnp.arange(6.0).reshape(2, 3) + 0
  there = np.from_dlpack(x)
  assert there.ctypes.data == x.unsafe_buffer_pointer()
  np.testing.assert_array_equal(there, np.arange(6, dtype=np.float32).reshape(2, 3))
  x.delete()
  filler = [jnp.full((2, 3), -1.0) for _ in range(8)]
  np.testing.assert_array_equal(there, np.arange(6, dtype=np.float32).reshape(2, 3))
  del filler
  host = aligned(64)
  host[:] = np.arange(64)
  back = jnp.from_dlpack(host)
  assert back.devices() == {jax.devices()[0]} and back.unsafe_buffer_pointer() == host.ctypes.data
  np.testing.assert_array_equal(back + 1, host + 1)
  other = jax.dlpack.from_dlpack(host, device=jax.devices()[2], copy=True)
  assert other.devices() == {jax.devices()[2]} and other.unsafe_buffer_pointer() != host.ctypes.data
  assert jnp.from_dlpack(x + 1 if not x.is_deleted() else back).shape == (64,)
  with pytest.raises(BufferError):
    np.from_dlpack(jnp.ones(3, jnp.bfloat16))


def test_dlpack_of_sharded_arrays_is_refused(mesh):
  with pytest.raises(BufferError, match='unsharded|singular'):
    np.from_dlpack(jax.device_put(X, NamedSharding(mesh, P('x'))))


def test_the_compilation_cache(tmp_path):
  program = """
import jax, jax.numpy as jnp
events = []
jax.monitoring.register_event_listener(lambda name, **kw: events.append(name.rsplit('/', 1)[-1]))
jax.config.update('jax_compilation_cache_dir', {folder!r})
jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)
assert jax.default_backend() == 'tessera'
print(float(jax.jit(lambda x: jnp.tanh(x).sum() * 3)(jnp.ones(7))), events.count('cache_hits'), events.count('tasks_using_cache'))
"""
  env = {k: v for k, v in os.environ.items() if k != 'XLA_FLAGS'}
  env['PYTHONPATH'] = os.pathsep.join(sys.path)
  runs = [subprocess.run([sys.executable, '-c', program.format(folder=str(tmp_path))], env=env, check=True,
                         capture_output=True, text=True).stdout.split() for _ in range(2)]
  assert runs[0][0] == runs[1][0] and runs[0][1] == '0' and int(runs[1][1]) >= 1
  assert runs[0][2] == runs[1][2] == '1'  # JAX counts, once for a process, that it uses the cache
  assert any(path.name.startswith('jit_') for path in tmp_path.iterdir())
