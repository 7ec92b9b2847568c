"""All names of JAX that Tessera uses and that are not public. They are in this file, because they differ between versions.

NAMES lists each name with the part of Tessera that needs it and the places where versions of JAX have it. The first place
that exists is used, so no code asks which version is installed. A part of Tessera is installed if all its names exist.
Without the part `backend`, Tessera cannot be used; without another part, programs that need it fail as they do on any
plugin, and `problems` returns what is missing. tests/jax/test_jax_private.py looks for every name in the installed
version, and scripts/jax-matrix runs it in each of TESTED.
"""
import dataclasses
import functools
import importlib
import inspect
import re

# The versions of JAX that are tested.
TESTED = ('0.8.3', '0.9.2', '0.10.2', '0.11.0', '0.11.2', '0.12.0.1')
OLDEST = '0.8.0'


@dataclasses.dataclass(frozen=True)
class _Name:
  part: str
  places: tuple[str, ...]  # module:attribute, or module:object.attribute


def _name(part, *places):
  return _Name(part, places)


_MLIR = 'jax._src.interpreters.mlir:'
_CONDITIONALS = 'jax._src.lax.control_flow.conditionals:'

# For each part except `backend`: what does not work without it.
PARTS = {
    'backend': 'the backend',
    'lowerings': 'linear algebra, donation and exported programs',
    'functions': 'exact erfc, lgamma and functions of complex numbers',
    'callbacks': 'pure_callback, io_callback and jax.debug',
    'eager_callbacks': 'callbacks in a shard_map outside of jit whose values differ between devices',
    'buffer_callbacks': 'jax.experimental.buffer_callback',
    'cache': "JAX's compilation cache",
    'dlpack': 'DLPack',
    'ffi': 'handlers of jax.ffi',
    'partitioners': 'custom_partitioning',
}

NAMES = {
    'register_backend_factory': _name('backend', 'jax._src.xla_bridge:register_backend_factory'),
    'load_plugin': _name('backend', 'jax._src.lib:xla_client.load_pjrt_plugin_dynamically'),
    'initialize_plugin': _name('backend', 'jax._src.lib:xla_client.initialize_pjrt_plugin'),
    'make_client': _name('backend', 'jax._src.lib:xla_client.make_c_api_client'),
    'make_topology': _name('backend', 'jax._src.lib:xla_client.make_c_api_device_topology'),
    'distributed_state': _name('backend', 'jax._src.distributed:global_state'),
    'client_options': _name('backend', 'jax._src.config:jax_pjrt_client_create_options'),
    'num_cpu_devices': _name('backend', 'jax._src.xla_bridge:num_cpu_devices'),
    # Dictionaries of rules: platform -> primitive -> rule.
    'platform_rules': _name('lowerings', _MLIR + '_platform_specific_lowerings'),
    'rules': _name('lowerings', _MLIR + '_lowerings'),  # those for all platforms
    'platforms_with_donation': _name('lowerings', _MLIR + '_platforms_with_donation'),
    'register_lowering': _name('lowerings', _MLIR + 'register_lowering'),
    'call_exported_p': _name('lowerings', 'jax._src.export._export:call_exported_p'),
    'call_exported_lowering': _name('lowerings', 'jax._src.export._export:_call_exported_lowering'),
    'platform_index_p': _name('lowerings', _CONDITIONALS + 'platform_index_p'),
    'platform_index_lowering': _name('lowerings', _CONDITIONALS + '_platform_index_lowering'),
    'cond_p': _name('lowerings', _CONDITIONALS + 'cond_p'),
    'cond_lowering': _name('lowerings', _CONDITIONALS + '_cond_lowering'),
    # Names for the rules of functions.py.
    'lower_with_sharding': _name('functions', _MLIR + 'lower_with_sharding_in_types'),
    'stablehlo': _name('functions', 'jaxlib.mlir.dialects.stablehlo:'),
    'func': _name('functions', 'jaxlib.mlir.dialects.func:'),
    'emit_python_callback': _name('callbacks', 'jax._src.callback:emit_python_callback'),
    # The public name of the same function, which packages call.
    'public_emit_python_callback': _name('callbacks', 'jax.interpreters.mlir:emit_python_callback'),
    'bridge_of_callback': _name('callbacks', 'jax._src.callback:xb'),
    'bridge_of_debugging': _name('callbacks', 'jax._src.debugging:xla_bridge'),
    'aval_to_ir_type': _name('callbacks', _MLIR + 'aval_to_ir_type'),
    'dtype_to_ir_type': _name('callbacks', _MLIR + 'dtype_to_ir_type'),
    'token_type': _name('callbacks', _MLIR + 'token_type'),
    'custom_call': _name('callbacks', _MLIR + 'custom_call'),
    'set_sharding': _name('callbacks', _MLIR + 'set_sharding'),
    'ir': _name('callbacks', 'jaxlib.mlir.ir:'),
    'sharding_context': _name('callbacks', 'jax._src.sharding_impls:ShardingContext'),
    'canonicalize_value': _name('callbacks', 'jax._src.dtypes:canonicalize_value'),
    # The mesh of the caller. Since 0.11.2 it is in another module and has another value for "no mesh".
    'device_context': _name('callbacks', 'jax._src.mesh:device_context', 'jax._src.config:device_context'),
    'empty_abstract_mesh': _name('callbacks', 'jax._src.mesh:empty_abstract_mesh'),
    'use_abstract_mesh': _name('callbacks', 'jax._src.mesh:use_abstract_mesh'),
    # The eager execution of a shard_map, and the primitives of callbacks.
    'process_primitive': _name('eager_callbacks', 'jax._src.shard_map:ShardMapTrace.process_primitive'),
    'pure_callback_p': _name('eager_callbacks', 'jax._src.callback:pure_callback_p'),
    'io_callback_p': _name('eager_callbacks', 'jax._src.callback:io_callback_p'),
    # The error of a program that failed, for callbacks that catch it.
    'runtime_error': _name('buffer_callbacks', 'jax.errors:JaxRuntimeError'),
    'execution_stage': _name('buffer_callbacks', 'jax.experimental.buffer_callback:ExecutionStage'),
    'buffer_callback_p': _name('buffer_callbacks', 'jax._src.buffer_callback:buffer_callback_p'),
    'is_cache_used': _name('cache', 'jax._src.compilation_cache:is_cache_used'),
    'is_persistent_cache_enabled': _name('cache', 'jax._src.compilation_cache:is_persistent_cache_enabled'),
    'compilation_cache': _name('cache', 'jax._src.compilation_cache:'),
    'to_dlpack': _name('dlpack', 'jax._src.dlpack:_to_dlpack'),
    'dlpack_device': _name('dlpack', 'jax._src.array:ArrayImpl.__dlpack_device__'),
    'from_dlpack': _name('dlpack', 'jax._src.dlpack:from_dlpack'),
    'public_from_dlpack': _name('dlpack', 'jax.dlpack:from_dlpack'),
    'register_call_handler': _name('ffi', 'jax._src.lib:xla_client.register_custom_call_handler'),
    'call_handlers': _name('ffi', 'jax._src.lib:xla_client._custom_callback_handler'),
    'register_call_of_xla': _name('ffi', 'jax._src.lib:xla_client._xla.register_custom_call_target'),
    'register_type_handler': _name('ffi', 'jax._src.lib:xla_client.register_custom_type_handler',
                                   'jax._src.lib:xla_client.register_custom_type_id_handler'),
    'type_handlers': _name('ffi', 'jax._src.lib:xla_client._custom_type_id_handler'),
    'register_type_of_xla': _name('ffi', 'jax._src.lib:xla_client._xla.register_custom_type',
                                  'jax._src.lib:xla_client._xla.register_custom_type_id'),
    # The callbacks of JAX and packages that are called with each plugin's C API, and the place where later ones find it.
    'plugin_callbacks': _name('partitioners', 'jax._src.xla_bridge:_plugin_callbacks'),
    'backend_factories': _name('partitioners', 'jax._src.xla_bridge:_backend_factories'),
    'dlpack_device_type': _name('dlpack', 'jax._src.dlpack:DLDeviceType'),
}


def _owner(place):
  """Returns the object that has the attribute, and its name (empty: the module itself); None if the place does not exist."""
  module, _, path = place.partition(':')
  try:
    owner = importlib.import_module(module)
  except ImportError:
    return None
  *inner, attribute = path.split('.')
  for step in inner:
    owner = getattr(owner, step, None)
  if attribute and not hasattr(owner, attribute):
    return None
  return owner, attribute


def _found(name):
  for place in NAMES[name].places:
    if found := _owner(place):
      return found
  raise LookupError(f'JAX has no {" or ".join(NAMES[name].places)}')


def get(name):
  """Returns the current object of that name. Raises LookupError if JAX has none."""
  owner, attribute = _found(name)
  return getattr(owner, attribute) if attribute else owner


def replace(name, value):
  """Replaces the object of that name in JAX."""
  setattr(*_found(name), value)


@functools.cache
def missing(part):
  """Returns the names of the part that the installed JAX lacks."""

  def there(name):
    try:
      get(name)
      return True
    except LookupError:
      return False

  return tuple(name for name, needed in NAMES.items() if needed.part == part and not there(name))


def parsed(version):
  """Returns the numbers of a version: (0, 12, 0, 1) for 0.12.0.1 and for 0.12.0.1.dev20261101."""
  return tuple(map(int, re.match(r'\d+(?:\.\d+)*', version).group().split('.')))


def refusal(version):
  """Returns why Tessera cannot be used with this version of JAX; empty if it can."""
  remedy = f"pip install 'jax>={OLDEST}', or set JAX_PLATFORMS=cpu to go on without"
  if parsed(version) < parsed(OLDEST):
    return f'[tessera] expected JAX {OLDEST} or later, got {version}; {remedy}'
  if names := missing('backend'):
    return (f'[tessera] expected a JAX with {", ".join(_places(names))}, got {version}, which has none; '
            f'pip install jax=={TESTED[-1]}, or set JAX_PLATFORMS=cpu to go on without')
  return ''


def problems(version):
  """Returns sentences about known problems of Tessera with this version of JAX; an empty list if it is a tested version."""
  out = []
  if parsed(version) > max(map(parsed, TESTED)):
    out.append(f'JAX {version} is newer than {TESTED[-1]}, the newest that this version of jax-tessera is '
               f'tested with; if something fails, pip install --upgrade jax-tessera, or jax=={TESTED[-1]}')
  for part, needs in PARTS.items():
    if names := missing(part):
      out.append(f'JAX {version} lacks {", ".join(_places(names))}, so that on Tessera these do not work: {needs}. '
                 f'pip install jax=={TESTED[-1]}')
  return out


def _places(names):
  return [NAMES[name].places[0].replace(':', '.') for name in names]


def ir_type(context, aval):
  """Returns the MLIR type of an array. Up to 0.9, JAX's function takes no context."""
  f = get('aval_to_ir_type')
  return f(context, aval) if len(inspect.signature(f).parameters) == 2 else f(aval)


def set_sharding(context, op, sharding):
  """Gives the op of MLIR a sharding of JAX; up to 0.9 JAX's function takes no context."""
  f = get('set_sharding')
  if len(inspect.signature(f).parameters) == 3:
    f(context, op, sharding)
  else:
    f(op, sharding)


def no_mesh():
  """Returns the value of device_context for "no mesh", which is its initial value."""
  from jax._src import mesh
  return getattr(mesh, 'empty_concrete_mesh', None) if hasattr(mesh, 'device_context') else None


def varying_axes(aval):
  """Returns the axes along which devices of a shard_map have different values. Since 0.10 they are part of another type."""
  return aval.manual_axis_type.varying if hasattr(aval, 'manual_axis_type') else aval.vma


def with_varying_axes(aval, axes, sharding):
  """Returns the type with these axes and the sharding."""
  if hasattr(aval, 'manual_axis_type'):
    return aval.update(sharding=sharding, manual_axis_type=aval.manual_axis_type.update(varying=axes))
  return aval.update(sharding=sharding, vma=axes)


def equal_on_all_devices(trace, value):
  """Returns what a tracer of an eager shard_map contains for a value that all devices share: an array, and the axes of its type."""
  return (trace.to_val_mat_pair if hasattr(trace, 'to_val_mat_pair') else trace.to_val_vma_pair)(value)


def kept_arguments(lowered):
  """Returns the positions of the function's arguments that a jax.stages.Lowered has kept; None: all."""
  return lowered._lowering.compile_args.get('kept_var_idx')  # pylint: disable=protected-access
