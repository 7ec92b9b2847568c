"""Programs of several processes: jax.distributed.initialize.

The client gets the number of processes, the number of this one, and JAX's key-value store, by which processes find
each other (plugin/rendezvous.h). If they cannot communicate, making the client fails.

A process that ends announces it, so that processes which wait for it stop at once. JAX's own shutdown would wait for
all processes, for minutes if one has died. So it is skipped if a process has failed. If all have ended well, only the
shutdown of JAX's service is skipped, which takes seconds.
"""
import atexit
import ctypes
import functools
import time

from jax_plugins.tessera import jax_private
from jax_plugins.tessera import shared_library

# JAX ends all processes when its coordinator, process 0, has ended. It waits so long for the others to print why they failed.
_SECONDS_OF_OTHERS = 5


def make_client(platform, options):
  """Returns the client of this process, which jax.distributed.initialize may have connected to others."""
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
  """Registers _leave once. It runs before the functions that JAX registered earlier."""
  library = ctypes.CDLL(shared_library.library_path())
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
  # The destructors of these objects would wait for the other processes.
  _keep(state, 'preemption_sync_manager', 'client', 'service')


def _keep(state, *names):
  """Takes these objects from JAX and keeps them alive, so that JAX's shutdown does not destroy them."""
  for name in names:
    kept = getattr(state, name)
    if kept is not None:
      ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
      setattr(state, name, None)
