"""promotion.json: the dtype and weakness of results, for all pairs of types, and for functions of
one type.

"x64": {"types", "table"}: table[i][j] is the type of types[i] + types[j], with 64-bit types
  enabled. "int*", "float*" and "complex*" are Python (C++) scalars; a result ending in * is weak
  too. "default" is the same without 64-bit types.
"functions": name -> one result type for each of types.
"""
import jax
import jax.numpy as jnp

import golden

golden.setup(x64=True)

WEAK = {'int*': 1, 'float*': 1.5, 'complex*': 1j}
FUNCTIONS = {
    'sin': jnp.sin,
    'sqrt': jnp.sqrt,
    'exp': jnp.exp,
    'abs': jnp.abs,
    'negative': jnp.negative,
    'sign': jnp.sign,
    'square': jnp.square,
    'reciprocal': jnp.reciprocal,
    'floor': jnp.floor,
    'round': jnp.round,
    'isnan': jnp.isnan,
    'conj': jnp.conj,
    'real': jnp.real,
    'logical_not': jnp.logical_not,
    'sum': jnp.sum,
    'prod': jnp.prod,
    'mean': jnp.mean,
    'var': jnp.var,
    'max': jnp.max,
    'cumsum': jnp.cumsum,
    'argmax': jnp.argmax,
    'any': jnp.any,
    'count_nonzero': jnp.count_nonzero,
    'self_true_divide': lambda x: x / x,
    'self_floor_divide': lambda x: x // x,
    'self_mod': lambda x: x % x,
    'self_power': lambda x: x**x,
    'power_int': lambda x: x**2,
    'power_float': lambda x: x**0.5,
    'times_bool': lambda x: x * True,
    'plus_int': lambda x: x + 1,
    'plus_float': lambda x: x + 1.5,
    'divide_int': lambda x: x / 2,
    'self_arctan2': lambda x: jnp.arctan2(x, x),
    'self_maximum': lambda x: jnp.maximum(x, x),
    'self_equal': lambda x: x == x,
    'self_bitwise_and': lambda x: x & x,
    'self_left_shift': lambda x: x << x,
    'where_int': lambda x: jnp.where(True, x, 1),
    'where_float': lambda x: jnp.where(True, x, 1.5),
    'self_matmul': lambda x: jnp.dot(x, x),
    'self_hypot': lambda x: jnp.hypot(x, x),
    'zeros_like': jnp.zeros_like,
    'softmax': jax.nn.softmax,
    'sigmoid': jax.nn.sigmoid,
    'relu': jax.nn.relu,
    'gelu': jax.nn.gelu,
}


def value(name):
  return WEAK[name] if name in WEAK else jnp.ones((2,), name)


def type_of(array):
  return array.dtype.name + ('*' if array.weak_type else '')


def add(a, b):
  if a in WEAK and b in WEAK:  # two Python scalars would be added by Python itself
    return jnp.asarray(value(a)) + value(b)
  return value(a) + value(b)


def applied(function, name):
  x = value(name)
  if name in WEAK:
    x = jnp.asarray(x)
  try:
    return type_of(function(x))
  except (TypeError, ValueError):  # JAX refuses this type
    return 'error'


def tables(types):
  return {
      'types': types,
      'table': [[type_of(add(a, b)) for b in types] for a in types],
      'functions': {
          k: [applied(f, t) for t in types] for k, f in FUNCTIONS.items()
      },
  }


def main():
  all_types = golden.DTYPES + list(WEAK)
  x64 = tables(all_types)
  with jax.enable_x64(False):
    default = tables(
        [t for t in all_types if t not in ('int64', 'uint64', 'float64', 'complex128')])
  golden.Topic('promotion').write({'x64': x64, 'default': default})


main()
