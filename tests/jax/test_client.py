"""How JAX finds the backend, which devices it has, and the messages if something does not fit."""
import ctypes
import importlib.metadata
import re
import shutil
import subprocess
import sys

import jax
from jax_plugins.tessera import client
from jax_plugins.tessera import shared_library
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


def test_names_of_devices():
  assert (str(jax.devices()[3]), repr(jax.devices()[3])) == ('cpu:3', 'CpuDevice(id=3)')  # as XLA's CPU devices


SHOW = 'import jax; print(len(jax.devices()), jax.devices()[-1])'


@pytest.mark.parametrize('changes, said', [
    ({}, '1 cpu:0'),
    ({'TESSERA_DEVICES': 'cpu:3'}, '3 cpu:2'),
    ({'JAX_NUM_CPU_DEVICES': '4'}, '4 cpu:3'),
    ({'XLA_FLAGS': '--xla_force_host_platform_device_count=5'}, '5 cpu:4'),
    ({'JAX_PJRT_CLIENT_CREATE_OPTIONS': 'num_devices:6', 'TESSERA_DEVICES': 'cpu:3'}, '6 cpu:5'),
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
  code = 'import jax; print(jax.devices()); print("libtessera" in open("/proc/self/maps").read())'
  assert python(code, environment, JAX_PLATFORMS='cpu')[0] == '[CpuDevice(id=0)]\nFalse'


def test_the_library_leaves_no_thread_of_openblas(environment):
  """OpenBLAS starts a thread for each core when it is loaded; each would spin during the first program."""
  code = '''
import os
from jax_plugins.tessera import shared_library
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
shared_library.open_library(shared_library.library_path()).GetPjrtApi()
print("/libopenblas" in open("/proc/self/maps").read(), threads() - before)
'''
  shared, more = python(code, environment)[0].split()
  if shared == 'True':
    pytest.skip('OpenBLAS is not a part of this library: others in the process may use its threads')
  assert more == '0'


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


@pytest.fixture(name='version_is_asked_again')
def _version_is_asked_again():
  client.jax_version.cache_clear()
  yield
  client.jax_version.cache_clear()


@pytest.mark.usefixtures('version_is_asked_again')
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


@pytest.mark.usefixtures('version_is_asked_again')
def test_the_version_of_a_jax_that_was_not_installed(monkeypatch):
  def version(_):
    raise importlib.metadata.PackageNotFoundError
  monkeypatch.setattr(importlib.metadata, 'version', version)
  assert client.jax_version() == jax.version.__version__


def another_jax(path, environment, version):
  """Returns the environment of a process in which the installed JAX reports another version."""
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
  assert python(SHOW, environment, **changes) == ('1 cpu:0', '')
  out, err = python('import jax; print(jax.numpy.ones(2).sum()); print(jax.numpy.ones(3).sum())', environment, **changes)
  assert out == '2.0\n3.0'
  said = 'UserWarning: [tessera] JAX 99.0 is newer than 0.12.0.1, the newest that this version of jax-tessera is tested with; if ' \
         'something fails, pip install --upgrade jax-tessera, or jax==0.12.0.1'
  assert err.count(said) == 1


def test_a_library_of_another_version(tmp_path, environment):
  if not shutil.which('cc'):
    pytest.skip('no C compiler')

  def library(name, code):
    (tmp_path / f'{name}.c').write_text(code)
    subprocess.run(['cc', '-shared', '-fPIC', '-o', tmp_path / f'{name}.so', tmp_path / f'{name}.c'], check=True)
    return str(tmp_path / f'{name}.so')

  other = library('other', 'void* GetPjrtApi(void) { return 0; } int tessera_interface(void) { return 54; }')
  with pytest.raises(RuntimeError, match=r'expected a library with interface 3 of this package, got .*other.so with 54; build'):
    shared_library.open_library(other)
  assert 'other.so with 54' in python(SHOW, environment, TESSERA_PJRT=other)[1]
  with pytest.raises(RuntimeError, match='expected a library with interface 3 of this package, got .*older.so with none'):
    shared_library.open_library(library('older', 'void* GetPjrtApi(void) { return 0; }'))
  with pytest.raises(RuntimeError, match='expected a plugin that can be loaded, got .*none.so: .*GetPjrtApi'):
    shared_library.open_library(library('none', 'int f;'))


def test_remedies_for_the_library_of_the_package(monkeypatch, tmp_path):
  path = str(tmp_path / 'libtessera_pjrt.so')
  monkeypatch.setattr(shared_library, '_PACKAGED', path)
  reinstall = 'pip install --force-reinstall jax-tessera, or set TESSERA_PJRT to the library of a build'
  with pytest.raises(RuntimeError, match=f'got no file {path}; {reinstall}'):
    shared_library.open_library(path)
  with open(path, 'w', encoding='utf-8') as file:
    file.write('no library')
  with pytest.raises(RuntimeError, match=f'got {path}: .*; {reinstall}'):
    shared_library.open_library(path)


def test_an_older_glibc(monkeypatch, tmp_path):
  def cannot(path):
    raise OSError(f"/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.36' not found (required by {path})")
  path = tmp_path / 'libtessera_pjrt.so'
  path.touch()
  monkeypatch.setattr(ctypes, 'CDLL', cannot)
  with pytest.raises(RuntimeError, match="version `GLIBC_2.36' not found .*; it needs glibc 2.36 or later, as Debian 12 and"):
    shared_library.open_library(str(path))


@pytest.mark.parametrize('raised', ['ImportError("libjax_common.so: no such file")',
                                    'RuntimeError("jaxlib is version 0.4.1, but this version of jax requires 0.12")'])
def test_a_jaxlib_that_cannot_be_imported(environment, tmp_path, raised):
  (tmp_path / 'jaxlib').mkdir()
  (tmp_path / 'jaxlib' / '__init__.py').write_text(f'raise {raised}')
  path = f"{tmp_path}:{environment.get('PYTHONPATH', '')}"
  out = subprocess.run([sys.executable, '-m', 'tessera_jax'], env=environment | {'PYTHONPATH': path}, capture_output=True, text=True,
                       check=False)
  name, text = re.match(r'(\w+)\("(.*)"\)', raised).groups()
  assert out.returncode == 1 and out.stderr == ''
  assert (f'error        [tessera] expected a JAX that can be imported, got {name}: {text}; '
          'pip install --force-reinstall jax jaxlib\n') in out.stdout
  assert 'Tessera' in out.stdout and 'oneDNN' in out.stdout  # the library is reported nevertheless


SUM = 'import jax; print(jax.numpy.arange(3.).sum())'


def test_two_copies_are_a_warning(environment, tmp_path):
  for name in ('one', 'two'):
    (tmp_path / name / 'jax_tessera-9.0.dist-info').mkdir(parents=True)
    (tmp_path / name / 'jax_tessera-9.0.dist-info' / 'METADATA').write_text(
        'Metadata-Version: 2.1\nName: jax-tessera\nVersion: 9.0\n')
  path = f"{tmp_path / 'one'}:{tmp_path / 'two'}:{environment.get('PYTHONPATH', '')}"
  out, err = python(SUM, environment, PYTHONPATH=path)
  assert out == '3.0'
  assert re.search(r'UserWarning: \[tessera\] jax-tessera is installed [23] times, in .*/one and in .*/two', err)
  assert err.count('Run pip uninstall jax-tessera until one is left') == 1
  assert 'installed' not in python(SUM, environment)[1]


def test_a_plugin_that_was_loaded_by_hand(environment):
  code = """
import jax
from jax._src import xla_bridge
from jax_plugins.tessera import shared_library
xla_bridge.register_plugin('tessera', library_path=shared_library.library_path())
try: jax.devices('tessera')
except RuntimeError as error: print(error)
jax.config.update('jax_platforms', 'cpu')
print(jax.numpy.ones(2).sum())"""
  out, _ = python(code, environment, JAX_PLATFORMS='tessera')
  assert ('[tessera] expected to load the library for the platform tessera, got a process in which another one is loaded for it' in
          out) and 'leave out what loads it, as register_plugin' in out
  assert out.endswith('\n2.0')


def test_a_second_call_of_initialize_changes_nothing(environment):
  code = """
import jax, jax_plugins.tessera
jax_plugins.tessera.initialize()
jax_plugins.tessera.initialize()
print(jax.devices())
jax_plugins.tessera.initialize()
print(jax.numpy.ones(2).sum(), jax.default_backend())"""
  assert python(code, environment) == ('[CpuDevice(id=0)]\n2.0 tessera', '')


def test_two_libraries_in_a_process_do_not_see_each_other(environment, tmp_path):
  code = f"""
import ctypes, shutil, jax
from jax_plugins.tessera import shared_library
print(jax.numpy.ones(2).sum())
shutil.copy(shared_library.library_path(), {str(tmp_path / 'another.so')!r})
libraries = [ctypes.CDLL(path) for path in (shared_library.library_path(), {str(tmp_path / 'another.so')!r})]
for library in libraries: library.GetPjrtApi.restype = ctypes.c_void_p
print(len({{library.GetPjrtApi() for library in libraries}}))
for library in libraries:
  out = ctypes.c_void_p()
  print(library.tessera_about(ctypes.byref(out)), b'oneDNN' in ctypes.string_at(out) or b'onednn' in ctypes.string_at(out))
print(jax.jit(lambda x: (x @ x).sum())(jax.numpy.ones((8, 8))))"""
  assert python(code, environment) == ('2.0\n2\n0 True\n0 True\n512.0', '')


def test_a_folder_for_kernels_that_cannot_be_written(environment, tmp_path):
  (tmp_path / 'file').touch()
  out, err = python('import jax; print(jax.jit(lambda x: x * 2.5 + 1)(2.0), jax.jit(lambda x: x / 3 - 1)(6.0))', environment,
                    TESSERA_CACHE_DIR=str(tmp_path / 'file' / 'kernels'))
  assert out == '6.0 1.0'
  assert err.count('\n') == 1 and 'kernels is not used: ' in err and 'Set TESSERA_CACHE_DIR to a folder of your own' in err
