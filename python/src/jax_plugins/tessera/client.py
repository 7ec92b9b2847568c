"""The client of JAX: loads libtessera_pjrt.so, once JAX has what it needs, with the devices asked for.

Errors are RuntimeErrors of the form `[tessera] expected, got, remedy`; JAX raises them as "Unable to initialize
backend 'tessera': ...".
"""
import ctypes
import functools
import importlib.metadata
import logging
import os
import pathlib
import re
import warnings

from jax_plugins.tessera import jax_private

# The functions beside PJRT's C API that this package calls, by number: tessera_interface() of plugin/explain.h says
# which ones a library has.
INTERFACE = 3


def library_path():
  """The plugin's shared library."""
  return os.environ.get('TESSERA_PJRT') or str(pathlib.Path(__file__).resolve().parent / 'libtessera_pjrt.so')


def jax_version():
  """The version of the installed JAX."""
  try:
    return importlib.metadata.version('jax')
  except importlib.metadata.PackageNotFoundError:  # JAX from its sources
    import jax.version
    return jax.version.__version__


def check_jax():
  """RuntimeError where the installed JAX lacks what the backend cannot do without."""
  if refusal := jax_private.refusal(jax_version()):
    raise RuntimeError(refusal)


@functools.cache
def warn_of_problems():
  """Warns once of what users should know of Tessera under the installed JAX."""
  for problem in jax_private.problems(jax_version()):
    warnings.warn(f'[tessera] {problem}', stacklevel=2)


def open_library(path):
  """The library at that place. RuntimeError where it is no plugin of this version."""
  remedy = 'build the target tessera_pjrt of this version (docs/jax.md), or unset TESSERA_PJRT'
  if not os.path.exists(path):
    raise RuntimeError(f'[tessera] expected the library of the plugin, got no file {path}; {remedy}')
  try:
    library = ctypes.CDLL(path)
    library.GetPjrtApi  # pylint: disable=pointless-statement
  except (OSError, AttributeError) as error:
    raise RuntimeError(f'[tessera] expected a plugin that can be loaded, got {path}: {error}; {remedy}') from error
  found = library.tessera_interface() if hasattr(library, 'tessera_interface') else 'none'
  if found != INTERFACE:
    raise RuntimeError(f'[tessera] expected a library with interface {INTERFACE} of this package, got {path} with '
                       f'{found}; {remedy}')
  return library


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
  check_jax()
  path = library_path()
  open_library(path)
  c_api = jax_private.get('load_plugin')('tessera', path)
  jax_private.get('initialize_plugin')('tessera')
  return c_api


def _new_client():
  from jax_plugins.tessera import cache
  from jax_plugins.tessera import callbacks
  from jax_plugins.tessera import dlpack
  from jax_plugins.tessera import eager_callbacks
  from jax_plugins.tessera import ffi
  from jax_plugins.tessera import processes
  _load()
  parts = (('cache', cache), ('callbacks', callbacks), ('dlpack', dlpack), ('eager_callbacks', eager_callbacks), ('ffi', ffi))
  for part, module in parts:
    if not jax_private.missing(part):
      module.install()
  options = device_options(jax_private.get('client_options').value, os.environ,
                           jax_private.get('num_cpu_devices').value)
  return processes.make_client('tessera', options)


def make_client():
  """A client of jaxlib. Where it cannot be made, JAX goes on with other backends, unless JAX_PLATFORMS names this one."""
  import jax
  try:
    return _new_client()
  except Exception as error:
    if not jax.config.jax_platforms:
      logging.getLogger(__name__).warning("JAX goes on without the backend 'tessera': %s", error)
    raise


def make_topology(topology_name='', **options):
  """Devices to compile for that are not there: jax.experimental.topologies.get_topology_desc."""
  return jax_private.get('make_topology')(_load(), topology_name, **options)
