"""Callbacks in a shard_map outside of jit. Their values may differ between devices.

JAX runs such a shard_map one op at a time, each as a program. It types the results of a callback as equal on all
devices, whatever its arguments are. Tessera keeps an array that is equal on all devices once, so a program of one such
callback would lose the values of all devices except one. Here the results vary over the axes over which any argument
varies. If a result is equal on all devices after all, it gets JAX's type afterwards.
"""
import functools

import jax
from jax.sharding import NamedSharding, PartitionSpec
import numpy as np

from jax_plugins.tessera import jax_private


def _varying_results(tracers, avals):
  """Returns the types of the results, which vary over the axes of all arguments; `avals` itself if no argument varies."""
  arguments = [jax.typeof(tracer) for tracer in tracers]
  axes = frozenset().union(*map(jax_private.varying_axes, arguments))
  if not axes:
    return avals
  mesh = next(aval.sharding.mesh for aval in arguments if jax_private.varying_axes(aval))
  whole = lambda aval: NamedSharding(mesh, PartitionSpec(*[None] * len(aval.shape)))
  return tuple(jax_private.with_varying_axes(aval, axes, whole(aval)) for aval in avals)


def _narrowed(trace, result):
  """Returns the result with the type of an array that is equal on all devices, if all its parts are equal."""
  parts = np.asarray(result.val)
  first = parts[:1].tobytes()
  if any(parts[i:i + 1].tobytes() != first for i in range(1, len(parts))):
    return result
  value, equal = jax_private.equal_on_all_devices(trace, parts[0])
  return type(result)(trace, equal, value)


def install():
  """Makes an eager shard_map keep the different values of callbacks. Calling it again changes nothing."""
  original = jax_private.get('process_primitive')
  if getattr(original, 'for_tessera', False):
    return
  callbacks = (jax_private.get('pure_callback_p'), jax_private.get('io_callback_p'))

  @functools.wraps(original)
  def process_primitive(self, primitive, tracers, params):
    if primitive not in callbacks or not self.check or not _on_tessera(self.mesh):
      return original(self, primitive, tracers, params)
    avals = _varying_results(tracers, params['result_avals'])
    results = original(self, primitive, tracers, params | {'result_avals': avals})
    return results if avals is params['result_avals'] else [_narrowed(self, result) for result in results]

  process_primitive.for_tessera = True
  jax_private.replace('process_primitive', process_primitive)


def _on_tessera(mesh):
  return mesh.devices.size > 0 and mesh.devices.flat[0].platform == 'tessera'
