"""random.json, random.npz: keys and streams of jax.random (threefry2x32, partitionable).

"blocks": {"key", "counts", "out"}: the bare hash, threefry_2x32 of two words by a key of two words.
"seeds": a list of {"seed": decimal text, "x64", "data": [two words]}, or "error" where JAX refuses
  the seed.
"cases": a list of {"function", "key": [two words], "x64": whether 64-bit types were enabled,
  "params", "inputs": {name: array reference}, "out": array reference}. Params that are absent had
  JAX's defaults; the shape of the result is that of "out".
"long": {"function", "key", "params", "count", "sum": the wrapping 64-bit sum of the words (decimal
  text), "last": the last four}.
"""
import os

# CPUs with float16 arithmetic of their own multiply and add in one rounding; all others, and every
# CPU for bfloat16, round after each op, and so do streams that are to be the same everywhere.
os.environ['XLA_FLAGS'] = '--xla_cpu_max_isa=AVX2'

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import random as extend

import golden

golden.setup()
assert jax.config.jax_threefry_partitionable
topic = golden.Topic('random')
SEEDS = [0, 1, 7, 42, 2**32 + 5]
cases = []


def words(key):
  return [int(w) for w in np.asarray(jax.random.key_data(key)).reshape(-1)]


def case(function, seed, inputs=(), x64=False, out=None, positional=None, **params):
  """`inputs`: name -> array, passed by name. `positional`: what follows the key, {name: value}."""
  with jax.enable_x64(x64):
    key = jax.random.key(seed)
    number = len(cases)
    stored = {k: v for k, v in {**(positional or {}), **params}.items()}
    arrays = {k: jnp.asarray(v) for k, v in dict(inputs).items()}
    result = getattr(jax.random, function)(key, *(positional or {}).values(), **arrays, **params)
    if jnp.issubdtype(result.dtype, jax.dtypes.prng_key):
      result = jax.random.key_data(result)
    cases.append({
        'function': function,
        'key': words(key),
        'x64': x64,
        'params': {
            k: plain(v) for k, v in stored.items()
        },
        'inputs': {
            k: topic.array(f'{number}.{function}.{k}', v) for k, v in arrays.items()
        },
        'out': topic.array(f'{number}.{function}', result)
    })


def plain(value):
  """A param as JSON: dtypes by name, infinities as text."""
  if isinstance(value, (bool, int, str)):
    return value
  if isinstance(value, float):
    return value if np.isfinite(value) else str(value)
  if isinstance(value, tuple):
    return [plain(v) for v in value]
  return np.dtype(value).name


def blocks():
  keys = np.array([[0, 0], [0xFFFFFFFF, 0xFFFFFFFF], [0x13198A2E, 0x03707344], [1, 2]], np.uint32)
  counts = np.array([[0, 0], [0xFFFFFFFF, 0xFFFFFFFF], [0x243F6A88, 0x85A308D3], [3, 4]], np.uint32)
  return [{
      'key': k.tolist(),
      'counts': c.tolist(),
      'out': np.asarray(extend.threefry_2x32(jnp.asarray(k), jnp.asarray(c))).tolist()
  } for k, c in zip(keys, counts)]


def seeds():
  for x64 in (False, True):
    with jax.enable_x64(x64):
      for seed in SEEDS + [
          -1, 123456789, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, -2**31, -2**63
      ]:
        try:
          yield {'seed': str(seed), 'x64': x64, 'data': words(jax.random.key(seed))}
        except OverflowError as error:
          yield {'seed': str(seed), 'x64': x64, 'error': str(error)}


def keys():
  for seed in SEEDS:
    for n in (1, 2, 3, 8):
      case('split', seed, positional={'num': n})
    case('split', seed, positional={'num': (2, 3)})
    for n in (0, 1, 7, 2**31 - 1, 2**32 - 1):
      case('fold_in', seed, positional={'data': n})


SHAPES = [(), (1,), (2,), (7,), (3, 5), (0,), (2, 0)]


def streams():
  for seed in SEEDS:
    for dtype in ('uint8', 'uint16', 'uint32', 'uint64'):
      case('bits', seed, positional={'shape': (7,)}, dtype=dtype, x64=dtype == 'uint64')
    for dtype in ('float32', 'float16', 'bfloat16', 'float64'):
      case('uniform', seed, positional={'shape': (9,)}, dtype=dtype, x64=dtype == 'float64')
      case('normal', seed, positional={'shape': (9,)}, dtype=dtype, x64=dtype == 'float64')
    case('truncated_normal', seed, positional={'lower': -2.0, 'upper': 2.0}, shape=(9,))
    case('bernoulli', seed, positional={'p': 0.3}, shape=(16,))
    case('randint', seed, positional={'shape': (9,), 'minval': 0, 'maxval': 10})
    case('permutation', seed, positional={'x': 10})
    for function in ('gumbel', 'exponential', 'laplace'):
      case(function, seed, positional={'shape': (9,)})
  for shape in SHAPES:
    for dtype in ('uint8', 'uint16', 'uint32', 'uint64'):
      case('bits', 3, positional={'shape': shape}, dtype=dtype, x64=dtype == 'uint64')
    for dtype in ('float32', 'float16', 'bfloat16', 'float64'):
      case('uniform', 3, positional={'shape': shape}, dtype=dtype, x64=dtype == 'float64')
    case('normal', 3, positional={'shape': shape})
    case('bernoulli', 3, shape=shape)
    case('randint', 3, positional={'shape': shape, 'minval': -3, 'maxval': 100})
    for function in ('gumbel', 'exponential', 'laplace'):
      case(function, 3, positional={'shape': shape})


def parameters():
  for dtype in ('float32', 'float16', 'bfloat16', 'float64'):
    wide = dtype == 'float64'
    case('uniform', 11, positional={'shape': (64,)}, dtype=dtype, minval=-1.0, maxval=1.0, x64=wide)
    case('uniform',
         11,
         positional={'shape': (16,)},
         dtype=dtype,
         minval=0.5,
         maxval=100.0,
         x64=wide)
    case('normal', 11, positional={'shape': (512,)}, dtype=dtype, x64=wide)
    case('truncated_normal',
         11,
         positional={
             'lower': -1.0,
             'upper': 0.5
         },
         shape=(32,),
         dtype=dtype,
         x64=wide)
    for function in ('gumbel', 'exponential', 'laplace'):
      case(function, 11, positional={'shape': (64,)}, dtype=dtype, x64=wide)
  case('uniform',
       12,
       inputs={
           'minval': np.float32([0, 1, 2]),
           'maxval': np.float32([1, 5, 3])
       },
       positional={'shape': (4, 3)})
  case('uniform', 12, positional={'shape': (4,)}, minval=1.0, maxval=1.0)
  case('normal', 12, positional={'shape': (4096,)})
  case('normal', 12, positional={'shape': (6,)}, dtype='complex64')
  case('normal', 12, positional={'shape': (6,)}, dtype='complex128', x64=True)
  case('truncated_normal', 12, positional={'lower': 0.5, 'upper': float('inf')}, shape=(32,))
  case('truncated_normal',
       12,
       positional={
           'lower': float('-inf'),
           'upper': float('inf')
       },
       shape=(8,))
  case('truncated_normal',
       12,
       inputs={
           'lower': np.float32([-1, 0]),
           'upper': np.float32([1, 3])
       },
       shape=(3, 2))
  case('bernoulli', 12, shape=(64,))
  case('bernoulli', 12, positional={'p': 0.0}, shape=(8,))
  case('bernoulli', 12, positional={'p': 1.0}, shape=(8,))
  case('bernoulli', 12, inputs={'p': np.float32([0.1, 0.5, 0.9])})
  case('bernoulli', 12, inputs={'p': np.float32([0.1, 0.5, 0.9])}, shape=(4, 3))
  ranges = {
      'int8': [(0, 10), (-128, 127), (-5, 5)],
      'int16': [(0, 1000), (-2**15, 2**15 - 1)],
      'int32': [(0, 10), (-2**31, 2**31 - 1), (-1000000, 1000000), (5, 5), (7, 3), (0, 1),
                (0, 2**30 + 1)],
      'int64': [(0, 10), (-2**63, 2**63 - 1), (-10**12, 10**12)],
      'uint8': [(0, 10), (0, 256), (250, 255)],
      'uint16': [(0, 65536), (3, 500)],
      'uint32': [(0, 10), (0, 2**32 - 1), (2**31, 2**31 + 77)],
      'uint64': [(0, 10), (0, 2**64 - 1)]
  }
  for dtype, pairs in ranges.items():
    for low, high in pairs:
      x64 = dtype in ('int64', 'uint64')
      with jax.enable_x64(x64):
        large = low < -2**63 or high > 2**63 - 1 or (not x64 and (high > 2**31 - 1))
      if large:  # a Python int beyond the default integer is passed as an array
        wide = np.uint64 if dtype == 'uint64' else np.uint32 if dtype == 'uint32' else np.int32
        case('randint',
             13,
             inputs={
                 'minval': wide(low),
                 'maxval': wide(high)
             },
             positional={'shape': (11,)},
             dtype=dtype,
             x64=x64)
      else:
        case('randint',
             13,
             positional={
                 'shape': (11,),
                 'minval': low,
                 'maxval': high
             },
             dtype=dtype,
             x64=x64)
  case('randint',
       13,
       inputs={
           'minval': np.int32([0, 10, -5]),
           'maxval': np.int32([1, 20, 5])
       },
       positional={'shape': (4, 3)})


def shuffles():
  for n in (0, 1, 2, 3, 16, 17, 100, 1000):
    case('permutation', 14, positional={'x': n})
  grid = np.arange(24, dtype=np.float32).reshape(4, 6)
  for axis in (0, 1):
    for independent in (False, True):
      case('permutation', 14, inputs={'x': grid}, axis=axis, independent=independent)
  case('permutation', 14, inputs={'x': np.arange(9, dtype=np.int8)})
  logits = np.float32(np.random.default_rng(1).normal(size=(4, 5)))
  case('categorical', 15, inputs={'logits': logits})
  case('categorical', 15, inputs={'logits': logits}, axis=0)
  case('categorical', 15, inputs={'logits': logits[0]}, shape=(20,))
  case('categorical', 15, inputs={'logits': logits}, shape=(3, 4))
  case('categorical', 15, inputs={'logits': np.float32([-np.inf, 0, -np.inf])}, shape=(6,))
  case('gumbel', 15, positional={'shape': (1000,)})
  case('laplace', 15, positional={'shape': (1000,)})
  case('exponential', 15, positional={'shape': (1000,)})


def more():
  for function in ('rademacher', 'cauchy', 'logistic'):
    case(function, 16, positional={'shape': (33,)})
  case('choice', 16, positional={'a': 10}, shape=(12,))
  case('choice', 16, positional={'a': 10}, shape=(6,), replace=False)
  case('choice',
       16,
       inputs={
           'a': np.float32([1, 2, 4, 8]),
           'p': np.float32([0.1, 0.2, 0.3, 0.4])
       },
       shape=(10,))
  case('choice',
       16,
       inputs={
           'a': np.float32([1, 2, 4, 8]),
           'p': np.float32([0.1, 0.2, 0.3, 0.4])
       },
       shape=(3,),
       replace=False)


# Where the uniform's few bits are all drawn: every mantissa of bfloat16, most of float16's.
NARROW = 1024


def narrow():
  """What float16 and bfloat16 make of each distribution."""
  for dtype in (np.float16, jnp.bfloat16):
    name = np.dtype(dtype).name
    at = {'positional': {'shape': (NARROW,)}, 'dtype': name}
    case('uniform', 40, **at)
    case('uniform', 40, **at, minval=-3.0, maxval=0.1)
    case('uniform',
         40,
         inputs={
             'minval': np.array([-1, 0, 0.3], dtype),
             'maxval': np.array([1, 100, 0.7], dtype)
         },
         positional={'shape': (64, 3)},
         dtype=name)
    for function in ('normal', 'exponential', 'gumbel', 'laplace', 'logistic', 'cauchy'):
      case(function, 41, **at)
    for low, high in ((-2.0, 2.0), (0.5, float('inf')), (-0.1, 0.1)):
      case('truncated_normal',
           42,
           positional={
               'lower': low,
               'upper': high
           },
           shape=(256,),
           dtype=name)
    case('bernoulli', 43, inputs={'p': np.array([0, 0.1, 0.5, 0.996, 1], dtype)}, shape=(100, 5))
    case('rademacher', 43, positional={'shape': (33,)}, dtype=name)
    logits = np.random.default_rng(44).normal(size=(4, 5)).astype(dtype)
    case('categorical', 44, inputs={'logits': logits}, shape=(400, 4))
    case('categorical', 44, inputs={'logits': logits}, axis=0)
    case('categorical', 44, inputs={'logits': logits}, shape=(3, 4), replace=False)
    p = np.array([0.1, 0.3, 0.05, 0.35, 0.2], dtype)
    case('choice', 45, positional={'a': 5}, inputs={'p': p}, shape=(400,))
    case('choice', 45, positional={'a': 5}, inputs={'p': p}, shape=(3,), replace=False)
    case('permutation', 45, inputs={'x': np.arange(9).astype(dtype)})
  for dtype in ('int8', 'int16', 'uint8', 'uint16'):
    info = np.iinfo(dtype)
    bounds = {
        'minval': np.array([info.min, 0, info.max - 3, 5], 'int32'),
        'maxval': np.array([info.max + 1, info.max, info.max + 1, 5], 'int32')
    }
    case('randint', 46, inputs=bounds, positional={'shape': (64, 4)}, dtype=dtype)
    # Bounds of the dtype itself, and ones beyond it, which are clipped.
    own = {k: np.array(v[1], dtype) for k, v in bounds.items()}
    case('randint', 46, inputs=own, positional={'shape': (64,)}, dtype=dtype)
    far = {'minval': np.int32(-100000), 'maxval': np.int32(100000)}
    case('randint', 46, inputs=far, positional={'shape': (64,)}, dtype=dtype)


def long_streams():
  for dtype, count in (('uint32', 1000003), ('uint8', 100001), ('uint16', 65537)):
    key = jax.random.key(17)
    out = np.asarray(jax.random.bits(key, (count,), dtype))
    yield {
        'function': 'bits',
        'key': words(key),
        'params': {
            'dtype': dtype
        },
        'count': count,
        'sum': str(int(out.astype(np.uint64).sum())),
        'last': out[-4:].tolist()
    }
  key = jax.random.key(18)
  out = np.asarray(jax.random.uniform(key, (500009,)))
  yield {
      'function': 'uniform',
      'key': words(key),
      'params': {
          'dtype': 'float32'
      },
      'count': 500009,
      'sum': str(int(out.view(np.uint32).astype(np.uint64).sum())),
      'last': out[-4:].view(np.uint32).tolist()
  }


for group in (keys, streams, parameters, shuffles, more, narrow):
  group()
print(len(cases), 'cases')
topic.write({
    'blocks': blocks(),
    'seeds': list(seeds()),
    'cases': cases,
    'long': list(long_streams())
})
