"""The primitives of JAX in NumPy and SciPy: `OPS[name](equation, *arrays)`.

Arguments and results that are floats are in float64; if a result depends on the type (bits, ranges), it is taken from the equation.
"""
import itertools

import jax
import numpy as np
import scipy.linalg
import scipy.special

from reference_indexing import conv, gather, reduce_window, scatter, select_and_gather_add, select_and_scatter_add


def dtype_in(eqn, i=0):
  return np.dtype(eqn.invars[i].aval.dtype)


def dtype_out(eqn):
  return np.dtype(eqn.outvars[0].aval.dtype)


def _convert(eqn, x):
  source, target = dtype_in(eqn), dtype_out(eqn)
  if x.dtype.kind == 'V':  # float0, the tangents of integers
    return np.zeros(x.shape, wide(target))
  if target == np.bool_:
    return x != 0
  if target.kind in 'iu' and jax.dtypes.issubdtype(source, np.inexact):
    info = np.iinfo(target)
    whole = np.trunc(np.nan_to_num(x.real if source.kind == 'c' else x, nan=0, posinf=2.0**70, neginf=-2.0**70))
    out = np.zeros(x.shape, target)
    low, high = whole <= float(info.min), whole >= float(info.max)
    out[~(low | high)] = whole[~(low | high)].astype(target)
    out[low], out[high] = info.min, info.max
    return out
  if source.kind == 'c' and target.kind != 'c':
    return x.real
  return x.astype(wide(target))


def wide(dtype):
  """Returns the dtype in which the reference keeps values of a dtype."""
  if dtype.kind == 'c':
    return np.dtype(np.complex128)
  return np.dtype(np.float64) if jax.dtypes.issubdtype(dtype, np.floating) else dtype


def _div(eqn, a, b):
  if dtype_in(eqn).kind not in 'iu':
    return np.divide(a, b)
  zero = b == 0
  safe = np.where(zero, 1, b).astype(b.dtype)
  quotient = a // safe
  remainder = a - quotient * safe
  quotient = quotient + ((remainder != 0) & ((a < 0) != (safe < 0)))
  return np.where(zero, np.array(-1).astype(a.dtype), quotient)


def _rem(eqn, a, b):
  if dtype_in(eqn).kind not in 'iu':
    return np.fmod(a, b)
  return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b).astype(b.dtype)))


def _round(eqn, x):
  if int(eqn.params['rounding_method']) == 1:
    return np.round(x)
  return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _shift(operation):
  def shifted(eqn, a, b):
    bits = dtype_in(eqn).itemsize * 8
    unsigned = np.dtype(f'u{dtype_in(eqn).itemsize}')
    count = b.astype(unsigned)
    over = count >= bits
    safe = np.where(over, 0, count)
    if operation == 'left':
      return np.where(over, 0, a.astype(unsigned) << safe).astype(unsigned).astype(a.dtype)
    if operation == 'logical':
      return np.where(over, 0, a.astype(unsigned) >> safe).astype(unsigned).astype(a.dtype)
    return np.where(over, np.where(a < 0, -1, 0).astype(a.dtype), a >> safe.astype(a.dtype))
  return shifted


def _bits(eqn, x):
  """bitcast_convert_type between types of the same width."""
  source, target = dtype_in(eqn), dtype_out(eqn)
  return x.astype(source).view(target).astype(wide(target))


def _integer_pow(eqn, x):
  y = eqn.params['y']
  if x.dtype.kind not in 'iu':
    return x.astype(np.complex128 if x.dtype.kind == 'c' else np.float64)**y
  out = np.ones_like(x)
  for _ in range(y):
    out = out * x
  return out


def _reduce(function, identity=None):
  def reduced(eqn, x):
    return function(x, axis=tuple(eqn.params['axes']), **({} if identity is None else {'dtype': x.dtype}))
  return reduced


def _extremum(function, sign):
  """The largest (-1) or smallest (1) elements; of none it is the smallest or largest number of the type."""
  def reduced(eqn, x):
    if x.dtype.kind == 'b':
      start = sign > 0
    elif x.dtype.kind == 'f':
      start = sign * np.inf
    else:
      start = np.iinfo(x.dtype).max if sign > 0 else np.iinfo(x.dtype).min
    return function(x, axis=tuple(eqn.params['axes']), initial=start)
  return reduced


def _arg(function):
  def found(eqn, x):
    [axis] = eqn.params['axes']
    if x.dtype.kind == 'f' and np.isnan(x).any():
      nan = np.isnan(x)
      return np.where(nan.any(axis), nan.argmax(axis),
                      function(np.where(nan, 0, x), axis)).astype(eqn.params['index_dtype'])
    return function(x, axis).astype(eqn.params['index_dtype'])
  return found


def _cumulative(function):
  def scanned(eqn, x):
    axis, reverse = eqn.params['axis'], eqn.params['reverse']
    x = np.flip(x, axis) if reverse else x
    out = function(x, axis)
    return np.flip(out, axis) if reverse else out
  return scanned


def _broadcast_in_dim(eqn, x, *_):
  shape, dims = eqn.params['shape'], eqn.params['broadcast_dimensions']
  inner = [1] * len(shape)
  for n, d in zip(x.shape, dims):
    inner[int(d)] = n
  return np.broadcast_to(x.reshape(inner), shape)


def _pad(eqn, x, value):
  config = [tuple(int(n) for n in c) for c in eqn.params['padding_config']]
  spread = np.full([n + max(n - 1, 0) * i for n, (_, _, i) in zip(x.shape, config)], value, x.dtype)
  spread[tuple(slice(None, None, i + 1) for _, _, i in config)] = x
  spread = np.pad(spread, [(max(lo, 0), max(hi, 0)) for lo, hi, _ in config], constant_values=value)
  return spread[tuple(slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi, _) in zip(spread.shape, config))]


def _start(starts, shape, sizes):
  return [int(np.clip(int(s), 0, n - k)) for s, n, k in zip(starts, shape, sizes)]


def _dynamic_slice(eqn, x, *starts):
  sizes = eqn.params['slice_sizes']
  return x[tuple(slice(s, s + k) for s, k in zip(_start(starts, x.shape, sizes), sizes))]


def _dynamic_update_slice(eqn, x, update, *starts):
  del eqn
  out = np.array(x)
  out[tuple(slice(s, s + k) for s, k in zip(_start(starts, x.shape, update.shape), update.shape))] = update
  return out


def _dot_general(eqn, a, b):
  ((ca, cb), (ba, bb)) = eqn.params['dimension_numbers']
  ca, cb, ba, bb = ([int(d) for d in ds] for ds in (ca, cb, ba, bb))
  letters = iter('abcdefghijklmnopqrstuvwxyz')
  left = [next(letters) for _ in a.shape]
  right = [next(letters) for _ in b.shape]
  for i, j in [*zip(ca, cb), *zip(ba, bb)]:
    right[j] = left[i]
  out = [left[i] for i in ba] + [left[i] for i in range(a.ndim) if i not in ca + ba] + [right[j] for j in range(b.ndim) if j not in cb + bb]
  dtype = wide(dtype_out(eqn))
  return np.einsum(f'{"".join(left)},{"".join(right)}->{"".join(out)}', a.astype(dtype), b.astype(dtype))


def _sort(eqn, *xs):
  axis, keys = eqn.params['dimension'], eqn.params['num_keys']
  order = np.broadcast_to(np.arange(xs[0].shape[axis]).reshape([-1 if d == axis else 1 for d in range(xs[0].ndim)]),
                          xs[0].shape)
  for key in reversed(xs[:keys]):
    at = np.take_along_axis(key, order, axis)
    order = np.take_along_axis(order, np.argsort(at, axis, kind='stable'), axis)
  return tuple(np.take_along_axis(x, order, axis) for x in xs)


def _top_k(eqn, x):
  axis, k = eqn.params.get('axis', -1), eqn.params['k']
  key, place = -x if x.dtype.kind == 'f' else ~x, np.ones(x.shape)
  if x.dtype.kind == 'f':  # NaN is above infinity; below minus infinity if its sign bit is set
    place = np.where(np.isnan(x), np.where(np.signbit(x), 2, 0), 1)
  below = np.signbit(x) & (x == 0)  # -0 is below 0
  order = np.lexsort((below, key, place), axis)
  index = np.take(order, np.arange(k), axis)
  return np.take_along_axis(x, index, axis), index


def _reduce_precision(eqn, x):
  exponent, mantissa = eqn.params['exponent_bits'], eqn.params['mantissa_bits']
  m, e = np.frexp(x)
  out = np.ldexp(np.round(np.ldexp(m, mantissa + 1)), e - mantissa - 1)
  largest = 2.0**(2**(exponent - 1) - 1) * (2 - 2.0**-mantissa)
  out = np.where(np.abs(out) > largest, np.copysign(np.inf, x), out)
  least = 2.0**(2 - 2**(exponent - 1))
  return np.where(np.isfinite(x), np.where(np.abs(out) < least, np.copysign(0.0, x), out), x)


def _nextafter(eqn, a, b):
  dtype = dtype_in(eqn)
  narrow = np.nextafter(a.astype(dtype), b.astype(dtype))
  return narrow.astype(np.float64)


def _split(eqn, x):
  return np.split(x, np.cumsum(eqn.params['sizes'])[:-1], eqn.params['axis'])


def _iota(eqn):
  shape, d = eqn.params['shape'], eqn.params['dimension']
  line = np.arange(shape[d]).reshape([-1 if i == d else 1 for i in range(len(shape))])
  return np.broadcast_to(line, shape).astype(wide(dtype_out(eqn)))


def _callback(eqn, *args):
  narrow = [a.astype(v.aval.dtype) for a, v in zip(args, eqn.invars)]
  outs = eqn.params['callback'](*narrow)
  outs = outs if isinstance(outs, (tuple, list)) else [outs]
  return tuple(np.asarray(o).astype(wide(np.dtype(v.aval.dtype))) for o, v in zip(outs, eqn.outvars))


def _empty(eqn):
  aval = eqn.outvars[0].aval
  return np.zeros(aval.shape, wide(np.dtype(aval.dtype)))


def _complex(re, im):
  out = np.empty(np.broadcast_shapes(re.shape, im.shape), np.complex128)
  out.real, out.imag = re, im  # a product with 1j would multiply infinities by zero
  return out


def _total(compare):
  """A comparison in IEEE 754's total order: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
  def place(x):
    bits = np.asarray(x, np.float64).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits - 1, bits)
  return lambda a, b: compare(*(map(place, (a, b)) if a.dtype.kind == 'f' else (a, b)))


def _fft(eqn, x):
  lengths, kind = tuple(int(n) for n in eqn.params['fft_lengths']), int(eqn.params['fft_type'])
  axes = range(-len(lengths), 0)
  if not np.isinf(x).any():
    return [np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn][kind](x, lengths, axes)
  inverse, n = kind in (1, 3), lengths[-1]
  x = x.astype(np.complex128)
  if kind == 2:
    x = _fft_line(x, inverse)[..., :n // 2 + 1]
  for axis in axes[:-1] if kind > 1 else axes:
    x = np.moveaxis(_fft_line(np.moveaxis(x, axis, -1), inverse), -1, axis)
  if kind == 3:
    x = x.copy()
    x.imag[..., [0, -1] if n % 2 == 0 else [0]] = 0
    x = _fft_line(np.concatenate([x, np.conj(x[..., (n - 1) // 2:0:-1])], -1), inverse).real
  return x


def _fft_line(x, inverse):
  """Transforms along the last dimension by their definition, whose terms with a factor of zero are zero; NumPy multiplies infinities
  by zeros, and subtracts them from each other."""
  n = x.shape[-1]
  turns = np.outer(np.arange(n), np.arange(n)) % n
  cosines, sines = np.cos(2 * np.pi * turns / n), np.sin(2 * np.pi * turns / n) * (1 if inverse else -1)
  cosines[4 * turns % (2 * n) == n] = 0
  sines[2 * turns % n == 0] = 0
  def times(a, factors):
    terms = a[..., :, None] * factors
    return np.where((factors == 0) & ~np.isnan(a[..., :, None]), 0, terms)
  with np.errstate(all='ignore'):
    re = (times(x.real, cosines) - times(x.imag, sines)).sum(-2)
    im = (times(x.real, sines) + times(x.imag, cosines)).sum(-2)
  scale = n if inverse else 1
  return _complex(re / scale, im / scale)


def _cholesky(eqn, x):
  del eqn
  out = np.full(x.shape, np.nan, x.dtype)
  for i in itertools.product(*(range(n) for n in x.shape[:-2])):
    try:
      out[i] = np.linalg.cholesky(np.tril(x[i]) + np.conj(np.tril(x[i], -1)).T)
    except np.linalg.LinAlgError:
      pass
  return out


def _triangular_solve(eqn, a, b):
  p = eqn.params
  out = np.zeros(b.shape, np.result_type(a, b))
  for i in itertools.product(*(range(n) for n in a.shape[:-2])):
    matrix = np.conj(a[i]) if p['conjugate_a'] else a[i]
    right = b[i] if p['left_side'] else b[i].T
    transposed = bool(p['transpose_a']) == bool(p['left_side'])
    try:
      x = scipy.linalg.solve_triangular(matrix, right, trans=int(transposed), lower=p['lower'],
                                        unit_diagonal=p['unit_diagonal'],
                                        check_finite=False)
    except scipy.linalg.LinAlgError:
      x = np.full(right.shape, np.nan)
    out[i] = x if p['left_side'] else x.T
  return out


def _lu(eqn, x):
  del eqn
  rows, columns = x.shape[-2:]
  out = np.array(x)
  pivots = np.zeros((*x.shape[:-2], min(rows, columns)), np.int32)
  order = np.zeros((*x.shape[:-2], rows), np.int32)
  for i in itertools.product(*(range(n) for n in x.shape[:-2])):
    order[i] = np.arange(rows)
    for k in range(pivots.shape[-1]):
      pivots[i][k] = k + np.argmax(np.abs(out[i][k:, k]))
      for a in (out[i], order[i]):
        a[[k, pivots[i][k]]] = a[[pivots[i][k], k]]
      if out[i][k, k] != 0:
        out[i][k + 1:, k] /= out[i][k, k]
      out[i][k + 1:, k + 1:] -= np.outer(out[i][k + 1:, k], out[i][k, k + 1:])
  return out, pivots, order


def _pivots_to_permutation(eqn, pivots):
  order = np.broadcast_to(np.arange(eqn.params['permutation_size'], dtype=np.int32), eqn.outvars[0].aval.shape).copy()
  for i in itertools.product(*(range(n) for n in pivots.shape[:-1])):
    for k, p in enumerate(pivots[i]):
      order[i][[k, p]] = order[i][[p, k]]
  return order


def _complex_sign(x):
  return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))


def _clz(eqn, x):
  bits = dtype_in(eqn).itemsize * 8
  return np.vectorize(lambda n: bits - int(n % 2**bits).bit_length(), otypes=[x.dtype])(x.astype(object))


def _population_count(eqn, x):
  bits = dtype_in(eqn).itemsize * 8
  return np.vectorize(lambda n: int(n % 2**bits).bit_count(), otypes=[x.dtype])(x.astype(object))


def _select_n(eqn, which, *cases):
  del eqn
  which = np.broadcast_to(which, cases[0].shape).astype(np.int64)
  return np.choose(which, cases) if cases[0].dtype != bool else np.choose(which,
                                                                          [c.astype(np.int8) for c in cases]).astype(bool)


def _reshape(eqn, x):
  order = eqn.params.get('dimensions')
  return (x if order is None else np.transpose(x, order)).reshape(eqn.params['new_sizes'])


def _unstack(eqn, x):
  return [np.take(x, i, eqn.params['axis']) for i in range(len(eqn.outvars))]


def _polynomial(eqn, x, *coefficients):
  del eqn
  out = coefficients[-1]
  for c in reversed(coefficients[:-1]):
    out = c + x * out
  return np.broadcast_to(out, np.broadcast_shapes(np.shape(x), np.shape(out)))


def _platform_index(eqn):
  # Tessera and XLA's CPU backend take the same branch in these programs, because no branch is for only one of them.
  platforms = eqn.params['platforms']
  return np.int32(next(i for i, names in enumerate(platforms) if names is None or 'cpu' in names))


def _plain(function):
  return lambda eqn, *args: function(*args)


def _not(x):
  return ~x


def _logistic(x):
  return scipy.special.expit(x) if x.dtype.kind != 'c' else 1 / (1 + np.exp(-x))


def _logaccumulate(x, axis):
  return np.logaddexp.accumulate(x, axis)


_PLAIN = {
    'add': np.add, 'sub': np.subtract, 'mul': np.multiply, 'add_any': np.add, 'max': np.maximum, 'min': np.minimum,
    'neg': np.negative,
    'abs': np.abs, 'floor': np.floor, 'ceil': np.ceil, 'is_finite': np.isfinite, 'exp': np.exp, 'exp2': np.exp2,
    'log': np.log,
    'log1p': np.log1p, 'expm1': np.expm1, 'sin': np.sin, 'cos': np.cos, 'tan': np.tan, 'tanh': np.tanh, 'sinh': np.sinh,
    'cosh': np.cosh,
    'asin': np.arcsin, 'acos': np.arccos, 'atan': np.arctan, 'asinh': np.arcsinh, 'acosh': np.arccosh,
    'atanh': np.arctanh,
    'atan2': np.arctan2, 'sqrt': np.sqrt, 'rsqrt': lambda x: 1 / np.sqrt(x), 'cbrt': np.cbrt, 'logistic': _logistic,
    'erf': scipy.special.erf, 'erfc': scipy.special.erfc, 'erf_inv': scipy.special.erfinv,
    'lgamma': scipy.special.gammaln,
    'digamma': scipy.special.psi, 'bessel_i0e': scipy.special.i0e, 'bessel_i1e': scipy.special.i1e, 'pow': lambda a,
    b: np.power(a, b),
    'igamma': scipy.special.gammainc, 'igammac': scipy.special.gammaincc, 'eq': np.equal, 'ne': np.not_equal,
    'lt': np.less,
    'le': np.less_equal, 'gt': np.greater, 'ge': np.greater_equal, 'and': np.bitwise_and, 'or': np.bitwise_or,
    'xor': np.bitwise_xor,
    'not': _not, 'real': np.real, 'imag': np.imag, 'conj': np.conj, 'complex': _complex,
    'square': np.square, 'log2': np.log2, 'one_minus_square': lambda x: 1 - x * x,
    'clamp': lambda lo, x, hi: np.minimum(np.maximum(x, lo), hi), 'copy': np.array, 'copy_p': np.array,
    'stop_gradient': np.array,
    'sign': lambda x: _complex_sign(x) if x.dtype.kind == 'c' else np.sign(x),
    'optimization_barrier': lambda *xs: xs, 'device_put': lambda *xs: xs,
    'sharding_constraint': np.array, 'reshard': np.array, 'le_to': _total(np.less_equal), 'lt_to': _total(np.less),
}

OPS = {name: _plain(f) for name, f in _PLAIN.items()} | {
    'convert_element_type': _convert, 'div': _div, 'rem': _rem, 'round': _round, 'shift_left': _shift('left'),
    'shift_right_logical': _shift('logical'), 'shift_right_arithmetic': _shift('arithmetic'),
    'bitcast_convert_type': _bits,
    'integer_pow': _integer_pow, 'reduce_sum': _reduce(np.sum, 0), 'reduce_prod': _reduce(np.prod, 1),
    'reduce_max': _extremum(np.max, -1),
    'reduce_min': _extremum(np.min, 1), 'reduce_and': _reduce(np.bitwise_and.reduce),
    'reduce_or': _reduce(np.bitwise_or.reduce),
    'reduce_xor': _reduce(np.bitwise_xor.reduce), 'argmax': _arg(np.argmax), 'argmin': _arg(np.argmin),
    'cumsum': _cumulative(lambda x, d: np.cumsum(x, d, x.dtype)),
    'cumprod': _cumulative(lambda x, d: np.cumprod(x, d, x.dtype)),
    'cummax': _cumulative(np.maximum.accumulate), 'cummin': _cumulative(np.minimum.accumulate),
    'cumlogsumexp': _cumulative(_logaccumulate),
    'broadcast_in_dim': _broadcast_in_dim, 'reshape': _reshape,
    'transpose': lambda eqn, x: np.transpose(x, eqn.params['permutation']),
    'squeeze': lambda eqn, x: np.squeeze(x, tuple(int(d) for d in eqn.params['dimensions'])),
    'expand_dims': lambda eqn, x: np.expand_dims(x, eqn.params['dimensions']),
    'concatenate': lambda eqn, *xs: np.concatenate(xs, eqn.params['dimension']), 'pad': _pad,
    'slice': lambda eqn, x: x[tuple(slice(int(a), int(b), int(s)) for a, b, s in zip(
        eqn.params['start_indices'], eqn.params['limit_indices'], eqn.params['strides'] or [1] * x.ndim))],
    'rev': lambda eqn, x: np.flip(x, eqn.params['dimensions']), 'dynamic_slice': _dynamic_slice,
    'dynamic_update_slice': _dynamic_update_slice, 'dot_general': _dot_general, 'sort': _sort, 'top_k': _top_k,
    'split': _split, 'stack': lambda eqn, *xs: np.stack(xs, eqn.params['axis']), 'unstack': _unstack,
    'polynomial': _polynomial, 'platform_index': _platform_index,
    'reduce_precision': _reduce_precision, 'nextafter': _nextafter, 'iota': _iota, 'pure_callback': _callback,
    'fft': _fft,
    'lu': _lu, 'lu_pivots_to_permutation': _pivots_to_permutation,
    'cholesky': _cholesky, 'triangular_solve': _triangular_solve, 'clz': _clz, 'population_count': _population_count,
    'select_n': _select_n, 'empty': _empty, 'empty2': _empty, 'tile': lambda eqn, x: np.tile(x, eqn.params['reps']),
    'gather': gather,
    'scatter': scatter(lambda a, b: b), 'scatter-add': scatter(np.add), 'scatter-mul': scatter(np.multiply),
    'scatter-min': scatter(np.minimum), 'scatter-max': scatter(np.maximum), 'scatter-sub': scatter(np.subtract),
    'reduce_window_max': reduce_window(np.max), 'reduce_window_min': reduce_window(np.min),
    'reduce_window_sum': reduce_window(np.sum),
    'select_and_scatter_add': select_and_scatter_add, 'select_and_gather_add': select_and_gather_add,
    'conv_general_dilated': conv,
}

SUMS = frozenset(['reduce_sum', 'polynomial', 'one_minus_square', 'cumsum', 'dot_general', 'conv_general_dilated', 'reduce_window_sum', 'scatter-add',
                  'fft', 'select_and_scatter_add', 'triangular_solve'])
