"""Tessera as a backend of JAX: what JAX finds under `jax_plugins` and calls `initialize` of.

  jax_private.py      what is used of JAX beside its public names, in all versions
  client.py           the library, its devices and options; what does not fit is an error with a remedy
  lowerings.py        rules that JAX keeps for platforms it knows by name
  processes.py        programs of several processes
  functions.py        functions that reach Tessera by name
  callbacks.py        functions of Python that programs call
  buffer_callbacks.py callbacks that write to buffers in place
  eager_callbacks.py  callbacks in a shard_map outside of jit
  ffi.py              native functions of users that programs call
  cache.py            JAX's compilation cache
  dlpack.py           arrays to and from other libraries

Environment: TESSERA_DEVICES says which devices there are (`cpu:8`, `tpu_v4:2x2x1`), TESSERA_PJRT which
library is loaded (without it the one of this package).
"""
import functools

from jax_plugins.tessera import client
from jax_plugins.tessera import jax_private

# JAX takes the backend of the highest priority: its CPU has 0, a TPU 300, other plugins 400 and 500.
PRIORITY = 100

library_path = client.library_path


@functools.cache
def initialize():
  """Registers the backend; a second call does nothing. The library is loaded once JAX makes its backends, not where it runs on
  others alone."""
  if 'register_backend_factory' in jax_private.missing('backend'):
    return  # JAX says that it knows no backend of this name; python -m tessera_jax says why
  jax_private.get('register_backend_factory')(
      'tessera', client.make_client, priority=PRIORITY, fail_quietly=True, experimental=False,
      make_topology=client.make_topology)
  if jax_private.refusal(client.jax_version()):
    return  # the client says so where it is asked for; what follows needs JAX as it is known
  from jax_plugins.tessera import lowerings
  if not jax_private.missing('lowerings'):
    lowerings.install()
    if not (jax_private.missing('functions') or jax_private.missing('callbacks')):
      from jax_plugins.tessera import functions
      functions.install()
