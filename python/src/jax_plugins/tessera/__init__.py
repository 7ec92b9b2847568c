"""Tessera as a backend of JAX: what JAX finds under `jax_plugins` and calls `initialize` of.

  client.py        the library, its devices and options; what does not fit is an error with a remedy
  lowerings.py     rules that JAX keeps for platforms it knows by name
  callbacks.py     functions of Python that programs call
  cache.py         JAX's compilation cache
  dlpack.py        arrays to and from other libraries

Environment: TESSERA_DEVICES says which devices there are (`cpu:8`, `tpu_v4:2x2x1`), TESSERA_PJRT which
library is loaded (without it the one of this package).
"""
from jax_plugins.tessera import client

library_path = client.library_path


def initialize():
  """Registers the backend. The library is loaded once the backend is used, not where JAX runs on another."""
  from jax._src import xla_bridge  # JAX imports this module, half initialised itself
  xla_bridge.register_backend_factory(
      'tessera', client.make_client, priority=500, fail_quietly=False, experimental=False,
      make_topology=client.make_topology)
  if client.wrong_version():
    return  # the client says so where it is asked for; what follows needs JAX as it is known
  from jax_plugins.tessera import lowerings
  lowerings.install()
