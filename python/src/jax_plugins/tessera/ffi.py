"""Native functions of users: jax.ffi.register_ffi_target and register_ffi_type, for the platform tessera and for cpu.

JAX passes what is registered for a platform to the handler of that platform, and keeps it until there is one.
Handlers for cpu are registered with XLA as before and also with Tessera, because Tessera's devices are the host's CPU.
"""
import ctypes
import functools

from jax_plugins.tessera import jax_private
from jax_plugins.tessera import shared_library

_STAGES = ('instantiate', 'prepare', 'initialize', 'execute')
_CAPACITY = 16384


@functools.cache
def _library():
  library = ctypes.CDLL(shared_library.library_path())
  library.tessera_register_ffi_handlers.argtypes = [
      ctypes.c_char_p, *([ctypes.c_void_p] * 4), ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
  library.tessera_register_ffi_type.argtypes = [
      ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
  return library


def _checked(function, *args):
  error = ctypes.create_string_buffer(_CAPACITY)
  if function(*args, error, _CAPACITY):
    raise ValueError(error.value.decode(errors='replace'))


def _pointer(capsule):
  """Returns the pointer in a capsule of any name."""
  name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
  name.argtypes, name.restype = [ctypes.py_object], ctypes.c_char_p
  pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
  return pointer(capsule, name(capsule))


def _text(name):
  return name if isinstance(name, bytes) else name.encode()


def register_target(name, fn, platform, api_version=1, traits=None):
  """Registers the handlers of a function for programs that are compiled from now on. Raises ValueError for wrong handlers."""
  del traits  # they concern streams of other devices
  if api_version != 1:
    raise ValueError(f"[ffi] expected a handler of api_version 1, got {api_version} for '{name}'; write the function "
                     'as a typed handler (XLA_FFI_DEFINE_HANDLER_SYMBOL)')
  stages = fn if isinstance(fn, dict) else {'execute': fn}
  if unknown := set(stages) - set(_STAGES) - {'record'}:
    raise ValueError(f"[ffi] expected handlers for the stages {', '.join(_STAGES)}, got {sorted(unknown)} for '{name}'")
  handlers = [_pointer(stages[stage]) if stages.get(stage) is not None else None for stage in _STAGES]
  _checked(_library().tessera_register_ffi_handlers, _text(name), *handlers, int(platform == 'cpu'))


def register_type(name, registration):
  """Registers the type of a handler's state."""
  if not isinstance(registration, dict):
    registration = {'type_id': registration}
  info = registration.get('type_info')
  _checked(_library().tessera_register_ffi_type, _text(name), _pointer(registration['type_id']),
           None if info is None else _pointer(info))


def _target_of_cpu(name, fn, platform, api_version=0, traits=0):
  jax_private.get('register_call_of_xla')(name, fn, platform, api_version, traits)
  if api_version == 1:  # functions of the older interface work only with XLA
    register_target(name, fn, 'cpu')


def _type_of_cpu(name, registration):
  jax_private.get('register_type_of_xla')(name, registration)
  register_type(name, registration)  # after XLA, which assigns the number


def install():
  """Makes JAX pass handlers and types to Tessera. Calling it again changes nothing."""
  if jax_private.get('call_handlers').get('tessera') is not None:
    return
  jax_private.get('register_type_handler')('tessera', register_type)
  jax_private.get('register_call_handler')('tessera', register_target)
  # If XLA's CPU backend already exists, handlers that were registered before are known only to XLA.
  for handlers, register, handler in (('type_handlers', 'register_type_handler', _type_of_cpu),
                                      ('call_handlers', 'register_call_handler', _target_of_cpu)):
    known, cpu = jax_private.get(handlers), 'Host' if 'Host' in jax_private.get(handlers) else 'cpu'
    if cpu in known:
      known[cpu] = handler
    else:
      jax_private.get(register)('cpu', handler)
