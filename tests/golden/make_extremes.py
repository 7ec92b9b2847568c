"""extremes.json and .npz: elementwise functions of tests/derivatives where others rarely look: at NaN, at infinities, at zeros of both
signs, at the least and at the largest normal numbers, and where a function's pieces meet. Made by jax 0.12.0.1, as derivatives.py says.

"cases": [case], for float32 and for float64. A case has the name of the function, "inputs" (flat arrays of one length), the number of
"outputs" that are inexact, and "rows": an array of the outputs, then for each input their tangents if its tangents are 1 and those of
the other inputs 0, then the gradients of the sum of the outputs by each input.
"""
import warnings

import jax
import jax.numpy as jnp
import jax.scipy as js
import numpy as np
from jax import lax

import golden

golden.VERSION = '0.12.0.1'
golden.setup(x64=True)
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
topic.write({'cases': cases})
