"""How JAX finds the backend, which devices it has, and what is said where something does not fit."""
import importlib.metadata
import re
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


@pytest.mark.parametrize('version, said', [
    ('0.7.2', "[tessera] expected JAX 0.8.0 or later, got 0.7.2; pip install 'jax>=0.8.0', or set JAX_PLATFORMS=cpu"),
    ('0.8.0', ''), ('0.12.0.1', ''), ('9.1', '')])
def test_versions_that_are_refused(monkeypatch, version, said):
  monkeypatch.setattr(importlib.metadata, 'version', {'jax': version}.__getitem__)
  if said:
    with pytest.raises(RuntimeError, match=re.escape(said)):
      client.check_jax()
  else:
    client.check_jax()


def test_the_version_of_a_jax_that_was_not_installed(monkeypatch):
  def version(_):
    raise importlib.metadata.PackageNotFoundError
  monkeypatch.setattr(importlib.metadata, 'version', version)
  assert client.jax_version() == jax.version.__version__


def another_jax(path, environment, version):
  """The environment of a process to which the installed JAX says that it is another one."""
  (path / f'jax-{version}.dist-info').mkdir()
  (path / f'jax-{version}.dist-info' / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: jax\nVersion: {version}\n')
  return {'PYTHONPATH': f"{path}:{environment.get('PYTHONPATH', '')}"}


def test_an_older_jax_is_refused(environment, tmp_path):
  changes = another_jax(tmp_path, environment, '0.7.2')
  _, err = python(SHOW, environment, **changes)
  assert err.splitlines()[-1].startswith("RuntimeError: Unable to initialize backend 'tessera': [tessera] expected JAX 0.8.0 "
                                         "or later, got 0.7.2; pip install 'jax>=0.8.0'")
  out, err = python(SHOW, environment, JAX_PLATFORMS='cpu', **changes)
  assert out.startswith('1 ') and 'CPU' in out.upper() and err == ''


def test_a_newer_jax_is_a_warning_at_the_first_use(environment, tmp_path):
  changes = another_jax(tmp_path, environment, '99.0')
  assert python(SHOW, environment, **changes) == ('1 CpuDevice(id=0)', '')
  out, err = python('import jax; print(jax.numpy.ones(2).sum()); print(jax.numpy.ones(3).sum())', environment, **changes)
  assert out == '2.0\n3.0'
  said = 'UserWarning: [tessera] JAX 99.0 is newer than 0.12.0.1, the newest that this version of jax-tessera is tested with.'
  assert err.count(said) == 1


def test_a_library_of_another_version(tmp_path, environment):
  if not shutil.which('cc'):
    pytest.skip('no C compiler')

  def library(name, code):
    (tmp_path / f'{name}.c').write_text(code)
    subprocess.run(['cc', '-shared', '-fPIC', '-o', tmp_path / f'{name}.so', tmp_path / f'{name}.c'], check=True)
    return str(tmp_path / f'{name}.so')

  other = library('other', 'void* GetPjrtApi(void) { return 0; } int tessera_interface(void) { return 54; }')
  with pytest.raises(RuntimeError, match=r'expected a library with interface 2 of this package, got .*other.so with 54; build'):
    client.open_library(other)
  assert 'other.so with 54' in python(SHOW, environment, TESSERA_PJRT=other)[1]
  with pytest.raises(RuntimeError, match='expected a library with interface 2 of this package, got .*older.so with none'):
    client.open_library(library('older', 'void* GetPjrtApi(void) { return 0; }'))
  with pytest.raises(RuntimeError, match='expected a plugin that can be loaded, got .*none.so: .*GetPjrtApi'):
    client.open_library(library('none', 'int f;'))
