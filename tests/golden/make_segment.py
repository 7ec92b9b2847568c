"""segment.json, segment.npz: jax.ops.segment_*, lexsort and the functions that skip NaNs.

"segments": a list of {"name", "dtype", "x", "ids", "num_segments", "options", "out", "grad": the
gradient of sum(out * weights) by x, or null}, "lexsort": {"keys", "axis", "out"}, "nan": {"name",
"x", "q" or null, "axis" or null, "keepdims", "method" or null, "out", "grad" or null}. References
where there are arrays. "weights" are cos(0), cos(1), ... of the result's shape.
"""
import jax
import jax.numpy as jnp
import numpy as np

import golden

golden.setup(x64=True)
topic = golden.Topic('segment')
rng = np.random.default_rng(3)
count = 0


def array(value):
  global count
  count += 1
  return topic.array(str(count), value)


def weighted(out):
  return jnp.sum(out * jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape))


def values(dtype, shape):
  kind = golden.np_dtype(dtype).kind
  if kind == 'b':
    return rng.uniform(size=shape) < 0.5
  if kind in 'iu':
    return rng.integers(0 if kind == 'u' else -9, 10, size=shape).astype(dtype)
  if kind == 'c':
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
  return np.round(rng.normal(size=shape) * 4, 1).astype(golden.np_dtype(dtype))


FUNCTIONS = {
    'segment_sum': jax.ops.segment_sum,
    'segment_prod': jax.ops.segment_prod,
    'segment_max': jax.ops.segment_max,
    'segment_min': jax.ops.segment_min,
}


def segments():
  ids = np.int32([0, 2, 0, 5, -1, 2, 3])

  def case(name, x, ids, n, **options):
    f = lambda v: FUNCTIONS[name](v, ids, n, **options)
    out = f(x)
    differentiable = out.shape[0] > 0 and x.dtype in (np.float32, np.float64) and (name != 'segment_prod' or
                                                             options.get('unique_indices'))
    return {
        'name': name,
        'dtype': jnp.asarray(x).dtype.name,
        'x': array(x),
        'ids': array(ids),
        'num_segments': n,
        'options': options,
        'out': array(out),
        'grad': array(jax.grad(lambda v: weighted(f(v)))(x)) if differentiable else None
    }

  for name in FUNCTIONS:
    for dtype in golden.DTYPES:
      if name in ('segment_max', 'segment_min') and dtype.startswith('complex'):
        continue
      if name in ('segment_sum', 'segment_prod') and dtype == 'bool':
        continue  # refused
      yield case(name, values(dtype, (7, 2)), ids, 5)
    x = values('float32', (7,))
    yield case(name, x, ids.astype(np.uint8), 4)
    yield case(name, x, np.sort(np.abs(ids)), None, indices_are_sorted=True)
    yield case(name, x, np.int64([3, 1, 0, 6, 2, 5, 9]), 7, unique_indices=True)
    yield case(name, x, ids, 3, mode='clip')
    yield case(name, values('float64', (7, 2, 3)), ids, 5, bucket_size=3)
    yield case(name, values('int8', (7,)), ids, 5, bucket_size=2)
    if name in ('segment_max', 'segment_min'):
      yield case(name, values('bool', (7,)), ids, 5, bucket_size=2)
    yield case(name, values('float32', (0, 2)), np.zeros(0, np.int32), 2)
    yield case(name, values('float32', (7, 0)), ids, 2)
    yield case(name, x, ids, 0)
    yield case(name, np.float32([1, np.nan, 2, 3, 0, -0.0, np.inf]), ids, 4)


def lexsorts():
  a, b, c = (rng.integers(0, 3, size=(4, 6)) for _ in range(3))
  x = np.where(a == 1, np.nan, a - 1.0)
  for keys, axis in (((a[0],), -1), ((a[0], b[0]), -1), ((a, b, c), -1), ((a, b), 0),
                     ((b, np.float32(x)), 1), ((x, b.astype(bool)), -1)):
    yield {'keys': [array(k) for k in keys], 'axis': axis, 'out': array(jnp.lexsort(keys, axis))}


def nans():
  x = np.round(rng.normal(size=(4, 5)), 2)
  x[rng.uniform(size=x.shape) < 0.4] = np.nan
  x[2] = np.nan
  x[0, 1], x[1, 3] = np.inf, -np.inf
  plain = np.round(rng.normal(size=(3, 4, 2)), 2)
  plain[1, 2, 0] = plain[0, 0, 1] = np.nan
  integers = rng.integers(-9, 9, size=(3, 4))
  q = np.array([0.0, 0.3, 0.75, 1.0])

  def case(name, x, q=None, grad=False, **options):
    f = getattr(jnp, name)
    call = lambda v: f(v, **options) if q is None else f(v, q, **options)
    out = call(x)
    return {
        'name': name,
        'x': array(x),
        'q': None if q is None else array(q),
        'axis': options.get('axis'),
        'keepdims': options.get('keepdims', False),
        'method': options.get('method'),
        'out': array(out),
        'grad': array(jax.grad(lambda v: weighted(call(v)))(x)) if grad else None
    }

  for name in ('nanargmax', 'nanargmin'):
    for v in (x, np.float32(x), integers, plain):
      yield case(name, v)
      yield case(name, v, axis=1)
      yield case(name, v, axis=-1, keepdims=True)
    yield case(name, x, keepdims=True)
  for name in ('nancumsum', 'nancumprod'):
    for v in (x, np.float32(x), integers):
      yield case(name, v)
      yield case(name, v, axis=1)
    yield case(name, plain, axis=1, grad=True)
  for method in ('linear', 'lower', 'higher', 'midpoint', 'nearest', 'inverted_cdf'):
    yield case('nanquantile', x, q, axis=1, method=method)
    yield case('nanquantile', plain, 0.4, axis=(0, 2), method=method)
    yield case('nanquantile', plain, q, keepdims=True, method=method)
  for name, quantile in (('nanquantile', np.float64(0.3)), ('nanpercentile', np.float64(30)),
                         ('nanpercentile', 100 * q), ('nanmedian', None)):
    for v in (x, np.float32(x), integers, np.float16(x)):
      yield case(name, v, quantile, axis=1)
      yield case(name, v, quantile)
    yield case(name, plain, quantile, axis=1, grad=True)
    yield case(name, plain, quantile, axis=(0, 1), keepdims=True, grad=True)


topic.write({'segments': list(segments()), 'lexsort': list(lexsorts()), 'nan': list(nans())})
