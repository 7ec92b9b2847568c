"""jax.experimental.buffer_callback: functions of Python that read and write the buffers of a program in place.

JAX's rule calls a handler inside of jaxlib, which needs XLA's own execution context. For Tessera the program contains
the custom call of callbacks.py, and the function gets objects of this file, which have the attributes and protocols of
JAX's Buffer and ExecutionContext.
"""
import ctypes

import numpy as np

from jax_plugins.tessera import callbacks
from jax_plugins.tessera import jax_private


class Buffer:
  """An array in the memory of a program, which stays valid until the callback returns."""

  def __init__(self, address, shape, dtype, writeable):
    self._address = address
    self.shape = shape
    self.dtype = dtype
    self.ndim = len(shape)
    self.writeable = writeable

  def close(self):
    """Forgets the memory: the callback must not use it any more."""
    self._address = None

  def __array__(self, dtype=None, copy=None):
    array = self._view()
    if copy or (dtype is not None and np.dtype(dtype) != self.dtype):
      if copy is False:
        raise ValueError(f'[buffer_callback] expected {self.dtype} for an array without a copy, got {np.dtype(dtype)}; '
                         'leave copy out')
      return array.astype(self.dtype if dtype is None else dtype)
    return array

  def __dlpack__(self, **options):
    return self._view().__dlpack__(**options)

  def __dlpack_device__(self):
    return self._view().__dlpack_device__()

  def _view(self):
    if self._address is None:
      raise RuntimeError('[buffer_callback] expected a buffer to be used before its callback returns, got a use '
                         'after that; copy what is needed later')
    size = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
    memory = (ctypes.c_ubyte * size).from_address(self._address) if size else b''
    array = np.frombuffer(memory, np.uint8).view(self.dtype).reshape(self.shape)
    array.flags.writeable = self.writeable and size > 0
    return array


class ExecutionContext:
  """The first argument of a buffer callback."""

  @property
  def stage(self):
    return jax_private.get('execution_stage').EXECUTE

  @property
  def stream(self):
    raise jax_private.get('runtime_error')(
        'INVALID_ARGUMENT: [buffer_callback] expected a device with streams, got one of Tessera, which runs on the '
        'CPU: XLA FFI GPU context is not available; use the buffers only')


def _on_buffers(callback, in_tree, out_tree, inputs, outputs, aliases):
  """Returns a function of the addresses of arguments and results that calls `callback` with buffers. An argument i in
  `aliases` is passed as the buffer of result aliases[i]."""
  from jax import tree_util

  def call(arguments, results):
    written = [Buffer(results[o], *kind, writeable=True) for o, kind in enumerate(outputs)]
    read = []
    for i, (shape, dtype) in enumerate(inputs):
      if i in aliases:
        # The argument's own memory may have other readers, so its contents are copied to the result's memory.
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        ctypes.memmove(results[aliases[i]], arguments[i], size)
        read.append(written[aliases[i]])
      else:
        read.append(Buffer(arguments[i], shape, dtype, writeable=False))
    args, kwargs = tree_util.tree_unflatten(in_tree, read)
    try:
      if callback(ExecutionContext(), tree_util.tree_unflatten(out_tree, written), *args, **kwargs) is not None:
        raise ValueError('[buffer_callback] expected a callback that returns nothing, got a value; write to the '
                         'buffers of the results')
    finally:
      for buffer in read + written:
        buffer.close()

  return call


def _lower(ctx, *operands, callback, in_tree, out_tree, has_side_effect, input_output_aliases, **_):
  kinds_of = lambda avals: [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in avals]
  results = kinds_of(ctx.avals_out)
  function = _on_buffers(callback, in_tree, out_tree, kinds_of(ctx.avals_in), results, dict(input_output_aliases))
  types = [jax_private.ir_type(ctx.module_context, aval) for aval in ctx.avals_out]
  if not results:
    callbacks.custom_call(ctx, function, operands, [((0,), np.dtype(np.bool_))], [callbacks.type_of_nothing()],
                          has_side_effect)
    return []
  return callbacks.custom_call(ctx, function, operands, results, types, has_side_effect)


def install():
  """Makes JAX emit buffer callbacks for Tessera. Calling it again changes nothing."""
  jax_private.get('register_lowering')(jax_private.get('buffer_callback_p'), _lower, platform='tessera')
