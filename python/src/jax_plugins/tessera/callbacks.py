"""Functions of Python that programs call: pure_callback, io_callback, debug.callback and debug.print.

JAX emits all of them by one function, emit_python_callback, which has a list of platforms. For Tessera it
emits a custom call of tessera.pure_callback or tessera.io_callback (tessera/ops/control/host_callback.h)
with the number of the function. The function lives as long as the program that JAX compiled.
"""
import contextlib
import ctypes
import functools
import itertools
import traceback

import numpy as np

from jax_plugins.tessera import jax_private
from jax_plugins.tessera import shared_library

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p),
                             ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_size_t)
_keys = itertools.count(1)
_functions = {}  # key -> a function of the addresses of arguments and of results


def _array(address, shape, dtype):
  """Returns a copy of the C++ array at this address."""
  size = int(np.prod(shape)) * dtype.itemsize
  return np.frombuffer(ctypes.string_at(address, size) if size else b'', dtype).reshape(shape).copy()


@contextlib.contextmanager
def _no_mesh():
  """Unsets the caller's mesh: functions that a program calls must not see it."""
  context = jax_private.get('device_context')
  before = context.swap_local(jax_private.no_mesh())
  try:
    with jax_private.get('use_abstract_mesh')(jax_private.get('empty_abstract_mesh')):
      yield
  finally:
    context.set_local(before)


@_FUNCTION
def _call(key, arguments, results, error, capacity):
  """Calls a function for the runtime, on one of its threads or the caller's. An exception becomes the error of the run."""
  try:
    with _no_mesh():
      _functions[key](arguments, results)
    return 0
  except BaseException:  # pylint: disable=broad-except
    text = traceback.format_exc().encode()[-capacity:]
    ctypes.memmove(error, text, len(text))
    return 1


def _on_copies(callback, inputs, outputs, partitioned):
  """Returns a function of the addresses of arguments and results that calls `callback` with copies of the arguments and
  copies its results."""

  def call(arguments, results):
    kinds = inputs
    if partitioned:
      # The first argument has the extents of the parts, one after the other.
      extents = iter(_array(arguments[0], (sum(len(shape) for shape, _ in inputs),), np.dtype(np.int64)).tolist())
      kinds = [(tuple(next(extents) for _ in shape), dtype) for shape, dtype in inputs]
    values = callback(*(_array(arguments[i], *kind) for i, kind in enumerate(kinds, start=int(partitioned))))
    for i, (value, (_, dtype)) in enumerate(zip(values, outputs, strict=True)):
      data = np.ascontiguousarray(value, dtype)
      ctypes.memmove(results[i], data.ctypes.data, data.nbytes)

  return call


@functools.cache
def _library():
  library = ctypes.CDLL(shared_library.library_path())
  library.tessera_add_callback.argtypes = [_FUNCTION, ctypes.c_int64]
  library.tessera_add_callback.restype = ctypes.c_int64
  library.tessera_remove_callback.argtypes = [ctypes.c_int64]
  library.tessera_remove_callback.restype = None
  return library


class _Registered:
  """A function that programs may call while this object lives."""

  def __init__(self, function):
    self.key = next(_keys)
    _functions[self.key] = function
    self._remove = _library().tessera_remove_callback
    self.number = _library().tessera_add_callback(_call, self.key)

  def __del__(self):
    self._remove(self.number)
    _functions.pop(self.key, None)


def _checked(callback, result_avals):
  """Returns the callback with its results as arrays. It raises RuntimeError if they do not have the promised types."""
  canonicalize = jax_private.get('canonicalize_value')

  def call(*args):
    values = callback(*args)
    if len(values) != len(result_avals):
      raise RuntimeError('Mismatched number of outputs from callback. '
                         f'Expected: {len(result_avals)}, Actual: {len(values)}')
    values = tuple(canonicalize(np.asarray(value)) for value in values)
    for i, (value, aval) in enumerate(zip(values, result_avals)):
      for what in ('shape', 'dtype'):
        if getattr(value, what) != getattr(aval, what):
          raise RuntimeError(f'Incorrect output {what} for return value #{i}: '
                             f'Expected: {getattr(aval, what)}, Actual: {getattr(value, what)}')
    return values

  return call


def type_of_nothing():
  """Returns the type of the empty result of an op without other results."""
  return jax_private.get('ir').RankedTensorType.get([0], jax_private.get('dtype_to_ir_type')(np.dtype(np.bool_)))


def custom_call(ctx, function, operands, results, types, has_side_effect, partitioned=False, sharding=None):
  """Emits a call of `function` and returns its results. The function lives as long as the program.

  Args:
    function: a function of the addresses of arguments and results.
    results: the shapes and dtypes that `function` writes.
    types: the MLIR types of the same results.
    partitioned: whether `function` is called for each part of sharded operands, with the extents of the parts first.
    sharding: JAX's sharding of the op, one for each result, or None.
  """
  ir, dtype_to_ir_type = jax_private.get('ir'), jax_private.get('dtype_to_ir_type')
  registered = _Registered(function)
  ctx.module_context.add_keepalive(registered)
  config = {
      'function': ir.IntegerAttr.get(ir.IntegerType.get_signless(64), registered.number),
      'dtypes': ir.ArrayAttr.get([ir.StringAttr.get(str(dtype_to_ir_type(dtype))) for _, dtype in results]),
      'shapes': ir.ArrayAttr.get([ir.DenseI64ArrayAttr.get(shape) for shape, _ in results])}
  target = 'tessera.io_callback' if has_side_effect else 'tessera.pure_callback'
  if partitioned:
    target, config = 'tessera.partitioned_callback', {'function': config['function']}
  call = jax_private.get('custom_call')(target, result_types=types, operands=operands, backend_config=config,
                                        api_version=4, has_side_effect=has_side_effect)
  if sharding is not None:
    jax_private.set_sharding(ctx.module_context, call, sharding)
  return list(call.results)


def _has_parts(ctx):
  """Returns whether arrays may be sharded at this op. On one device they are not, and in a shard_map they already are parts."""
  context = ctx.module_context.axis_context
  return isinstance(context, jax_private.get('sharding_context')) and context.num_devices > 1


def _shown_sharding(ctx, sharding, token, results):
  """Returns JAX's sharding of the call if it names a device, one for each result; otherwise None. Tessera calls the function
  once, in the host's process, whichever device that is, but readers of the program find the device there."""
  if not _has_parts(ctx) or not hasattr(sharding, 'shardings'):
    return None
  shardings = tuple(sharding.shardings)
  if token is not None and results:
    shardings = (shardings[0], *shardings)
  return type(sharding)(shardings)


def _emit(ctx, callback, token, operands, operand_avals, result_avals, *, has_side_effect, partitioned, sharding=None):
  """Emits the custom call. Returns its results, the token after it or None, and None."""
  if partitioned and result_avals:
    raise ValueError('Partitioned callback not supported with return values.')
  partitioned = partitioned and _has_parts(ctx)
  sharding = None if partitioned else _shown_sharding(ctx, sharding, token, result_avals)
  kinds = [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in operand_avals]
  results = [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in result_avals]
  types = [jax_private.ir_type(ctx.module_context, aval) for aval in result_avals]
  callback = _checked(callback, result_avals)
  if token is not None:
    # For Tessera, a token is an array without elements.
    without_token, nothing = callback, np.zeros(0, np.bool_)
    callback = lambda _, *args: (nothing, *without_token(*args))
    kinds = [((0,), np.dtype(np.bool_)), *kinds]
    results = [((0,), np.dtype(np.bool_)), *results]
    operands = [token, *operands]
    types = [jax_private.get('token_type')(), *types]
  if not results:
    # The op must have a result; this one is empty.
    without_result, nothing = callback, np.zeros(0, np.bool_)
    callback = lambda *args: (without_result(*args), (nothing,))[1]
    results = [((0,), np.dtype(np.bool_))]
    types = [type_of_nothing()]
  values = custom_call(ctx, _on_copies(callback, kinds, results, partitioned), operands, results, types, has_side_effect,
                       partitioned, sharding)
  if token is not None:
    token, *values = values
  return values[:len(result_avals)], token, None


class _Bridge:
  """Replaces jax._src.xla_bridge in JAX's modules of callbacks. If there is no CPU backend for the arguments of callbacks,
  it returns Tessera's devices, which are in the host's memory too."""

  def __init__(self, bridge):
    self._bridge = bridge

  def __getattr__(self, name):
    return getattr(self._bridge, name)

  def local_devices(self, *args, backend=None, **kwargs):
    try:
      return self._bridge.local_devices(*args, backend=backend, **kwargs)
    except RuntimeError:
      if backend != 'cpu':
        raise
      return self._bridge.local_devices(*args, **kwargs)


def install():
  """Makes JAX emit callbacks for Tessera. Calling it again changes nothing."""
  original = jax_private.get('emit_python_callback')
  if getattr(original, 'for_tessera', False):
    return

  @functools.wraps(original)
  def emit_python_callback(ctx, callback, token, operands, operand_avals, result_avals, *, has_side_effect,
                           partitioned=False, sharding=None, **options):
    if tuple(ctx.module_context.platforms) != ('tessera',):
      return original(ctx, callback, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect,
                      partitioned=partitioned, sharding=sharding, **options)
    return _emit(ctx, callback, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect,
                 partitioned=partitioned, sharding=sharding)

  emit_python_callback.for_tessera = True
  for name in ('emit_python_callback', 'public_emit_python_callback'):
    jax_private.replace(name, emit_python_callback)
  for name in ('bridge_of_callback', 'bridge_of_debugging'):
    jax_private.replace(name, _Bridge(jax_private.get(name)))
