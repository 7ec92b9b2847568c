"""Programs of several processes: jax.distributed.initialize.

The client learns how many processes there are and which one this is, and gets JAX's key-value store, by which
processes find each other (plugin/rendezvous.h). Where they cannot communicate, there is no client.

A process that ends announces it, so that others which wait for it stop at once. JAX's own end would wait for
all processes, for minutes if one has died: it is left out if one has failed. If all have ended well, only the end of
JAX's service is left out, which takes seconds.
"""
import atexit
import ctypes
import functools
import time

from jax_plugins.tessera import client
from jax_plugins.tessera import jax_private

# JAX ends all processes when its coordinator, process 0, is gone: the others have this long to say why they failed.
_SECONDS_OF_OTHERS = 5


def make_client(platform, options):
  """The client of this process, one of those that jax.distributed.initialize has connected."""
  state = jax_private.get('distributed_state')
  make = jax_private.get('make_client')
  if state.client is None:
    return make(platform, options, None)
  made = make(platform, options | {'num_nodes': state.num_processes, 'node_id': state.process_id}, state.client)
  if state.num_processes > 1:
    _leave_at_exit()
  return made


@functools.cache
def _leave_at_exit():
  """Registers _leave once; it runs before what JAX has registered earlier."""
  library = ctypes.CDLL(client.library_path())
  library.tessera_leave_cluster.restype = ctypes.c_bool
  atexit.register(_leave, library.tessera_leave_cluster)


def _leave(leave_cluster):
  state = jax_private.get('distributed_state')
  if leave_cluster():
    # All processes still meet at JAX's barrier, in its client. The service would then wait, often for 5 s, until
    # clients no longer watch the processes; arrays and devices that the program still has keep these clients.
    _keep(state, 'service')
    return
  if state.process_id == 0:
    time.sleep(_SECONDS_OF_OTHERS)
  # What is destroyed waits for the others.
  _keep(state, 'preemption_sync_manager', 'client', 'service')


def _keep(state, *names):
  """Lets these objects of JAX live as long as the process, out of reach of JAX's own end."""
  for name in names:
    kept = getattr(state, name)
    if kept is not None:
      ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
      setattr(state, name, None)
