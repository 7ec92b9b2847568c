"""Exchange with other libraries by DLPack. JAX knows the platforms that have it by name; the devices of
Tessera are the CPU to all others, so that arrays go to and from numpy, torch and the like where they are.
"""
import ctypes
import functools

import numpy as np


def _on_tessera(devices):
  return all(device.platform == 'tessera' for device in devices)


def _exported(x):
  """A capsule of the memory of x, which stays while the capsule does. BufferError for dtypes that numpy lacks."""
  view = np.asarray(x)
  room = (ctypes.c_char * max(1, view.nbytes)).from_address(view.ctypes.data)
  room.array = view
  # numpy does not hand out what may not be written; JAX's arrays cannot be marked so either.
  return np.frombuffer(room, view.dtype, view.size).reshape(view.shape).__dlpack__()


def install():
  """Wraps the functions of JAX that look at platforms; arrays of others go on as before."""
  import jax
  from jax._src import array
  from jax._src import dlpack

  to_others, device_of, from_others = dlpack._to_dlpack, array.ArrayImpl.__dlpack_device__, dlpack.from_dlpack
  if hasattr(to_others, '__wrapped__'):
    return

  @functools.wraps(to_others)
  def _to_dlpack(x, stream, src_device=None, device=None, copy=None):
    if not _on_tessera(x.devices()):
      return to_others(x, stream, src_device, device, copy)
    return _exported(jax.numpy.array(x, copy=True) if copy else x)

  @functools.wraps(device_of)
  def __dlpack_device__(self):
    if len(self.devices()) == 1 and _on_tessera(self.devices()):
      return dlpack.DLDeviceType.kDLCPU, 0
    return device_of(self)

  @functools.wraps(from_others)
  def from_dlpack(external_array, device=None, copy=None):
    target = device if device is not None else jax.config.jax_default_device or jax.devices()[0]
    devices = getattr(target, 'device_set', {target})
    if (not hasattr(external_array, '__dlpack_device__') or isinstance(target, str) or not _on_tessera(devices) or
        len(devices) > 1 or external_array.__dlpack_device__()[0] != dlpack.DLDeviceType.kDLCPU):
      return from_others(external_array, device, copy)
    if isinstance(external_array, jax.Array):
      out = external_array if device is None else jax.device_put(external_array, device)
    else:
      out = jax.device_put(np.from_dlpack(external_array), device if device is not None else target)
    return jax.numpy.array(out, copy=True) if copy else out

  dlpack._to_dlpack = _to_dlpack
  array.ArrayImpl.__dlpack_device__ = __dlpack_device__
  dlpack.from_dlpack = from_dlpack
  jax.dlpack.from_dlpack = from_dlpack
