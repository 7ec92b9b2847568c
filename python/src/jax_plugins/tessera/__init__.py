"""Tessera as a backend of JAX. JAX finds this package under `jax_plugins` and calls its `initialize`.

  jax_private.py      the names of JAX that are not public and that Tessera uses, in all versions
  shared_library.py   finds and loads the library
  client.py           its devices and options; anything that does not fit is an error with a remedy
  lowerings.py        rules that JAX keeps for platforms it knows by name
  processes.py        programs of several processes
  functions.py        functions that reach Tessera by name
  callbacks.py        functions of Python that programs call
  buffer_callbacks.py callbacks that write to buffers in place
  eager_callbacks.py  callbacks in a shard_map outside of jit
  ffi.py              native functions of users that programs call
  cache.py            JAX's compilation cache
  dlpack.py           arrays to and from other libraries

Environment: TESSERA_DEVICES names the devices (`cpu:8`, `tpu_v4:2x2x1`), TESSERA_PJRT the library that is
loaded (by default the library of this package).
"""
import functools

from jax_plugins.tessera import client
from jax_plugins.tessera import jax_private
from jax_plugins.tessera import shared_library

# JAX takes the backend of the highest priority: its CPU has 0, a TPU 300, other plugins 400 and 500.
PRIORITY = 100

library_path = shared_library.library_path


@functools.cache
def initialize():
  """Registers the backend; a second call does nothing. The library is loaded when JAX makes this backend, not if JAX uses only
  other backends."""
  if 'register_backend_factory' in jax_private.missing('backend'):
    return  # JAX says that it knows no backend of this name; python -m tessera_jax says why
  jax_private.get('register_backend_factory')(
      'tessera', client.make_client, priority=PRIORITY, fail_quietly=True, experimental=False,
      make_topology=client.make_topology)
  if jax_private.refusal(client.jax_version()):
    return  # making the client raises the error; the code below needs a JAX that is supported
  from jax_plugins.tessera import lowerings
  if not jax_private.missing('lowerings'):
    lowerings.install()
    if not (jax_private.missing('functions') or jax_private.missing('callbacks')):
      from jax_plugins.tessera import functions
      functions.install()
