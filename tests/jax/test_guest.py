"""Tessera together with other backends: the default backend, arrays that move between backends, and settings that stay unchanged."""
import subprocess
import sys

import jax
import numpy as np
import pytest

TWO = {'JAX_PLATFORMS': 'tessera,cpu', 'TESSERA_DEVICES': 'cpu:2'}


def run(code, environment, **changes):
  env = {k: v for k, v in (environment | changes).items() if v is not None}
  out = subprocess.run([sys.executable, '-c', code], env=env, capture_output=True, text=True, check=False)
  assert out.returncode == 0, out.stderr
  return out.stdout.strip(), out.stderr.strip()


def test_without_a_choice_it_stands_above_the_cpu(environment):
  code = """
import jax
print(jax.default_backend(), [d.platform for d in jax.devices('cpu')], [d.platform for d in jax.devices('tessera')])"""
  assert run(code, environment, JAX_PLATFORMS=None) == ("tessera ['cpu'] ['tessera']", '')


def test_it_stands_below_accelerators(environment):
  # A backend with the priority of JAX's TPU and the client of the CPU.
  code = """
import jax
from jax._src import xla_bridge
xla_bridge.register_backend_factory('fast', xla_bridge.make_cpu_client, priority=300)
print(jax.default_backend() == 'tessera', len(jax.devices('tessera')))"""
  assert run(code, environment, JAX_PLATFORMS=None)[0] == 'False 1'


def test_import_loads_nothing(environment):
  code = """
import jax, sys
print([m for m in sys.modules if 'tessera' in m], 'libtessera' in open('/proc/self/maps').read())"""
  assert run(code, environment, JAX_PLATFORMS=None) == ('[] False', '')


def test_a_broken_library_leaves_the_cpu_and_says_so(environment):
  code = """
import jax
print(jax.default_backend(), jax.numpy.ones(2).sum())
try: jax.devices('tessera')
except RuntimeError as error: print(error)"""
  out, err = run(code, environment, JAX_PLATFORMS=None, TESSERA_PJRT='/nowhere.so')
  assert out.startswith('cpu 2.0\n') and '[tessera] expected the library of the plugin, got no file /nowhere.so' in out
  assert err.startswith("JAX goes on without the backend 'tessera': [tessera] expected the library")
  assert len(err.splitlines()) == 1


def test_arrays_move_between_backends(environment):
  code = """
import warnings
import jax, jax.numpy as jnp, numpy as np
cpu, tessera = jax.devices('cpu')[0], jax.devices('tessera')[1]
x = jnp.arange(4.)
print(x.devices() == {jax.devices()[0]}, jax.devices()[0].platform)
y = jax.device_put(x, cpu)
z = jax.device_put(y, tessera)
print(y.devices() == {cpu}, z.devices() == {tessera}, np.array_equal(x, y), np.array_equal(y, z))
f = jax.jit(lambda x: jnp.sin(x).sum())
print(f(y).devices() == {cpu}, f(z).devices() == {tessera}, bool(abs(float(f(y)) - float(f(z))) < 1e-6))
warnings.simplefilter('ignore', DeprecationWarning)  # of device=
print(*(jax.jit(jnp.sin, device=device)(1.0).devices() == {device} for device in (cpu, tessera)))
with jax.default_device(cpu):
  print(jnp.ones(3).devices() == {cpu}, f(np.ones(3)).devices() == {cpu})
with jax.default_device(tessera):
  print(jnp.ones(3).devices() == {tessera}, f(np.ones(3)).devices() == {tessera})
mesh = jax.sharding.Mesh(jax.devices('tessera'), ('x',))
s = jax.device_put(y, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('x')))
print(len(s.devices()), np.array_equal(jax.device_put(s, cpu), y))
try: f(z) + f(y)
except ValueError as error: print('incompatible devices' in str(error))"""
  out, err = run(code, environment, **TWO)
  assert out.splitlines() == ['True tessera', 'True True True True', 'True True True', 'True True', 'True True', 'True True',
                              '2 True', 'True']
  assert err == ''


def test_callbacks_and_caches_of_the_cpu_are_its_own(environment, tmp_path):
  code = """
import jax, jax.numpy as jnp, numpy as np
cpu = jax.devices('cpu')[0]
f = jax.jit(lambda x: jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
for device in (cpu, jax.devices('tessera')[0]):
  print(f(jax.device_put(jnp.arange(2.), device)))"""
  out, _ = run(code, environment, JAX_COMPILATION_CACHE_DIR=str(tmp_path), **TWO)
  assert out == '[0. 2.]\n[0. 2.]'


def test_dlpack_of_the_cpu_is_left_alone(environment):
  code = """
import jax, jax.numpy as jnp, numpy as np
cpu = jax.devices('cpu')[0]
jax.devices('tessera')
x = jax.device_put(jnp.arange(6.).reshape(2, 3), cpu)
print(x.__dlpack_device__(), np.from_dlpack(x).tolist())
x.__dlpack__(max_version=(1, 0), dl_device=None, copy=None, stream=None)
y = jax.dlpack.from_dlpack(x)
print(y.devices() == {cpu}, np.array_equal(x, y))
z = jax.dlpack.from_dlpack(np.arange(3.), device=cpu)
print(z.devices() == {cpu}, z)
w = jax.dlpack.from_dlpack(x, device=jax.devices('tessera')[0])
print(w.devices() == {jax.devices('tessera')[0]}, np.array_equal(x, w))"""
  out, err = run(code, environment, **TWO)
  lines = out.splitlines()
  assert lines[0].endswith('0) [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]')
  assert lines[1:] == ['True True', 'True [0. 1. 2.]', 'True True'] and err == ''


def test_other_libraries_beside_it(environment):
  """NumPy's OpenBLAS and, if it is installed, torch with its OpenMP compute the same as without Tessera."""
  code = """
import numpy as np
a = np.random.default_rng(0).normal(size=(300, 300))
before = a @ a
try:
  import torch
except ImportError:
  torch = None
if torch: want = (torch.from_numpy(a) @ torch.from_numpy(a)).numpy()
import jax, jax.numpy as jnp
jax.config.update('jax_enable_x64', True)
ours = np.asarray(jax.jit(lambda a: a @ a)(a))
print(np.array_equal(a @ a, before), np.allclose(ours, before, rtol=1e-12, atol=1e-10))
print(np.allclose(np.asarray(jnp.linalg.inv(a)) @ a, np.eye(300), atol=1e-8))
if torch: print(np.array_equal((torch.from_numpy(a) @ torch.from_numpy(a)).numpy(), want), np.allclose(want, ours, atol=1e-10))
import scipy.linalg
print(np.allclose(scipy.linalg.inv(a) @ a, np.eye(300), atol=1e-8))"""
  out, err = run(code, environment, JAX_PLATFORMS='tessera')
  assert 'False' not in out and out.startswith('True True\nTrue') and err == ''


def test_the_report(environment):
  out = subprocess.run([sys.executable, '-m', 'tessera_jax'], env=environment | {'TESSERA_DEVICES': 'cpu:3'},
                       capture_output=True, text=True, check=False)
  assert out.returncode == 0 and out.stderr == '', out
  lines = {line[:12].strip(): line[13:] for line in out.stdout.splitlines()}
  assert lines['JAX'].startswith(f'{jax.__version__}, jaxlib ')
  assert lines['reads'].endswith('StableHLO 0.9.0 to 1.22.0') and 'oneDNN' in lines['made of']
  assert lines['devices'].startswith('3: ') and 'AVX' in lines['CPU'] and 'Python' in lines['system']
  broken = subprocess.run([sys.executable, '-m', 'tessera_jax'], env=environment | {'TESSERA_PJRT': '/nowhere.so'},
                          capture_output=True, text=True, check=False)
  assert broken.returncode == 1 and 'error        [tessera] expected the library of the plugin, got no file' in broken.stdout


def test_numpy_views_stay_as_they_are():
  x = jax.numpy.arange(3.0)
  assert np.asarray(x).ctypes.data == x.unsafe_buffer_pointer()
  view = np.from_dlpack(x)
  assert view.ctypes.data == x.unsafe_buffer_pointer()
  if 'max_version' in (jax._src.dlpack._to_dlpack.__wrapped__.__code__.co_varnames):
    with pytest.raises(ValueError, match='read-only'):
      view[0] = 7
