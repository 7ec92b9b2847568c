"""How JAX finds the backend, which devices it has, and what is said where something does not fit."""
import importlib.metadata
import shutil
import subprocess
import sys

import jax
from jax_plugins.tessera import client
import pytest


def python(code, environment, **changes):
  out = subprocess.run([sys.executable, '-c', code], env=environment | changes, capture_output=True, text=True,
                       check=False)
  return out.stdout.strip(), out.stderr


def test_devices():
  assert jax.default_backend() == 'tessera'
  assert len(jax.devices()) == 8 and jax.devices('tessera') == jax.devices()
  assert [d.id for d in jax.devices()] == list(range(8))
  assert {d.platform for d in jax.devices()} == {'tessera'}


SHOW = 'import jax; print(len(jax.devices()), jax.devices()[-1])'


@pytest.mark.parametrize('changes, said', [
    ({}, '1 CpuDevice(id=0)'),
    ({'TESSERA_DEVICES': 'cpu:3'}, '3 CpuDevice(id=2)'),
    ({'JAX_NUM_CPU_DEVICES': '4'}, '4 CpuDevice(id=3)'),
    ({'XLA_FLAGS': '--xla_force_host_platform_device_count=5'}, '5 CpuDevice(id=4)'),
    ({'JAX_PJRT_CLIENT_CREATE_OPTIONS': 'num_devices:6', 'TESSERA_DEVICES': 'cpu:3'}, '6 CpuDevice(id=5)'),
    ({'JAX_PJRT_CLIENT_CREATE_OPTIONS': 'devices:tpu_v4:2x2x1'},
     '4 TpuDevice(id=3, process_index=0, coords=(1,1,0), core_on_chip=0)'),
])
def test_number_of_devices(environment, changes, said):
  out, err = python(SHOW, environment, **changes)
  assert out == said and err == ''  # no warning either


@pytest.mark.parametrize('changes, said', [
    ({'TESSERA_DEVICES': 'cpu'}, '[initialize] expected a device specification `cpu:N`'),
    ({'JAX_PJRT_CLIENT_CREATE_OPTIONS': 'devices:tpu_v4:2'}, '[initialize] expected a device specification `cpu:N`'),
    ({'TESSERA_PJRT': '/nowhere.so'}, '[tessera] expected the library of the plugin, got no file /nowhere.so; build'),
    ({'TESSERA_PJRT': __file__}, '[tessera] expected a plugin that can be loaded, got'),
])
def test_errors_of_initialization(environment, changes, said):
  catch = '''
import jax
try: jax.devices()
except RuntimeError as error: print(error)
jax.config.update("jax_platforms", "cpu")
print(jax.numpy.ones(2).sum())'''
  out, _ = python(catch, environment, **changes)
  message, *rest = out.splitlines()
  assert message.startswith("Unable to initialize backend 'tessera': ") and said in message
  assert rest == ['2.0']  # another backend works


def test_other_backends_do_not_load_the_library(environment):
  code = 'import jax; print(jax.devices()); print("tessera" in open("/proc/self/maps").read())'
  assert python(code, environment, JAX_PLATFORMS='cpu')[0] == '[CpuDevice(id=0)]\nFalse'


def test_options():
  options = client.device_options
  assert options('', {}, -1) == {}
  assert options({'num_devices': 2}, {'TESSERA_DEVICES': 'cpu:3'}, 4) == {'num_devices': 2}
  assert options('devices:tpu_v4:2x2x1', {}, 4) == {'devices': 'tpu_v4:2x2x1'}
  assert options('', {'TESSERA_DEVICES': 'cpu:3'}, 4) == {}
  assert options('', {'XLA_FLAGS': '--xla_force_host_platform_device_count=8'}, 4) == {'num_devices': 4}
  assert options('', {'XLA_FLAGS': '--other --xla_force_host_platform_device_count=8'}, -1) == {'num_devices': 8}


@pytest.mark.parametrize('configured, said', [
    ('devcies:8', "expected the options num_devices or devices, got 'devcies'"),
    ('num_devices:0', "expected num_devices of at least 1, got '0'"),
    ('num_devices:many', "expected num_devices of at least 1, got 'many'"),
    ({'num_devices': -3}, "expected num_devices of at least 1, got '-3'"),
    ('num_devices:8;devices:cpu:8', 'expected num_devices or devices, got both'),
])
def test_wrong_options(configured, said):
  with pytest.raises(RuntimeError) as error:
    client.device_options(configured, {}, -1)
  assert said in str(error.value) and 'change jax_pjrt_client_create_options' in str(error.value)


@pytest.mark.parametrize('name, version', [('jax', '0.9.0'), ('jaxlib', '0.11.0'), ('jaxlib', '0.10.20')])
def test_another_jax(monkeypatch, name, version):
  found = {'jax': client.JAX_VERSION, 'jaxlib': client.JAX_VERSION}
  monkeypatch.setattr(importlib.metadata, 'version', found.__getitem__)
  client.check_versions()
  found[name] = version
  with pytest.raises(RuntimeError, match=r'\[tessera\] expected jax and jaxlib 0.10.2, got jax .*; pip install'):
    client.check_versions()


def test_jax_says_that_it_is_another_one(environment, tmp_path):
  (tmp_path / 'jaxlib-0.11.0.dist-info').mkdir()
  (tmp_path / 'jaxlib-0.11.0.dist-info' / 'METADATA').write_text('Metadata-Version: 2.1\nName: jaxlib\nVersion: 0.11.0\n')
  changes = {'PYTHONPATH': f"{tmp_path}:{environment.get('PYTHONPATH', '')}"}
  _, err = python(SHOW, environment, **changes)
  assert err.splitlines()[-1].startswith("RuntimeError: Unable to initialize backend 'tessera': [tessera] expected jax and "
                                         'jaxlib 0.10.2, got jax 0.10.2 and jaxlib 0.11.0; pip install')
  assert python(SHOW, environment, JAX_PLATFORMS='cpu', **changes) == ('1 cpu:0', '')


def test_another_version_of_the_api(tmp_path, environment):
  if not shutil.which('cc'):
    pytest.skip('no C compiler')
  (tmp_path / 'other.c').write_text('''
    struct { unsigned long size; void* next; unsigned long version_size; void* more; int major, minor; } api =
        {1000, 0, 24, 0, 0, 54};
    void* GetPjrtApi(void) { return &api; }''')
  library = tmp_path / 'other.so'
  subprocess.run(['cc', '-shared', '-fPIC', '-o', library, tmp_path / 'other.c'], check=True)
  with pytest.raises(RuntimeError, match=r'expected version 0.90 of the PJRT API, got 0.54 of .*other.so; build'):
    client.check_library(str(library))
  assert 'got 0.54 of' in python(SHOW, environment, TESSERA_PJRT=str(library))[1]
  (tmp_path / 'none.c').write_text('int f;')
  library = tmp_path / 'none.so'
  subprocess.run(['cc', '-shared', '-fPIC', '-o', library, tmp_path / 'none.c'], check=True)
  with pytest.raises(RuntimeError, match='expected a plugin that can be loaded, got .*none.so: .*GetPjrtApi'):
    client.check_library(str(library))
