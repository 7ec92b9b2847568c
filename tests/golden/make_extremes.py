"""extremes.json and .npz: elementwise functions of tests/derivatives where others rarely look: at NaN, at infinities, at zeros of both
signs, at the least and at the largest normal numbers, and where a function's pieces meet. Made by jax 0.12.0.1, as derivatives.py says.

"cases": [case], for float32 and for float64. A case has the name of the function, "inputs" (flat arrays of one length), the number of
"outputs" that are inexact, and "rows": an array of the outputs, then for each input their tangents if its tangents are 1 and those of
the other inputs 0, then the gradients of the sum of the outputs by each input.
"distributions": [case], with "inputs" (the argument, the shapes, location and scale) and "values", SciPy's in float64 for inputs of either
dtype.
"denormals": [case], functions at numbers below the least normal one, which JAX flushes to zero: "inputs" (one array) and "values", exact
(mpmath), likewise.
"""
import warnings

import jax
import jax.numpy as jnp
import jax.scipy as js
import numpy as np
import scipy.stats
from jax import lax
from mpmath import mp

import golden

golden.VERSION = '0.12.0.1'
golden.setup(x64=True)
mp.prec = 1200  # enough for 1 plus a denormal number of float64
warnings.simplefilter('ignore')
topic, cases = golden.Topic('extremes'), []


def extremes(dtype):
  info = np.finfo(dtype)
  return [np.nan, np.inf, -np.inf, 0.0, -0.0, info.tiny, -info.tiny, info.max, -info.max]


BENDS = [1, -1, 2, -2, 3, -3, 6, -6, 0.5, -0.5, 0.25, 8, -8, 17, -17, 40, -40, 90, -90, 1e4, -1e4, 1e10, -1e10]
FEW = [1, -1, 0.5, 3, -2.5]


def single(dtype):
  return [np.array(extremes(dtype) + BENDS, dtype)]


def pairs(dtype):
  x = np.array(extremes(dtype) + FEW, dtype)
  return [np.repeat(x, x.size), np.tile(x, x.size)]


def all_of(function, at):
  """Returns the outputs, tangents and gradients of a function."""

  def inexact(*args):
    return [y for y in map(jnp.asarray, jax.tree.leaves(function(*args))) if jnp.issubdtype(y.dtype, jnp.inexact)]

  one = lambda i: tuple(jnp.ones_like(x) if i == j else jnp.zeros_like(x) for j, x in enumerate(at))
  tangents = [jax.jvp(inexact, tuple(at), one(i))[1] for i in range(len(at))]
  outputs, pull = jax.vjp(inexact, *at)
  return outputs, tangents, pull([jnp.ones_like(y) for y in outputs])


def family(title, functions, inputs):
  """Records the functions, {name: function}, compiled together."""
  for dtype in (np.float32, np.float64):
    at = [jnp.asarray(x) for x in inputs(dtype)]
    places = [topic.array(f'{title}.{np.dtype(dtype).name}.{i}', x) for i, x in enumerate(at)]
    results = jax.jit(lambda at: {name: all_of(f, at) for name, f in functions.items()})(at)
    for name, (outputs, tangents, gradients) in results.items():
      rows = np.stack([*outputs, *(t for each in tangents for t in each), *gradients])
      cases.append({'name': name, 'inputs': places, 'outputs': len(outputs),
                    'rows': topic.array(f'{name}.{np.dtype(dtype).name}', rows)})


def named(module, functions, names):
  return {f'{module}.{name}': getattr(functions, name) for name in names.split()}


# The functions at denormal numbers, with the exact values.
EXACT = {
    **{f'jax.numpy.{name}': getattr(mp, name) for name in 'sin cos tan sinh cosh tanh exp expm1 log log1p log10 sqrt'.split()},
    'jax.numpy.arcsin': mp.asin, 'jax.numpy.arccos': mp.acos, 'jax.numpy.arctan': mp.atan, 'jax.numpy.arcsinh': mp.asinh,
    'jax.numpy.arctanh': mp.atanh, 'jax.numpy.exp2': lambda x: mp.power(2, x), 'jax.numpy.log2': lambda x: mp.log(x, 2),
    'jax.numpy.cbrt': lambda x: mp.sign(x) * mp.cbrt(abs(x)), 'jax.numpy.reciprocal': lambda x: 1 / x, 'jax.numpy.square': lambda x: x * x,
    'jax.numpy.abs': abs, 'jax.numpy.negative': lambda x: -x, 'jax.numpy.sign': mp.sign, 'jax.numpy.floor': mp.floor,
    'jax.numpy.ceil': mp.ceil, 'jax.numpy.rint': lambda x: mp.mpf(0), 'jax.numpy.trunc': lambda x: mp.mpf(0),
    'jax.numpy.deg2rad': lambda x: x * mp.pi / 180, 'jax.numpy.rad2deg': lambda x: x * 180 / mp.pi, 'jax.numpy.sinc': lambda x: mp.mpf(1),
    'jax.numpy.nan_to_num': lambda x: x,
    'jax.lax.rsqrt': lambda x: 1 / mp.sqrt(x), 'jax.lax.logistic': lambda x: 1 / (1 + mp.exp(-x)), 'jax.lax.erf': mp.erf,
    'jax.lax.erfc': mp.erfc, 'jax.lax.erf_inv': mp.erfinv,
    'jax.nn.relu': lambda x: max(x, 0), 'jax.nn.relu6': lambda x: max(x, 0), 'jax.nn.elu': lambda x: x if x > 0 else mp.expm1(x),
    'jax.nn.celu': lambda x: x if x > 0 else mp.expm1(x), 'jax.nn.hard_tanh': lambda x: x,
    'jax.nn.leaky_relu': lambda x: x if x > 0 else x / 100, 'jax.nn.silu': lambda x: x / (1 + mp.exp(-x)),
    'jax.nn.sigmoid': lambda x: 1 / (1 + mp.exp(-x)), 'jax.nn.log_sigmoid': lambda x: -mp.log1p(mp.exp(-x)),
    'jax.nn.softplus': lambda x: mp.log1p(mp.exp(x)), 'jax.nn.soft_sign': lambda x: x / (1 + abs(x)),
    'jax.nn.gelu/exact': lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, 'jax.nn.gelu': lambda x: x / 2, 'jax.nn.mish': lambda x: x * mp.mpf(3) / 5,
    'jax.nn.hard_sigmoid': lambda x: (x + 3) / 6, 'jax.nn.hard_silu': lambda x: x * (x + 3) / 6, 'jax.nn.squareplus': lambda x: (x + mp.sqrt(x * x + 4)) / 2,
    'jax.scipy.special.entr': lambda x: -x * mp.log(x) if x > 0 else mp.mpf('-inf'), 'jax.scipy.special.expit': lambda x: 1 / (1 + mp.exp(-x)),
    'jax.scipy.special.gammaln': lambda x: -mp.log(abs(x)), 'jax.scipy.special.i0e': lambda x: mp.mpf(1), 'jax.scipy.special.i1e': lambda x: x / 2,
    'jax.scipy.special.ndtr': mp.ncdf, 'jax.scipy.special.log_ndtr': lambda x: mp.log(mp.ncdf(x)), 'jax.scipy.special.logit': lambda x: mp.log(x) - mp.log1p(-x),
}


def rounded(x):
  return float(x) if isinstance(x, (int, float)) or mp.im(x) == 0 else np.nan


def denormals():
  out = []
  for dtype in (np.float32, np.float64):
    least, tiny = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny
    sizes = np.array([least, 3 * least, tiny / 1000, tiny / 3, tiny - least, tiny], dtype)
    x = np.concatenate([sizes, -sizes])
    place = topic.array(f'denormals.{np.dtype(dtype).name}', x)
    for name, f in EXACT.items():
      values = np.array([rounded(f(mp.mpf(float(v)))) for v in x])
      out.append({'name': name, 'inputs': place, 'values': topic.array(f'denormals.{name}.{np.dtype(dtype).name}', values)})
  return out


family('numpy', {
    **named('jax.numpy', jnp, 'sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p '
            'sqrt cbrt square reciprocal abs negative sign floor ceil rint trunc deg2rad rad2deg nan_to_num sinc modf angle real imag'),
    **named('jax.lax', lax, 'rsqrt logistic erf erfc erf_inv'),
    'jax.lax.integer_pow/3': lambda x: lax.integer_pow(x, 3),
    'jax.lax.integer_pow/-2': lambda x: lax.integer_pow(x, -2),
    'jax.numpy.clip': lambda x: jnp.clip(x, -1, 2)}, single)
family('nn', {
    **named('jax.nn', jax.nn, 'celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid mish relu relu6 selu sigmoid '
            'silu soft_sign softplus sparse_plus sparse_sigmoid squareplus log1mexp'),
    'jax.nn.gelu/exact': lambda x: jax.nn.gelu(x, approximate=False)}, single)
family('pairs', {
    **named('jax.numpy', jnp, 'add subtract multiply divide maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 copysign heaviside '
            'remainder fmod floor_divide power float_power'),
    **named('jax.lax', lax, 'pow rem'),
    **named('jax.scipy.special', js.special, 'kl_div rel_entr xlog1py xlogy')}, pairs)
family('special', named('jax.scipy.special', js.special, 'entr expit gammaln i0e i1e log_ndtr ndtr logit ndtri'), single)

# Distributions with their shapes, location and scale. Probabilities are in the domain of ppf and isf alone.
DISTRIBUTIONS = {
    'norm': ('pdf logpdf cdf logcdf sf logsf', 'ppf isf', ()),
    'cauchy': ('pdf logpdf cdf logcdf sf logsf', 'ppf isf', ()),
    'expon': ('pdf logpdf cdf logcdf sf logsf', 'ppf', ()),
    'laplace': ('pdf logpdf cdf', '', ()),
    'logistic': ('pdf logpdf cdf sf', 'ppf isf', ()),
    'gumbel_l': ('pdf logpdf cdf logcdf sf logsf', 'ppf', ()),
    'gumbel_r': ('pdf logpdf cdf logcdf sf logsf', 'ppf', ()),
    'uniform': ('pdf logpdf cdf', 'ppf', ()),
    'pareto': ('pdf logpdf cdf logcdf sf logsf', 'ppf', (2.0,)),
    't': ('pdf logpdf', '', (4.0,)),
    'gamma': ('pdf logpdf cdf logcdf sf logsf', '', (2.5,)),
    'chi2': ('pdf logpdf cdf logcdf sf logsf', '', (3.0,)),
    'beta': ('pdf logpdf cdf logcdf sf logsf', '', (2.0, 3.0)),
    'truncnorm': ('pdf logpdf cdf logcdf sf logsf', '', (-1.0, 2.0)),
}
PROBABILITIES = [0.5, 1, 0.25, 0.999, 1e-3, 1e-10, 2, -1]


def distributions():
  out = []
  for name, (functions, inverses, shapes) in DISTRIBUTIONS.items():
    for names, of in ((functions, BENDS), (inverses, PROBABILITIES)):
      for dtype in (np.float32, np.float64) if names else ():
        x = np.array(extremes(dtype) + of, dtype)
        title = f'{name}.{"x" if of is BENDS else "p"}.{np.dtype(dtype).name}'
        places = [topic.array(f'{title}.{i}', v) for i, v in enumerate([x, *(np.full_like(x, v) for v in (*shapes, 0, 1))])]
        for f in names.split():
          values = getattr(getattr(scipy.stats, name), f)(x.astype(np.float64), *shapes)
          out.append({'name': f'jax.scipy.stats.{name}.{f}', 'inputs': places, 'values': topic.array(f'{title}.{f}', values)})
  return out


topic.write({'cases': cases, 'distributions': distributions(), 'denormals': denormals()})
