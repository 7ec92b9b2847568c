"""The client of JAX: checks the installed JAX, has libtessera_pjrt.so loaded and makes the devices that are asked for.

Errors are RuntimeErrors of the form `[tessera] expected, got, remedy`; JAX raises them as "Unable to initialize
backend 'tessera': ...".
"""
import functools
import importlib.metadata
import logging
import os
import pathlib
import re
import warnings

from jax_plugins.tessera import jax_private
from jax_plugins.tessera import shared_library

@functools.cache
def jax_version():
  """Returns the version of the installed JAX."""
  try:
    return importlib.metadata.version('jax')
  except importlib.metadata.PackageNotFoundError:  # JAX from its sources
    import jax.version
    return jax.version.__version__


def check_jax():
  """Raises RuntimeError if the installed JAX cannot be imported or lacks names that the backend needs."""
  try:
    import jax  # pylint: disable=unused-import
  except Exception as error:  # a broken jaxlib, or one of another version, is whatever its modules raise
    raise RuntimeError(f'[tessera] expected a JAX that can be imported, got {type(error).__name__}: {error}; '
                       'pip install --force-reinstall jax jaxlib') from error
  if refusal := jax_private.refusal(jax_version()):
    raise RuntimeError(refusal)


@functools.cache
def warn_of_problems():
  """Warns once of known problems with the installed JAX and with several copies of jax-tessera."""
  for problem in (*jax_private.problems(jax_version()), *other_copies()):
    warnings.warn(f'[tessera] {problem}', stacklevel=2)


def other_copies():
  """Returns a list with one sentence if Python finds jax-tessera in several places (it uses the first one), or an empty list."""
  places = {os.path.realpath(found.locate_file('')): None for found in importlib.metadata.distributions(name='jax-tessera')}
  if len(places) < 2:
    return []
  used = pathlib.Path(__file__).resolve().parent
  return [f'jax-tessera is installed {len(places)} times, in {" and in ".join(places)}; what runs is in {used}. '
          'Run pip uninstall jax-tessera until one is left']


def device_options(configured, environment, num_cpu_devices):
  """Returns the options of the client, from the first of these that is set: `configured`, TESSERA_DEVICES (the library reads it,
  so no options are returned), `num_cpu_devices`, XLA_FLAGS. Raises RuntimeError if `configured` is wrong.

  Args:
    configured: jax_pjrt_client_create_options, as text (`num_devices:8`) or as a dict.
    environment: the environment of the process, with TESSERA_DEVICES, and XLA_FLAGS of programs that ask XLA for CPU devices.
    num_cpu_devices: jax_num_cpu_devices; -1: unset.
  """
  if isinstance(configured, str):
    # `devices:tpu_v4:2x2x1` is split at the first colon.
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


def _take_partitioners(c_api):
  """Runs the callbacks that JAX keeps for plugins, and keeps the C API for callbacks that are registered later."""
  if jax_private.missing('partitioners'):
    return
  for callback in jax_private.get('plugin_callbacks'):
    callback(c_api=c_api)
  if factory := jax_private.get('backend_factories').get('tessera'):
    factory.c_api = c_api


@functools.cache
def load():
  """Returns JAX's handle of the library, which is loaded at the first call."""
  check_jax()
  path = shared_library.library_path()
  shared_library.open_library(path)
  try:
    c_api = jax_private.get('load_plugin')('tessera', path)
  except Exception as error:
    if 'already exists' not in str(error):
      raise
    raise RuntimeError('[tessera] expected to load the library for the platform tessera, got a process in which another one is '
                       f'loaded for it ({error}); leave out what loads it, as register_plugin: JAX finds this backend '
                       'by itself') from error
  jax_private.get('initialize_plugin')('tessera')
  _take_partitioners(c_api)
  return c_api


def _new_client():
  from jax_plugins.tessera import buffer_callbacks
  from jax_plugins.tessera import cache
  from jax_plugins.tessera import callbacks
  from jax_plugins.tessera import dlpack
  from jax_plugins.tessera import eager_callbacks
  from jax_plugins.tessera import ffi
  from jax_plugins.tessera import processes
  load()
  parts = (('cache', cache), ('callbacks', callbacks), ('dlpack', dlpack), ('eager_callbacks', eager_callbacks),
           ('ffi', ffi), ('buffer_callbacks', buffer_callbacks))
  for part, module in parts:
    if not jax_private.missing(part):
      module.install()
  options = device_options(jax_private.get('client_options').value, os.environ,
                           jax_private.get('num_cpu_devices').value)
  return processes.make_client('tessera', options)


def make_client():
  """Returns a client of jaxlib. If it cannot be made, JAX goes on with other backends, unless JAX_PLATFORMS names this one."""
  import jax
  try:
    return _new_client()
  except Exception as error:
    if not jax.config.jax_platforms:
      logging.getLogger(__name__).warning("JAX goes on without the backend 'tessera': %s", error)
    raise


def make_topology(topology_name='', **options):
  """Returns devices that need not exist, to compile for: the function behind jax.experimental.topologies.get_topology_desc."""
  return jax_private.get('make_topology')(load(), topology_name, **options)
