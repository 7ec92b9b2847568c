"""The client of JAX: loads libtessera_pjrt.so, once it fits the installed JAX, with the devices asked for.

Errors are RuntimeErrors of the form `[tessera] expected, got, remedy`; JAX raises them as "Unable to initialize
backend 'tessera': ...".
"""
import ctypes
import functools
import importlib.metadata
import os
import pathlib
import re

# What the library and the rules of this package are written for and tested with.
JAX_VERSION = '0.10.2'
PJRT_API_VERSION = (0, 90)


def library_path():
  """The plugin's shared library."""
  return os.environ.get('TESSERA_PJRT') or str(pathlib.Path(__file__).resolve().parent / 'libtessera_pjrt.so')


def wrong_version():
  """What to say where jax or jaxlib is another one than this package is for; empty where both fit."""
  found = {name: importlib.metadata.version(name) for name in ('jax', 'jaxlib')}
  if all(version.split('+')[0] == JAX_VERSION for version in found.values()):
    return ''
  return (f"[tessera] expected jax and jaxlib {JAX_VERSION}, got jax {found['jax']} and jaxlib {found['jaxlib']}; "
          f'pip install jax=={JAX_VERSION} jaxlib=={JAX_VERSION}, or set JAX_PLATFORMS=cpu to go on without')


def check_versions():
  """RuntimeError of wrong_version()."""
  if problem := wrong_version():
    raise RuntimeError(problem)


class _ApiHead(ctypes.Structure):
  """How PJRT_Api and the PJRT_Api_Version in it begin, in every version (pjrt_c_api.h)."""
  _fields_ = [('struct_size', ctypes.c_size_t), ('extension_start', ctypes.c_void_p),
              ('version_size', ctypes.c_size_t), ('version_extension', ctypes.c_void_p),
              ('major', ctypes.c_int), ('minor', ctypes.c_int)]


def check_library(path):
  """RuntimeError where `path` is no plugin, or one of another version of the C API."""
  remedy = 'build the target tessera_pjrt of this version (docs/jax.md), or unset TESSERA_PJRT'
  if not os.path.exists(path):
    raise RuntimeError(f'[tessera] expected the library of the plugin, got no file {path}; {remedy}')
  try:
    get_api = ctypes.CDLL(path).GetPjrtApi
  except (OSError, AttributeError) as error:
    raise RuntimeError(f'[tessera] expected a plugin that can be loaded, got {path}: {error}; {remedy}') from error
  get_api.restype = ctypes.POINTER(_ApiHead)
  head = get_api().contents
  if (head.major, head.minor) != PJRT_API_VERSION:
    expected = '.'.join(map(str, PJRT_API_VERSION))
    raise RuntimeError(f'[tessera] expected version {expected} of the PJRT API, got {head.major}.{head.minor} of '
                       f'{path}; {remedy}')


def device_options(configured, environment, num_cpu_devices):
  """Options of the client: what says most about this backend counts.

  Args:
    configured: jax_pjrt_client_create_options, as text (`num_devices:8`) or as a dict.
    environment: of the process; TESSERA_DEVICES, and XLA_FLAGS for programs that ask XLA for CPU devices.
    num_cpu_devices: jax_num_cpu_devices, -1 for unset.
  """
  if isinstance(configured, str):
    # Of `devices:tpu_v4:2x2x1` the first colon counts.
    pairs = [text.partition(':') for text in configured.split(';') if text]
    configured = {name: value for name, _, value in pairs}
  options = dict(configured or {})
  for name, value in options.items():
    if name not in ('num_devices', 'devices'):
      raise RuntimeError(f"[tessera] expected the options num_devices or devices, got '{name}'; "
                         'change jax_pjrt_client_create_options')
    if name == 'num_devices':
      if not re.fullmatch(r'[0-9]+', str(value)) or int(value) < 1:
        raise RuntimeError(f"[tessera] expected num_devices of at least 1, got '{value}'; "
                           'change jax_pjrt_client_create_options')
      options[name] = int(value)
  if len(options) > 1:
    raise RuntimeError('[tessera] expected num_devices or devices, got both; '
                       'change jax_pjrt_client_create_options')
  if options or environment.get('TESSERA_DEVICES'):
    return options
  if num_cpu_devices > 0:
    return {'num_devices': num_cpu_devices}
  forced = re.findall(r'--xla_force_host_platform_device_count=([0-9]+)', environment.get('XLA_FLAGS', ''))
  return {'num_devices': int(forced[-1])} if forced and int(forced[-1]) > 0 else {}


@functools.cache
def _load():
  """JAX's handle of the library, which is loaded at the first call."""
  from jax._src.lib import xla_client
  check_versions()
  path = library_path()
  check_library(path)
  c_api = xla_client.load_pjrt_plugin_dynamically('tessera', path)
  xla_client.initialize_pjrt_plugin('tessera')
  return c_api


def make_client():
  """A client of jaxlib."""
  from jax._src import config
  from jax._src import xla_bridge
  from jax._src.lib import xla_client
  from jax_plugins.tessera import cache
  from jax_plugins.tessera import callbacks
  from jax_plugins.tessera import dlpack
  _load()
  for part in (cache, callbacks, dlpack):
    part.install()
  options = device_options(config.jax_pjrt_client_create_options.value, os.environ,
                           xla_bridge.num_cpu_devices.value)
  return xla_client.make_c_api_client('tessera', options, None)


def make_topology(topology_name='', **options):
  """Devices to compile for that are not there: jax.experimental.topologies.get_topology_desc."""
  from jax._src.lib import xla_client
  return xla_client.make_c_api_device_topology(_load(), topology_name, **options)
