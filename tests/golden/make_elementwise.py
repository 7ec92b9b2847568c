"""elementwise.json, elementwise.npz: elementwise functions, under their StableHLO names where they
have one.

"unary": {"inputs": {dtype: reference}, "functions": name -> dtype -> {"reference", "jax"}}, for
  float32 and float64. "reference" is the exact result rounded to float64 (mpmath), so it is good
  for errors in ulps of float32, and for 1 ulp in float64; "jax" is JAX's result (float32 only), for
  what a special value gives. JAX on a CPU flushes subnormals to zero, going in and coming out:
  there "jax" is not the mark.
"binary": the same for functions of ("lhs", "rhs"), float32. "compare": name -> the booleans for the
  same inputs.
"integer": dtype -> {"lhs", "rhs", "binary": name -> result, "unary": name -> result on "lhs",
  "shift": {"value", "amount", name -> result}}. All by JAX; shifts beyond the width and division by
  zero are among them.
"convert": a list of {"from", "to", "input", "output"}; out-of-range floats saturate and NaN is 0,
  as XLA does.
"bitcast": a list of {"from", "to", "input", "output"}.
"complex": dtype -> {"lhs", "rhs", "unary": name -> {"reference" (complex128), "jax"}, "binary":
  name -> the same}.
"ternary": a list of {"name", "inputs", "output"}: clamp and select.
"""
import math
import warnings

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import scipy.special as special
from jax import lax
from mpmath import mp

import golden

golden.setup(x64=True)
warnings.simplefilter('ignore', RuntimeWarning)  # numpy's, on the special values
warnings.simplefilter('ignore', np.exceptions.ComplexWarning)
topic = golden.Topic('elementwise')
rng = np.random.default_rng(0)
INF, NAN = math.inf, math.nan


def logistic(x):
  return 1 / (1 + mp.exp(-x))


def log_gamma(x):
  if x > 0:
    return mp.loggamma(x)
  return mp.log(mp.pi / abs(mp.sinpi(x))) - mp.loggamma(1 - x)


def round_afz(x):
  whole = np.trunc(x)
  return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)


# name: (JAX's function, the exact one for finite x != 0, numpy's for the others, the |x| beyond
# which numpy's is exact too)
UNARY = {
    'abs': (lax.abs, None, np.abs, 0),
    'negate': (lax.neg, None, np.negative, 0),
    'sign': (lax.sign, None, np.sign, 0),
    'floor': (lax.floor, None, np.floor, 0),
    'ceil': (lax.ceil, None, np.ceil, 0),
    'round_nearest_even':
        (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), None, np.rint, 0),
    'round_nearest_afz':
        (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), None, round_afz, 0),
    'is_finite': (lax.is_finite, None, np.isfinite, 0),
    'sqrt': (lax.sqrt, mp.sqrt, np.sqrt, INF),
    'rsqrt': (lax.rsqrt, lambda x: 1 / mp.sqrt(x), lambda x: 1 / np.sqrt(x), INF),
    'cbrt': (lax.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), np.cbrt, INF),
    'exponential': (lax.exp, mp.exp, np.exp, 800),
    'exponential_minus_one': (lax.expm1, mp.expm1, np.expm1, 800),
    'exp2': (lax.exp2, lambda x: mp.power(2, x), np.exp2, 1100),
    'log': (lax.log, mp.log, np.log, INF),
    'log_plus_one': (lax.log1p, mp.log1p, np.log1p, INF),
    'log2': (jnp.log2, lambda x: mp.log(x, 2), np.log2, INF),
    'log10': (jnp.log10, mp.log10, np.log10, INF),
    'sine': (lax.sin, mp.sin, np.sin, INF),
    'cosine': (lax.cos, mp.cos, np.cos, INF),
    'tan': (lax.tan, mp.tan, np.tan, INF),
    'asin': (lax.asin, mp.asin, np.arcsin, INF),
    'acos': (lax.acos, mp.acos, np.arccos, INF),
    'atan': (lax.atan, mp.atan, np.arctan, INF),
    'sinh': (lax.sinh, mp.sinh, np.sinh, 800),
    'cosh': (lax.cosh, mp.cosh, np.cosh, 800),
    'tanh': (lax.tanh, mp.tanh, np.tanh, 800),
    'asinh': (lax.asinh, mp.asinh, np.arcsinh, INF),
    'acosh': (lax.acosh, mp.acosh, np.arccosh, INF),
    'atanh': (lax.atanh, mp.atanh, np.arctanh, INF),
    'logistic': (lax.logistic, logistic, special.expit, 800),
    'erf': (lax.erf, mp.erf, special.erf, 800),
    'erfc': (lax.erfc, mp.erfc, special.erfc, 800),
    'erf_inv': (lax.erf_inv, lambda x: mp.erfinv(x)
                if abs(x) < 1 else mp.nan, lambda x: np.where(x == 0, x, special.erfinv(x)), 1),
    'lgamma':
        (lax.lgamma, log_gamma, lambda x: np.where(np.isinf(x), INF, special.gammaln(x)), INF),
    'digamma': (lax.digamma, lambda x: mp.digamma(x), special.digamma, INF),
}


def real(value):
  """An mpmath result as float64; complex where the real function has no value, hence NaN."""
  if isinstance(value, mpmath.mpc):
    return float(value.real) if value.imag == 0 else NAN
  return float(value)


def exact_unary(name, values):
  _, function, fallback, limit = UNARY[name]
  out = np.asarray(fallback(values.astype(np.float64)),
                   bool if name == 'is_finite' else np.float64).copy()
  if function:
    for i, x in enumerate(values.astype(np.float64)):
      if math.isfinite(x) and x != 0 and abs(x) < limit:
        try:
          out[i] = real(function(mp.mpf(float(x))))
        except (ValueError, ZeroDivisionError):  # a pole: numpy says what it is
          pass
  return out


def float32_inputs():
  f = np.float32
  info = np.finfo(f)
  ones = [
      x for v in (0.5, 1, 2, math.pi / 4, math.pi / 2, math.pi)
      for x in (f(v), np.nextafter(f(v), f(0)), np.nextafter(f(v), f(9)))
  ]
  limits = [
      88.72283, 88.72284, -87.33655, -103.9721, -104.0, 127.99999, 128, -126, -149, -150, 9.010913,
      3.9192059, 10.054, 17.32868, 16.635532, 0.49999997, 1.5, 2.5, 3.5, 8388607.5, 8388608,
      8388609, 16777215, 16777216, 0.6931472, 1.0000001, 0.99999994, 0.70710677, 2.4142137,
      0.4142135
  ]
  edges = [
      info.smallest_subnormal, info.tiny,
      np.nextafter(info.tiny, f(0)), info.max, info.eps, 1e-42, 1e-40, 1e10, 1e20, 1e30, 3e38,
      33000, 1e5, 48039, 117435
  ]
  magnitudes = np.logspace(-38, 38, 77)
  halves = [
      k * math.pi / 2 for k in
      [*range(1, 25), 100, 1001, 10007, 65535, 123457, 1048575, 8388607, 2**26, 2**30, 10**12]
  ]
  positive = np.concatenate([ones, limits, edges, magnitudes, halves]).astype(f)
  random = np.concatenate([
      rng.uniform(-1, 1, 50),
      rng.uniform(-10, 10, 60),
      rng.uniform(-100, 100, 50),
      rng.uniform(-1e5, 1e5, 20)
  ]).astype(f)
  return np.concatenate([np.array([0.0, -0.0, INF, -INF, NAN], f), positive, -positive, random])


def float64_inputs():
  magnitudes = np.concatenate([np.logspace(-307, 307, 40), np.logspace(-8, 8, 33)])
  edges = [
      5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1.0, 0.9999999999999999,
      1.0000000000000002, 0.5, 2.0, 709.78, 709.79, -745.2, 0.49999999999999994, 4503599627370495.5,
      math.pi, math.pi / 2, 1e22, 1e15, 22.0, 355.0
  ]
  positive = np.concatenate([edges, magnitudes])
  random = np.concatenate(
      [rng.uniform(-1, 1, 30),
       rng.uniform(-10, 10, 30),
       rng.uniform(-700, 700, 20)])
  return np.concatenate([[0.0, -0.0, INF, -INF, NAN], positive, -positive, random])


def unary():
  inputs = {'float32': float32_inputs(), 'float64': float64_inputs()}
  functions = {}
  for name, (function, *_) in UNARY.items():
    functions[name] = {}
    for dtype, values in inputs.items():
      mp.prec = 320 if dtype == 'float32' else 1300 if name in ('sine', 'cosine', 'tan') else 200
      entry = {'reference': topic.array(f'{name}.{dtype}', exact_unary(name, values))}
      if dtype == 'float32':
        entry['jax'] = topic.array(f'{name}.{dtype}.jax', jax.jit(function)(values))
      functions[name][dtype] = entry
  return {
      'inputs': {
          d: topic.array(f'unary.{d}', v) for d, v in inputs.items()
      },
      'functions': functions
  }


def exact_power(x, y):
  return mp.power(x, y)


def maximum(x, y):
  return np.where(np.isnan(x) | np.isnan(y), NAN, np.maximum(x, y))


def minimum(x, y):
  return np.where(np.isnan(x) | np.isnan(y), NAN, np.minimum(x, y))


BINARY = {
    'add': (lax.add, None, np.add),
    'subtract': (lax.sub, None, np.subtract),
    'multiply': (lax.mul, None, np.multiply),
    'divide': (lax.div, None, np.divide),
    'remainder': (lax.rem, None, np.fmod),
    'maximum': (lax.max, None, maximum),
    'minimum': (lax.min, None, minimum),
    'power': (lax.pow, exact_power, np.power),
    'atan2': (lax.atan2, mp.atan2, np.arctan2),
    'hypot': (jnp.hypot, mp.hypot, np.hypot),
    'logaddexp': (jnp.logaddexp, lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y)))
                  if abs(x - y) < 800 else max(x, y), np.logaddexp),
    'floor_divide': (jnp.floor_divide, None, None),
    'mod': (jnp.mod, None, None),
    'nextafter': (lax.nextafter, None, None),
}
COMPARE = {'EQ': lax.eq, 'NE': lax.ne, 'LT': lax.lt, 'LE': lax.le, 'GT': lax.gt, 'GE': lax.ge}


def binary():
  mp.prec = 320
  f = np.float32
  edges = np.array([
      0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1.5, 1e-40, 1e30, -1e30, 3.4028235e38, INF, -INF,
      NAN, 1e-20, 7.25
  ], f)
  lhs, rhs = (g.reshape(-1) for g in np.meshgrid(edges, edges, indexing='ij'))
  wide = np.exp(rng.uniform(-20, 20, (2, 60))) * rng.choice([-1, 1], (2, 60))
  lhs = np.concatenate([lhs, rng.uniform(-10, 10, 80), wide[0],
                        np.exp(rng.uniform(-3, 3, 60))]).astype(f)
  rhs = np.concatenate([rhs, rng.uniform(-10, 10, 80), wide[1], rng.uniform(-20, 20, 60)]).astype(f)
  functions = {}
  for name, (function, exact, fallback) in BINARY.items():
    entry = {'jax': topic.array(f'{name}.jax', jax.jit(function)(lhs, rhs))}
    if fallback:
      out = np.asarray(fallback(lhs.astype(np.float64), rhs.astype(np.float64)), np.float64)
      if exact:
        for i, (x, y) in enumerate(zip(lhs.tolist(), rhs.tolist())):
          if math.isfinite(x) and math.isfinite(y) and x != 0 and y != 0:
            log2 = abs(y * math.log2(abs(x)))
            if name != 'power' or log2 < 2000:  # beyond, numpy's 0 or inf is exact
              out[i] = real(exact(mp.mpf(x), mp.mpf(y)))
      entry['reference'] = topic.array(name, out)
    functions[name] = entry
  return {
      'lhs': topic.array('binary.lhs', lhs),
      'rhs': topic.array('binary.rhs', rhs),
      'functions': functions,
      'compare': {
          k: topic.array(f'compare.{k}',
                         jax.jit(v)(lhs, rhs)) for k, v in COMPARE.items()
      }
  }


INTEGER_BINARY = {
    'add': lax.add,
    'subtract': lax.sub,
    'multiply': lax.mul,
    'divide': lax.div,
    'remainder': lax.rem,
    'maximum': lax.max,
    'minimum': lax.min,
    'and': lax.bitwise_and,
    'or': lax.bitwise_or,
    'xor': lax.bitwise_xor,
    'floor_divide': jnp.floor_divide,
    'mod': jnp.mod,
    'LT': lax.lt,
    'GE': lax.ge,
    'EQ': lax.eq,
}
INTEGER_UNARY = {
    'negate': lax.neg,
    'abs': jnp.abs,
    'sign': lax.sign,
    'not': lax.bitwise_not,
    'popcnt': lax.population_count,
    'count_leading_zeros': lax.clz,
    'square': lax.square
}
SHIFTS = {
    'shift_left': lax.shift_left,
    'shift_right_logical': lax.shift_right_logical,
    'shift_right_arithmetic': lax.shift_right_arithmetic
}


def integer():
  out = {}
  for dtype in golden.INTS:
    info = np.iinfo(dtype)
    edges = np.unique(
        np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100] +
                 ([-1, -2, -7, -100] if info.min < 0 else [info.max // 2, 200]), dtype))
    lhs, rhs = (g.reshape(-1) for g in np.meshgrid(edges, edges, indexing='ij'))
    amounts = np.array([0, 1, 3, info.bits - 1, info.bits, info.bits + 1, 100, info.max] +
                       ([-1, -info.bits] if info.min < 0 else []), dtype)
    value, amount = (g.reshape(-1) for g in np.meshgrid(edges, amounts, indexing='ij'))
    keep = lambda name, function, *args: topic.array(f'{dtype}.{name}', jax.jit(function)(*args))
    out[dtype] = {
        'lhs': topic.array(f'{dtype}.lhs', lhs),
        'rhs': topic.array(f'{dtype}.rhs', rhs),
        'binary': {
            k: keep(k, f, lhs, rhs) for k, f in INTEGER_BINARY.items()
        },
        'unary': {
            k: keep(k, f, lhs) for k, f in INTEGER_UNARY.items()
        },
        'shift': {
            'value': topic.array(f'{dtype}.value', value),
            'amount': topic.array(f'{dtype}.amount', amount),
            **{
                k: keep(k, f, value, amount) for k, f in SHIFTS.items()
            }
        }
    }
  lhs, rhs = np.array([False, False, True, True]), np.array([False, True, False, True])
  logic = {
      'and': lax.bitwise_and,
      'or': lax.bitwise_or,
      'xor': lax.bitwise_xor,
      'maximum': lax.max,
      'minimum': lax.min,
      **COMPARE
  }
  out['bool'] = {
      'lhs': topic.array('bool.lhs', lhs),
      'rhs': topic.array('bool.rhs', rhs),
      'binary': {
          k: topic.array(f'bool.{k}', f(lhs, rhs)) for k, f in logic.items()
      },
      'unary': {
          'not': topic.array('bool.not', lax.bitwise_not(lhs))
      }
  }
  return out


def edge_values(dtype):
  if dtype == 'bool':
    return np.array([False, True])
  if dtype in golden.INTS:
    info = np.iinfo(dtype)
    wanted = {
        info.min, info.min + 1, -129, -128, -1, 0, 1, 127, 128, 255, 256, 2049, 32767, 65535, 65536,
        16777217, 2147483647, 4294967295, 9007199254740993, info.max, info.max - 1
    }
    return np.array(sorted(v for v in wanted if info.min <= v <= info.max), dtype)
  reals = [
      0.0, -0.0, 1, -1, 0.5, -0.5, 0.99, 1.5, 2.5, -1.5, -0.75, 126.5, 127.99, 128, -128.5, -129,
      255.9, 256, 300, -300, 32767.5, 32768, 65504, 65519, 65520, 70000, 2147483520, 2147483648,
      -2147483904, 4294967040, 4294967296, 9.2e18, -9.3e18, 1.8e19, 1.9e19, 1e20, -1e30, INF, -INF,
      NAN, 3.4e38, 3.4028236e38, 1e-8, 6e-8, 2.9e-8, 1e-40, 1e300, 1.00390625, 1.01171875,
      1.00048828125
  ]
  values = np.array(reals).astype(golden.np_dtype(dtype if dtype in golden.FLOATS else 'float64'))
  if dtype in golden.COMPLEXES:
    return (np.array([0, -0.0, 1, -1.5, 0.5, 300, INF, NAN]) +
            1j * np.array([0, 1, 0, 2, -3, 0.25, 0, 1])).astype(dtype)
  return values


def convert():
  for source in golden.DTYPES:
    values = edge_values(source)
    stored = topic.array(f'convert.{source}', values)
    for target in golden.DTYPES:
      if source != target:
        result = jax.jit(lambda x: lax.convert_element_type(x, golden.np_dtype(target)))(values)
        yield {
            'from': source,
            'to': target,
            'input': stored,
            'output': topic.array(f'convert.{source}.{target}', result)
        }


def bitcast():
  cases = [('float32', 'uint32'), ('float32', 'int32'), ('float64', 'uint64'),
           ('float16', 'uint16'), ('bfloat16', 'int16'), ('int8', 'uint8'), ('uint32', 'float32'),
           ('float32', 'uint8'), ('uint64', 'uint16'), ('float64', 'float32')]
  for source, target in cases:
    values = edge_values(source)[:12]
    result = lax.bitcast_convert_type(values, golden.np_dtype(target))
    yield {
        'from': source,
        'to': target,
        'input': topic.array(f'bitcast.{source}.{target}.in', values),
        'output': topic.array(f'bitcast.{source}.{target}', result)
    }
  packed = np.arange(24, dtype=np.uint8).reshape(3, 2, 4)
  yield {
      'from': 'uint8',
      'to': 'float32',
      'input': topic.array('bitcast.packed.in', packed),
      'output': topic.array('bitcast.packed', lax.bitcast_convert_type(packed, jnp.float32))
  }


COMPLEX_UNARY = {
    'negate': (lax.neg, lambda z: -z),
    'abs': (lax.abs, abs),
    'exponential': (lax.exp, mp.exp),
    'log': (lax.log, mp.log),
    'sine': (lax.sin, mp.sin),
    'cosine': (lax.cos, mp.cos),
    'tan': (lax.tan, mp.tan),
    'tanh': (lax.tanh, mp.tanh),
    'sqrt': (lax.sqrt, mp.sqrt),
    'rsqrt': (lax.rsqrt, lambda z: 1 / mp.sqrt(z)),
    'exponential_minus_one': (lax.expm1, mp.expm1),
    'log_plus_one': (lax.log1p, lambda z: mp.log(1 + z)),
    'logistic': (lax.logistic, logistic),
    'sign': (lax.sign, lambda z: z / abs(z)),
    'real': (lax.real, mp.re),
    'imag': (lax.imag, mp.im),
    'conjugate': (lax.conj, mp.conj),
}
COMPLEX_BINARY = {
    'add': (lax.add, lambda a, b: a + b),
    'subtract': (lax.sub, lambda a, b: a - b),
    'multiply': (lax.mul, lambda a, b: a * b),
    'divide': (lax.div, lambda a, b: a / b),
    'power': (lax.pow, mp.power)
}


def complexes():
  mp.prec = 200
  parts = rng.normal(size=(4, 36)) * np.exp(rng.uniform(-3, 1.2, (4, 36)))
  out = {}
  for dtype in golden.COMPLEXES:
    lhs, rhs = (parts[0] + 1j * parts[1]).astype(dtype), (parts[2] + 1j * parts[3]).astype(dtype)
    lhs[:6] = [1, -1, 1j, -1j, 0.5 - 2j, -3 + 1e-3j]
    rhs[:4] = [1j, 2, -1 - 1j, 0.25]
    z, w = ([mp.mpc(complex(v)) for v in values] for values in (lhs, rhs))
    both = lambda name, reference, result: {
        'reference':
            topic.array(
                f'{dtype}.{name}',
                np.array([complex(r) if isinstance(r, mpmath.mpc) else float(r)
                          for r in reference])),
        'jax':
            topic.array(f'{dtype}.{name}.jax', result)
    }
    out[dtype] = {
        'lhs': topic.array(f'{dtype}.lhs', lhs),
        'rhs': topic.array(f'{dtype}.rhs', rhs),
        'unary': {
            k: both(k, [exact(v) for v in z],
                    jax.jit(f)(lhs)) for k, (f, exact) in COMPLEX_UNARY.items()
        },
        'binary': {
            k: both(k, [exact(a, b) for a, b in zip(z, w)],
                    jax.jit(f)(lhs, rhs)) for k, (f, exact) in COMPLEX_BINARY.items()
        }
    }
  return out


def ternary():
  x = np.array([-3, -1, -0.0, 0.0, 0.5, 1, 3, INF, -INF, NAN], np.float32)
  i = np.array([-128, -5, 0, 5, 127], np.int8)
  cases = [('clamp', lax.clamp, [np.float32(-1), x, np.float32(1)]),
           ('clamp', lax.clamp, [np.full_like(x, -2), x,
                                 np.linspace(-1, 2, 10, dtype=np.float32)]),
           ('clamp', lax.clamp, [np.float32(1), x, np.float32(-1)]),
           ('clamp', lax.clamp, [np.float32(NAN), x, np.float32(1)]),
           ('clamp', lax.clamp, [np.float32(-1), x, np.float32(NAN)]),
           ('clamp', lax.clamp, [np.int8(-5), i, np.int8(4)]),
           ('select', lax.select, [x > 0, x, -x]), ('select', lax.select, [np.bool_(True), x, -x]),
           ('select', lax.select, [np.bool_(False), i, -i])]
  for number, (name, function, inputs) in enumerate(cases):
    yield {
        'name': name,
        'inputs': [topic.array(f'{name}.{number}.in{k}', v) for k, v in enumerate(inputs)],
        'output': topic.array(f'{name}.{number}',
                              jax.jit(function)(*inputs))
    }


topic.write({
    'unary': unary(),
    'binary': binary(),
    'integer': integer(),
    'convert': list(convert()),
    'bitcast': list(bitcast()),
    'complex': complexes(),
    'ternary': list(ternary())
})
