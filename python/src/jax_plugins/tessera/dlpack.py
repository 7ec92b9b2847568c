"""Exchange of arrays with other libraries by DLPack. JAX has a list of platforms that support it. To other
libraries, Tessera's devices are the CPU, so arrays are exchanged with numpy, torch and others without a copy.
For arrays of other backends, JAX's own functions are called with the same arguments.
"""
import ctypes
import functools
import inspect

import numpy as np

from jax_plugins.tessera import jax_private


def _on_tessera(devices):
  return all(device.platform == 'tessera' for device in devices)


def _exported(x, max_version):
  """Returns a capsule that keeps the memory of x. Raises BufferError for dtypes that numpy lacks."""
  view = np.asarray(x)
  if max_version is not None and tuple(max_version) >= (1, 0):
    return view.__dlpack__(max_version=max_version)  # it is marked as read-only
  room = (ctypes.c_char * max(1, view.nbytes)).from_address(view.ctypes.data)
  room.array = view
  # Before DLPack 1.0, memory could not be marked as read-only, and numpy exports only writeable memory.
  return np.ndarray(view.shape, view.dtype, room, strides=view.strides).__dlpack__()


def _target(device):
  """Returns the devices on which an array from another library is put."""
  import jax
  if device is None:
    device = jax.config.jax_default_device
  if device is None or isinstance(device, str):
    device = jax.devices(device)[0]
  return getattr(device, 'device_set', {device})


def install():
  """Wraps the functions of JAX that look at platforms. Calling it again changes nothing."""
  import jax
  to_others, device_of, from_others = map(jax_private.get, ('to_dlpack', 'dlpack_device', 'from_dlpack'))
  if hasattr(to_others, '__wrapped__'):
    return
  cpu = jax_private.get('dlpack_device_type').kDLCPU
  arguments = inspect.signature(to_others)

  @functools.wraps(to_others)
  def to_dlpack(x, *args, **kwargs):
    if not _on_tessera(x.devices()):
      return to_others(x, *args, **kwargs)
    given = arguments.bind(x, *args, **kwargs).arguments
    return _exported(jax.numpy.array(x, copy=True) if given.get('copy') else x, given.get('max_version'))

  @functools.wraps(device_of)
  def dlpack_device(self):
    if len(self.devices()) == 1 and _on_tessera(self.devices()):
      return cpu, 0
    return device_of(self)

  @functools.wraps(from_others)
  def from_dlpack(external_array, device=None, copy=None):
    devices = _target(device)
    if (not hasattr(external_array, '__dlpack_device__') or not _on_tessera(devices) or len(devices) > 1 or
        external_array.__dlpack_device__()[0] != cpu):
      return from_others(external_array, device, copy)
    if isinstance(external_array, jax.Array):
      out = external_array if device is None else jax.device_put(external_array, device)
    else:
      out = jax.device_put(np.from_dlpack(external_array), device if device is not None else next(iter(devices)))
    return jax.numpy.array(out, copy=True) if copy else out

  jax_private.replace('to_dlpack', to_dlpack)
  jax_private.replace('dlpack_device', dlpack_device)
  jax_private.replace('from_dlpack', from_dlpack)
  jax_private.replace('public_from_dlpack', from_dlpack)
