"""reference.json, reference.npz: every function of the library's reference list against JAX, over
dtypes, options and points of derivatives. tests/numpy/reference.h has the functions of the same
names.

"sweeps": functions of one or two vectors over dtypes. {"function", "cases": [{"inputs": [names of
  "vectors"], "outputs": [[dtype, shape, weak], ...], or null where JAX refuses these}], "values": the
  bytes of all outputs behind one another, uint8}. Names of float64 are of JAX's x64 mode.
"vectors": {name: array reference}; "points": float32 ones, {point: [first, second]}.
"calls": calls with options: {"name", "inputs": [array reference], "outputs": [...], "values"}.
"gradients": {"name", "inputs", "outputs": [the dtype and shape of each gradient], "values"} of the
  calls and of the sweeps at three points (in float32: away from everything, at ties and zeros): of
  the sum of all inexact outputs, element i weighted by 1 + (i mod 5) / 4, by all float32 inputs.
"""
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

import golden

warnings.simplefilter('ignore')
golden.setup()
rng = np.random.default_rng(0)
topic = golden.Topic('reference')
inputs = {}

DTYPES = ['bool', 'int32', 'uint8', 'float16', 'bfloat16', 'float32', 'float64', 'complex64']
FLOAT = [-2.5, -1.0, -0.75, -0.0, 0.0, 0.25, 1.0, 1.5, 3.0, np.nan, np.inf, -np.inf]
OTHER = [2.0, -1.0, 0.5, 0.0, -0.0, 3.0, np.inf, -2.0, np.nan, 1.0, 1.0, 2.0]
INT = [-128, -7, -2, -1, 0, 1, 2, 3, 5, 100, 127, 4]
INT_OTHER = [2, 2, -3, 0, 5, 0, 7, 1, -2, 3, -1, 4]
COMPLEX = [-2.5, -1.0, -0.75, 0.25, 1.0, 1.5, 3.0, 0.5, -0.25, 2.0, 0.75, -1.5]
# Away from kinks and from each other; and at them.
POINTS = {
    'generic': ([-1.7, 0.45, -0.6, 1.3, 0.2, 2.6, -0.3, 0.9, -2.2, 0.7, 1.8, 0.05],
                [0.35, -0.8, 1.45, 0.6, -1.9, 2.3, 1.1, -0.15, 0.85, -2.4, 0.25, 1.6]),
    'ties': ([1, 0, 1, -1, 0, 2, -1, 2, 0, 3, -3, 1], [1, 0, 2, -1, 1, 2, 0, -2, 1, 3, 3, -1]),
    'positive': ([1.7, 0.45, 0.6, 1.3, 0.2, 2.6, 0.3, 0.9, 2.2, 0.7, 1.8, 0.05],
                 [0.35, 0.8, 1.45, 0.6, 1.9, 2.3, 1.1, 0.15, 0.85, 2.4, 0.25, 1.6]),
}


def vector(dtype, second=False):
  """Values of a dtype with its special ones; of other values for a second operand."""
  if dtype == 'bool':
    return np.array([True, False, True, True] * 3 if second else [True, True, False, False] * 3)
  if dtype.startswith('int'):
    return np.array(INT_OTHER if second else INT, dtype)
  if dtype.startswith('uint'):
    return np.abs(np.array(INT_OTHER if second else INT)).astype(dtype)
  if dtype.startswith('complex'):
    turned = COMPLEX[5:] + COMPLEX[:5] if second else COMPLEX
    return np.array([complex(v, w) for v, w in zip(turned, COMPLEX[1:] + COMPLEX[:1])], dtype)
  return np.array(OTHER if second else FLOAT).astype(golden.np_dtype(dtype))


def stored(value):
  """One copy of each distinct input."""
  value = np.asarray(value)
  key = (value.dtype.name, value.shape, value.tobytes())
  if key not in inputs:
    inputs[key] = topic.array(f'in{len(inputs)}', value)
  return inputs[key]


def described(outputs):
  return [[y.dtype.name, list(y.shape), y.aval.weak_type] for y in outputs]


def data(name, outputs):
  """The bytes of all outputs, as one array."""
  values = b''.join(np.ascontiguousarray(np.asarray(y)).tobytes() for y in outputs)
  return topic.array(name, np.frombuffer(values, np.uint8))


def listed(out):
  return [jnp.asarray(y) for y in jax.tree.leaves(out)]


def matrix(x):
  return x.reshape(3, 4)


UNARY = {
    **{
        name: getattr(jnp, name) for name in '''
    negative positive abs fabs sign square reciprocal floor ceil trunc round rint clip sqrt cbrt exp
    exp2 expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh
    arctanh sinc deg2rad rad2deg real imag conj angle nan_to_num
    logical_not bitwise_not bitwise_count isnan isinf isfinite isposinf isneginf signbit
    sum prod max min ptp any all count_nonzero mean var std argmax argmin nansum nanprod nanmean
    nanvar nanstd nanmax nanmin average median cumsum cumprod sort argsort
    zeros_like ones_like ravel flip diag atleast_1d atleast_2d
    '''.split()
    },
    **{
        name: getattr(nn, name) for name in '''
    relu relu6 leaky_relu elu celu selu gelu sigmoid silu softplus soft_sign log_sigmoid mish
    hard_tanh hard_sigmoid hard_silu softmax log_softmax standardize logsumexp glu
    '''.split()
    },
    **{
        name: getattr(jax.scipy.special, name) for name in 'erf erfc'.split()
    },
    'rsqrt': lax.rsqrt,
    'erf_inv': lambda x: jax.scipy.special.erfinv(x),
    'lgamma': lambda x: jax.scipy.special.gammaln(x),
    'digamma': lambda x: jax.scipy.special.digamma(x),
    'lax_erf': lax.erf,
    'lax_erf_inv': lax.erf_inv,
    'lax_lgamma': lax.lgamma,
    'lax_digamma': lax.digamma,
    'cummax': lax.cummax,
    'cummin': lax.cummin,
    'cumlogsumexp': lax.cumlogsumexp,
    'top_k': lambda x: lax.top_k(x, 3),
    'quantile': lambda x: jnp.quantile(x, 0.3),
    'percentile': lambda x: jnp.percentile(x, 30),
    'one_hot': lambda x: nn.one_hot(x, 4),
    'unique': lambda x: jnp.unique(x, size=8),
    'nonzero': lambda x: jnp.nonzero(x, size=5),
    'bincount': lambda x: jnp.bincount(x, length=6),
    'histogram': lambda x: jnp.histogram(x, bins=3, range=(0, 4)),
    'pad': lambda x: jnp.pad(x, 2, mode='edge'),
    'repeat': lambda x: jnp.repeat(x, 2),
    'full_like': lambda x: jnp.full_like(x, 3),
    'trace': lambda x: jnp.trace(x[:4].reshape(2, 2)),
    'einsum_sum': lambda x: jnp.einsum('i->', x),
    # shapes
    'reshape': lambda x: x.reshape(3, 4),
    'transpose': lambda x: jnp.transpose(matrix(x)),
    'swapaxes': lambda x: jnp.swapaxes(x.reshape(2, 3, 2), 0, 2),
    'moveaxis': lambda x: jnp.moveaxis(x.reshape(2, 3, 2), 2, 0),
    'expand_dims': lambda x: jnp.expand_dims(x, (0, 2)),
    'squeeze': lambda x: jnp.squeeze(x.reshape(1, 12, 1), 0),
    'split': lambda x: jnp.split(matrix(x), 2, axis=1),
    'array_split': lambda x: jnp.array_split(x, 5),
    'tile': lambda x: jnp.tile(x, (2, 2)),
    'broadcast_to': lambda x: jnp.broadcast_to(matrix(x)[:, :1], (2, 3, 4)),
    'roll': lambda x: jnp.roll(matrix(x), (1, -2), (0, 1)),
    'rot90': lambda x: jnp.rot90(matrix(x)),
    'meshgrid': lambda x: jnp.meshgrid(x, x[:3]),
    'array': lambda x: jnp.array(x),
    'empty_like': lambda x: jnp.empty_like(x),
    'full': lambda x: jnp.full((2, 12), x),
    'zeros': lambda x: jnp.zeros((2, 3), x.dtype),
    'ones': lambda x: jnp.ones((2, 3), x.dtype),
    'empty': lambda x: jnp.empty((2, 3), x.dtype),
    'arange': lambda x: jnp.arange(1, 5, dtype=x.dtype),
    'logspace': lambda x: jnp.logspace(x[4:7], 2, 3),
    'eye': lambda x: jnp.eye(3, 4, 1, dtype=x.dtype),
    'identity': lambda x: jnp.identity(3, dtype=x.dtype),
    'tri': lambda x: jnp.tri(3, 4, 1, dtype=x.dtype),
    'sum_rows': lambda x: jnp.sum(matrix(x), axis=1, keepdims=True),
    'mean_rows': lambda x: jnp.mean(matrix(x), axis=0),
    'argmax_rows': lambda x: jnp.argmax(matrix(x), axis=1),
    'argmin_rows': lambda x: jnp.argmin(matrix(x), axis=0),
    'sort_rows': lambda x: jnp.sort(matrix(x), axis=0),
    'cumsum_rows': lambda x: jnp.cumsum(matrix(x), axis=0),
    'cumprod_rows': lambda x: jnp.cumprod(matrix(x), axis=1),
    'median_rows': lambda x: jnp.median(matrix(x), axis=1),
    'softmax_rows': lambda x: nn.softmax(matrix(x), axis=0),
    'logsumexp_rows': lambda x: nn.logsumexp(matrix(x), axis=1),
    # lax and the rest
    'diagonal': lambda x: jnp.diagonal(matrix(x), 1),
    'tril': lambda x: jnp.tril(matrix(x)),
    'triu': lambda x: jnp.triu(matrix(x), 1),
    'at_set': lambda x: x.at[np.int32([1, -2])].set(2),
    'at_add': lambda x: x.at[np.int32([1, 1, 50])].add(2),
    'at_mul': lambda x: x.at[np.int32([1, 5])].mul(2),
    'at_min': lambda x: x.at[2:9].min(1),
    'at_max': lambda x: x.at[2:9].max(1),
    'at_get': lambda x: x.at[np.int32([1, -2, 50])].get(mode='fill', fill_value=0),
    'where_zero': lambda x: jnp.where(x, x, 0),
    'dynamic_slice': lambda x: lax.dynamic_slice(x, (5,), (3,)),
    'dynamic_update_slice': lambda x: lax.dynamic_update_slice(x, x[:2], (11,)),
    'dot_general': lambda x: lax.dot_general(matrix(x), matrix(x), (((1,), (1,)), ((), ()))),
    'conv_general_dilated': lambda x: lax.conv_general_dilated(
        x.reshape(1, 2, 6), x[:4].reshape(1, 2, 2), (2,), [(1, 0)]),
    'reduce_window': lambda x: lax.reduce_window(x, jnp.zeros((), x.dtype), lax.add, (3,), (2,), 'VALID'),
    'gather': lambda x: lax.gather(
        matrix(x), np.int32([[0], [2]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4)),
    'scatter': lambda x: lax.scatter(
        matrix(x), np.int32([[2], [0]]), matrix(x)[:2], lax.ScatterDimensionNumbers((1,), (0,), (0,))),
    'stop_gradient': lax.stop_gradient,
    'convert_element_type': lambda x: lax.convert_element_type(x, jnp.float32),
    'bitcast_convert_type': lambda x: lax.bitcast_convert_type(x, x.dtype),
    'select_n': lambda x: lax.select_n(np.arange(12) % 2 == 0, x, x[::-1]),
    'iota': lambda x: lax.iota(x.dtype, 5),
}
BINARY = {
    **{
        name: getattr(jnp, name) for name in '''
    add subtract multiply divide floor_divide remainder fmod power float_power maximum minimum fmax
    fmin copysign nextafter heaviside mod arctan2 hypot logaddexp logaddexp2
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    bitwise_and bitwise_or bitwise_xor left_shift right_shift isclose allclose array_equal
    dot vdot inner outer matmul kron vecdot
    '''.split()
    },
    'searchsorted': lambda x, y: jnp.searchsorted(jnp.sort(x), y),
    'digitize': lambda x, y: jnp.digitize(x, jnp.sort(y)),
    'where': lambda x, y: jnp.where(x > y, x, y),
    'take': lambda x, y: jnp.take(x, y),
    'concatenate': lambda x, y: jnp.concatenate([x, y]),
    'linspace': lambda x, y: jnp.linspace(x, y, 3),
    'stack': lambda x, y: jnp.stack([x, y], axis=1),
    'hstack': lambda x, y: jnp.hstack([x, y]),
    'vstack': lambda x, y: jnp.vstack([x, y]),
    'tensordot': lambda x, y: jnp.tensordot(matrix(x), matrix(y), ((1,), (1,))),
    'einsum': lambda x, y: jnp.einsum('ij,kj->ki', matrix(x), matrix(y)),
    'matmul_rows': lambda x, y: jnp.matmul(matrix(x), matrix(y).T),
    'take_along_axis': lambda x, y: jnp.take_along_axis(x, y, axis=0),
    'select': lambda x, y: jnp.select([x > y, x < y], [x, y], 5),
    'clip_both': lambda x, y: jnp.clip(x, y, 2),
    'dot_product_attention': lambda x, y: nn.dot_product_attention(
        x.reshape(1, 3, 2, 2), y.reshape(1, 3, 2, 2), x.reshape(1, 3, 2, 2)),
    'average_weights': lambda x, y: jnp.average(x, weights=y),
}
MIXED = [('bool', 'int32'), ('int32', 'float32'), ('uint8', 'int32'), ('float16', 'bfloat16'),
         ('float32', 'complex64'), ('int32', 'float16'), ('bfloat16', 'float32'),
         ('float32', 'int32')]


def outputs_of(function, arrays):
  # What JAX raises where it refuses a dtype is of many classes.
  try:
    return listed(function(*(jnp.asarray(x) for x in arrays)))
  except Exception:
    return None


def sweeps(vectors):
  for functions, tuples in ((UNARY, [(d,) for d in DTYPES]), (BINARY,
                                                              [(d, d) for d in DTYPES] + MIXED)):
    for name, function in functions.items():
      cases, values = [], []
      for dtypes in tuples:
        names = [d + (' second' if i == 1 else '') for i, d in enumerate(dtypes)]
        arrays = [vector(d, second=i == 1) for i, d in enumerate(dtypes)]
        with jax.enable_x64('float64' in dtypes):
          out = outputs_of(function, arrays)
          for n, a in zip(names, arrays):
            vectors[n] = stored(a)
          cases.append({'inputs': names, 'outputs': None if out is None else described(out)})
          values += out or []
      yield {'function': name, 'cases': cases, 'values': data(f's.{name}', values)}


A = np.float32(rng.normal(size=(3, 4)))
K = np.float32(rng.normal(size=(2, 3, 4)))
M = np.array([[True, False, True, True], [False, False, True, True], [True, True, True, False]])
N = np.float32([[1, np.nan, 3, 0], [np.nan, np.nan, np.nan, 2], [-1, 2, 0, 5]])
I = np.int32([[7, -7, 6, -6], [0, 3, -1, 100]])
V = np.float32([3, 1, 2, 2, -1, 5])
E = np.float32([-1, 0, 0.5, 2, 4])
W = np.int32([2, -1, 9, 0, -9])
C = np.complex64([[1 + 2j, -1j], [3, 2 - 1j]])
# Of one real part; and with NaN in either part.
Y = np.complex64([1 + 1j, 1 + 3j, 0, 1 + 2j, 4, -9j, 4 - 1j, 4 - 3j, 4 + 2j])
Z = np.complex64([1 + 1j, 1 + 3j, 0, 1 + 2j, complex(np.nan, 1), 4, complex(1, np.nan), -9j, 4 - 1j])
METHODS = ['linear', 'lower', 'higher', 'midpoint', 'nearest', 'inverted_cdf']

CALLS = {
    # reductions with all of their options
    'sum_dtype': (lambda x: jnp.sum(x, axis=0, dtype=jnp.float16), A),
    'sum_initial': (lambda x: jnp.sum(x, initial=3, keepdims=True), I),
    'sum_where': (lambda x, m: jnp.sum(x, axis=(0, 1), where=m, keepdims=True), A, M),
    'prod_all': (lambda x, m: jnp.prod(x, axis=1, where=m, initial=2, keepdims=True), A, M),
    'mean_dtype': (lambda x: jnp.mean(x, axis=0, dtype=jnp.float16), I),
    'mean_where': (lambda x, m: jnp.mean(x, axis=-1, where=m, keepdims=True), A, M),
    'var_where': (lambda x, m: jnp.var(x, axis=0, ddof=1, where=m), A, M),
    'std_keepdims': (lambda x: jnp.std(x, axis=(0, 2), ddof=2, keepdims=True), K),
    'max_where': (lambda x, m: jnp.max(x, axis=0, where=m, initial=-1), A, M),
    'min_initial': (lambda x: jnp.min(x, axis=0, initial=-3, keepdims=True), I),
    'any_where': (lambda x, m: jnp.any(x, axis=0, where=m), I[:, :3], M[:2, :3]),
    'all_where': (lambda x, m: jnp.all(x, axis=1, where=m, keepdims=True), I[:, :3], M[:2, :3]),
    'argmin_keepdims': (lambda x: jnp.argmin(x, keepdims=True), A),
    'count_nonzero_axes': (lambda x: jnp.count_nonzero(x, axis=(0, 2), keepdims=True), K),
    'ptp_keepdims': (lambda x: jnp.ptp(x, keepdims=True), A),
    'nansum_options': (lambda x: jnp.nansum(x, axis=0, keepdims=True, initial=2), N),
    'nanmean_options': (lambda x: jnp.nanmean(x, axis=1, keepdims=True), N),
    'logsumexp_b': (lambda x, b: nn.logsumexp(x, axis=0, b=b), A, np.abs(A) + np.float32(0.5)),
    'logsumexp_where': (lambda x, m: nn.logsumexp(x, axis=1, where=m, keepdims=True), A, M),
    'logsumexp_negative': (lambda x, b: nn.logsumexp(x, axis=1, b=b), A, -np.abs(A)),
    'median_axes': (lambda x: jnp.median(x, axis=(0, 2), keepdims=True), K),
    **{
        f'quantile_{m}': (lambda x, q, m=m: jnp.quantile(x, q, axis=(0, 1), method=m), K,
                          np.float32([0, 0.1, 0.5, 0.77, 1])) for m in METHODS
    },
    **{
        f'percentile_{m}':
        (lambda x, m=m: jnp.percentile(x, 40, axis=-1, keepdims=True, method=m), A) for m in METHODS
    },
    'quantile_int': (lambda x: jnp.quantile(x, 0.25, axis=1), I),
    'cumsum_dtype': (lambda x: jnp.cumsum(x, axis=1, dtype=jnp.float32), I),
    'cumprod_axis': (lambda x: jnp.cumprod(x, axis=-1), A),
    'cummax_reverse': (lambda x: lax.cummax(x, axis=1, reverse=True), A),
    'cummin_reverse': (lambda x: lax.cummin(x, axis=0, reverse=True), I),
    'cumlogsumexp_reverse': (lambda x: lax.cumlogsumexp(x, axis=1, reverse=True), A),
    'cummax_complex': (lax.cummax, Y),
    'cummin_complex': (lambda x: lax.cummin(x, reverse=True), Y),
    'cumlogsumexp_complex': (lax.cumlogsumexp, np.complex64([1 + 3j, 2 + 9j, -1 - 3j, -np.inf, 2 - 4j])),
    'logaddexp_complex': (jnp.logaddexp, np.complex64([1 + 3j, -np.inf, 100 + 2j, 2j, 5 - 40j]),
                          np.complex64([1.5 - 3j, 1 + 2j, -100j, -np.inf, 5 + 3j])),
    # sorting, searching, counting
    'sort_descending': (lambda x: jnp.sort(x, axis=0, descending=True), N),
    'sort_descending_ties': (lambda x: jnp.sort(x, descending=True), V),
    'sort_flat': (lambda x: jnp.sort(x, axis=None), N),
    'sort_complex': (jnp.sort, C),
    'argsort_descending': (lambda x: jnp.argsort(x, descending=True), V),
    'argsort_axis': (lambda x: jnp.argsort(x, axis=0), N),
    'top_k_axis': (lambda x: lax.top_k(x, 2, axis=0), A),
    'searchsorted_right': (lambda x, v: jnp.searchsorted(x, v, side='right'), E, N),
    'searchsorted_sorter': (lambda x, v: jnp.searchsorted(x, v, sorter=jnp.argsort(x)), V, E),
    'searchsorted_long': (lambda x, v: jnp.searchsorted(x, v), np.float32(np.arange(500) // 3), E),
    **{
        f'searchsorted_{m}': (lambda x, v, m=m: jnp.searchsorted(x, v, side='right', method=m), E, N)
        for m in ('scan', 'scan_unrolled', 'sort', 'compare_all')
    },
    'searchsorted_nan': (lambda x, v: jnp.searchsorted(x, v), np.float32([1, 2, np.nan, np.nan]),
                         np.float32([np.nan, 0, np.inf])),
    'digitize_descending': (lambda x, b: jnp.digitize(x, b), E, np.float32([3, 2, 1])),
    'digitize_descending_right': (lambda x, b: jnp.digitize(x, b, right=True), E,
                                  np.float32([4, 2, 0])),
    'bincount_minlength': (lambda x: jnp.bincount(x, minlength=7, length=7), np.int32([1, 1, 5])),
    'bincount_negative': (lambda x: jnp.bincount(x, length=4), W),
    'bincount_weights': (lambda x, w: jnp.bincount(x, w, length=4), np.int32([0, 3, 3, 9]),
                         np.float32([1, 2, 3, 4])),
    'histogram_edges': (lambda x, b: jnp.histogram(x, bins=b), V, np.float32([-1, 0, 2, 5])),
    'histogram_density': (lambda x: jnp.histogram(x, bins=4, density=True), V),
    'histogram_weights': (lambda x, w: jnp.histogram(x, bins=3, weights=w), V, V * V),
    'histogram_int': (lambda x: jnp.histogram(x, bins=5), I),
    'histogram_range': (lambda x: jnp.histogram(x, bins=2, range=(0, 3)), V),
    'nonzero_fill': (lambda x: jnp.nonzero(x, size=8, fill_value=-7), I),
    'unique_fill': (lambda x: jnp.unique(x, size=8, fill_value=9), V),
    'unique_all': (lambda x: jnp.unique(
        x, size=7, return_index=True, return_inverse=True, return_counts=True), V),
    'unique_axis': (lambda x: jnp.unique(x, axis=0, size=3), np.int32([[1, 2], [0, 5], [1, 2]])),
    'unique_nan': (lambda x: jnp.unique(x, size=6), N),
    # indexing
    'take_fill': (lambda x, i: jnp.take(x, i, axis=1, mode='fill', fill_value=7), A, W),
    'take_clip': (lambda x, i: jnp.take(x, i, axis=0, mode='clip'), A, W),
    'take_wrap': (lambda x, i: jnp.take(x, i, axis=0, mode='wrap'), A, W),
    'take_flat': (jnp.take, A, np.int32([[0, 11], [-1, 12]])),
    'take_int': (lambda x, i: jnp.take(x, i, axis=1), I, W),
    'take_bool': (lambda x, i: jnp.take(x, i, axis=1), M, W),
    'take_uint8': (lambda x, i: jnp.take(x, i), np.uint8([1, 2, 3]), W),
    'take_scalar': (lambda x: jnp.take(x, 2, axis=1), A),
    'take_along_axis': (lambda x, i: jnp.take_along_axis(x, i, axis=1), A,
                        np.int32([[0, 3], [-1, 9], [1, -9]])),
    'take_along_axis_flat': (lambda x, i: jnp.take_along_axis(x, i, axis=None), A, W),
    'take_along_axis_fill': (lambda x, i: jnp.take_along_axis(
        x, i, axis=1, mode='fill', fill_value=-5), A, np.int32([[0, 3], [-1, 9], [1, -9]])),
    'at_set': (lambda x, i: x.at[i].set(9), V, W),
    'at_add': (lambda x, i: x.at[:, i].add(2.5), A, W),
    'at_mul': (lambda x, i: x.at[i].mul(3), V, W),
    'at_divide': (lambda x, i: x.at[i].divide(4), V, W),
    'at_power': (lambda x, i: x.at[i].power(2), V, W),
    'at_min': (lambda x, i: x.at[i, i].min(-9), A, np.int32([0, 2])),
    'at_max': (lambda x, i: x.at[..., i].max(2), A, W),
    'at_min_complex': (lambda x, i, y: x.at[i].min(y), Z, W, Z[2:7]),
    'at_max_complex': (lambda x, i, y: x.at[i].max(y), Z, np.int32([0, 0, 1, 5, 6]), Z[1:6]),
    'at_get': (lambda x, i: x.at[i].get(), V, W),
    'at_get_fill': (lambda x, i: x.at[i].get(mode='fill', fill_value=-1), V, W),
    'at_set_clip': (lambda x, i: x.at[i].set(9, mode='clip'), V, W),
    'at_add_promised': (lambda x, i: x.at[i].add(9, mode='promise_in_bounds'), V, np.int32([1, 1, -1])),
    'at_set_int': (lambda x: x.at[1].set(2.9), I),
    'at_mask': (lambda x, m: x.at[m].set(-1), A, M),
    # shapes
    'repeat_each': (lambda x: jnp.repeat(x, np.array([1, 0, 2]), axis=0), A),
    'repeat_total': (lambda x, r: jnp.repeat(x, r, axis=0, total_repeat_length=7), A,
                     np.int32([3, 1, 2])),
    'repeat_total_less': (lambda x, r: jnp.repeat(x, r, total_repeat_length=4), V,
                          np.int32([2, 0, 1, 1, 3, 1])),
    'roll_traced': (lambda x, s: jnp.roll(x, s, axis=1), A, np.int32(-3)),
    'roll_traced_flat': (lambda x, s: jnp.roll(x, s), A, np.int32(5)),
    'pad_maximum': (lambda x: jnp.pad(x, ((1, 2), (2, 1)), mode='maximum'), A),
    'pad_minimum': (lambda x: jnp.pad(x, ((1, 0), (0, 3)), mode='minimum'), I),
    'pad_mean': (lambda x: jnp.pad(x, 2, mode='mean'), A),
    'pad_mean_int': (lambda x: jnp.pad(x, 1, mode='mean'), I),
    'pad_median': (lambda x: jnp.pad(x, ((1, 1), (2, 2)), mode='median'), A),
    'pad_linear_ramp': (lambda x: jnp.pad(x, ((2, 3), (1, 2)), mode='linear_ramp', end_values=5), A),
    'pad_linear_ramp_int': (lambda x: jnp.pad(x, 3, mode='linear_ramp'), I),
    'pad_empty': (lambda x: jnp.pad(x, 1, mode='empty'), A),
    'pad_values': (lambda x: jnp.pad(x, 1, constant_values=((1, 2), (3, 4))), A),
    'squeeze_all': (lambda x: jnp.squeeze(x[:1, None]), A),
    'split_empty': (lambda x: tuple(jnp.split(x, [0, 2, 2, 4], axis=1)), A),
    'moveaxis_one': (lambda x: jnp.moveaxis(x, 0, -1), K),
    'atleast_2d': (jnp.atleast_2d, V),
    'broadcast_int': (lambda x: jnp.broadcast_to(x, (2, 2, 4)), I),
    # creation
    'arange_uint8': (lambda: jnp.arange(3, 9, 2, dtype=jnp.uint8),),
    'arange_float16': (lambda: jnp.arange(0, 1, 0.25, dtype=jnp.float16),),
    'linspace_none': (lambda: jnp.linspace(0, 1, 0),),
    # No whole numbers within: JAX floors what rounding makes of them, which differs with its fusion.
    'linspace_down': (lambda: jnp.linspace(5, -6, 8, dtype=jnp.int8),),
    'logspace_base': (lambda: jnp.logspace(0, 4, 5, base=2, endpoint=False),),
    'eye_int': (lambda: jnp.eye(2, 4, -1, dtype=jnp.int32),),
    'tri_square': (lambda: jnp.tri(3, dtype=bool),),
    'full_array': (lambda x: jnp.full((2, 4), x), np.float16([1, 2, 3, 4])),
    'full_like_shape': (lambda x: jnp.full_like(x, 2.5, shape=(2,)), I),
    'zeros_like_dtype': (lambda x: jnp.zeros_like(x, dtype=jnp.int8, shape=(3,)), A),
    # nn
    'softmax_where': (lambda x, m: nn.softmax(x, axis=1, where=m), A, M),
    'log_softmax_where': (lambda x, m: nn.log_softmax(x, axis=1, where=m), A, M),
    'softmax_inf': (nn.softmax, np.float32([[-np.inf, 0, 1], [-np.inf] * 3, [np.inf, 0, 1]])),
    'standardize_all': (lambda x: nn.standardize(x, axis=None, epsilon=0.5), A),
    'standardize_moments': (lambda x, m, v: nn.standardize(x, mean=m, variance=v), A,
                            A[:, :1], np.abs(A[:, :1])),
    'standardize_where': (lambda x, m: nn.standardize(x, axis=1, where=m), A, M),
    'one_hot_float': (lambda x: nn.one_hot(x, 3, axis=0), np.uint8([[0, 2], [7, 1]])),
    'leaky_relu_slope': (lambda x: nn.leaky_relu(x, 0.3), I),
    'nan_to_num_copy': (lambda x: jnp.nan_to_num(x, nan=7), N),
    'clip_arrays': (lambda x, y: jnp.clip(x, y, 2 * y), I, np.float32([1, 2, 3, 4])),
    'round_half': (lambda x: jnp.round(x, 1), np.float16([0.25, 0.35, -1.05, np.inf])),
    # linear
    'einsum_preferred': (lambda x, y: jnp.einsum(
        'ij,kj->ik', x, y, preferred_element_type=jnp.float32), np.int8(I), np.int8(I)),
    'einsum_bool': (lambda x, y: jnp.einsum('ij,kj->ik', x, y), M, ~M),
    'dot_bool_preferred': (lambda x, y: lax.dot_general(
        x, y, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32), M, M[:2]),
    'matmul_preferred': (lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.float32),
                         np.float16(A), np.float16(A.T)),
    'trace_dtype': (lambda x: jnp.trace(x, offset=-1, dtype=jnp.float32), I),
    'tensordot_0': (lambda x, y: jnp.tensordot(x, y, axes=0), A, V),
    'diagonal_batch': (lambda x: jnp.diagonal(x, 1, -2, -1), K),
    'tril_bool': (lambda x: jnp.tril(x, -1), M),
    # lax
    'select_n_bool': (lambda m, x, y: lax.select_n(m, x, y), M, A, -A),
    'select_n_scalar': (lambda x, y: lax.select_n(jnp.array(True), x, y), A, -A),
    'select_n_int': (lambda i, x: lax.select_n(i, x, x + 1, x + 2, x * 10, x * 20),
                     np.int32([[-3, 0, 1, 2], [3, 4, 5, 100], [1, 1, 0, 4]]), A),
    'select_n_one': (lambda i, x: lax.select_n(i, x), np.int32(4), A),
    'bitcast_wider': (lambda x: lax.bitcast_convert_type(x, jnp.uint8), A),
    'bitcast_narrow': (lambda x: lax.bitcast_convert_type(x, jnp.int32), np.int16([[1, 2], [3, -4]])),
    'convert_saturate': (lambda x: lax.convert_element_type(x, jnp.int8), np.float32(
        [1.9, -1.9, 300, -300, np.nan, np.inf])),
    'dynamic_slice': (lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)), A, np.int32(2)),
    'dynamic_update_slice': (lambda x, y, i: lax.dynamic_update_slice(x, y, (0, i)), A, K[0, :2, :2],
                             np.int32(3)),
    'reduce_window': (lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 2), 'SAME'), A),
    'iota': (lambda: lax.broadcasted_iota(jnp.int16, (2, 3), 1),),
}


def calls():
  for name, (function, *arrays) in CALLS.items():
    out = listed(function(*(jnp.asarray(x) for x in arrays)))
    yield {
        'name': name,
        'inputs': [stored(x) for x in arrays],
        'outputs': described(out),
        'values': data(f'c.{name}', out)
    }


def gradient(function, arrays):
  by = [i for i, x in enumerate(arrays) if x.dtype == np.float32]

  def loss(*differentiated):
    xs = [jnp.asarray(x) for x in arrays]
    for i, x in zip(by, differentiated):
      xs[i] = x
    total = np.float32(0)
    for y in listed(function(*xs)):
      if jnp.issubdtype(y.dtype, jnp.inexact):
        weights = (1 + np.arange(y.size) % 5 / 4).reshape(y.shape).astype(np.float32)
        total += jnp.sum(jnp.real(y).astype(np.float32) * weights)
    return total

  # Not every function has a derivative, and JAX says so by errors of many classes.
  try:
    return listed(jax.jit(jax.grad(loss, range(len(by))))(*(arrays[i] for i in by))) if by else None
  except Exception:
    return None


def gradients():
  points = {p: [np.float32(x) for x in xs] for p, xs in POINTS.items()}
  programs = [(f'{name} {p}', name, function, xs[:1 + (functions is BINARY)])
              for functions in (UNARY, BINARY) for name, function in functions.items()
              for p, xs in points.items()]
  programs += [(f'{name} call', name, function, arrays) for name, (function, *arrays) in CALLS.items()]
  for label, name, function, arrays in programs:
    arrays = [np.asarray(x) for x in arrays]
    out = gradient(function, arrays)
    if out is not None:
      yield {
          'name': name,
          'point': label.split()[-1],
          'inputs': [stored(x) for x in arrays],
          'outputs': described(out),
          'values': data(f'g.{label}', out)
      }


vectors = {}
topic.write({
    'sweeps': list(sweeps(vectors)),
    'vectors': vectors,
    'points': {p: [stored(np.float32(x)) for x in xs] for p, xs in POINTS.items()},
    'calls': list(calls()),
    'gradients': list(gradients())
})
