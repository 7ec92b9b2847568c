"""Golden data of stablehlo.rng_bit_generator and reduce_precision: random_bits.json. Written by real JAX.

  python make_random_bits.py
"""
import json
import os

os.environ['JAX_PLATFORMS'] = 'cpu'
import jax  # pylint: disable=wrong-import-position
jax.config.update('jax_enable_x64', True)
import jax.numpy as jnp  # pylint: disable=wrong-import-position
from jax import lax  # pylint: disable=wrong-import-position
import numpy as np  # pylint: disable=wrong-import-position

KEYS = [[1, 2, 3, 4], [0, 0, 0, 0], [7, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF]]
SHAPES = [[8], [3, 5], [], [2, 7], [5], [3, 1, 4]]


def main():
  bits = []
  for name in ('RNG_DEFAULT', 'RNG_PHILOX', 'RNG_THREE_FRY'):
    for dtype in ('uint32', 'uint64', 'uint8', 'uint16'):
      for key in KEYS if dtype == 'uint32' else KEYS[:1]:
        for shape in SHAPES:
          state, out = lax.rng_bit_generator(np.array(key, np.uint32), tuple(shape), dtype=np.dtype(dtype),
                                             algorithm=getattr(lax.RandomAlgorithm, name))
          bits.append({'algorithm': name.removeprefix('RNG_'), 'dtype': dtype, 'words': key, 'shape': shape,
                       'state': np.asarray(state).tolist(), 'bits': np.asarray(out).ravel().tolist()})
  values = np.array([1, 1.0625, -1.09375, 3.1415927, 1e-8, 6e-5, 65504, 65520, 1e30, -1e-40, 0.0, -0.0, 240, 248, 1 / 3])
  rounded = []
  for dtype in ('float32', 'float64'):
    for exponent, mantissa in ((5, 10), (8, 7), (4, 3), (5, 2), (2, 0), (11, 40), (8, 23)):
      out = lax.reduce_precision(jnp.asarray(values, dtype), exponent, mantissa)
      rounded.append({'dtype': dtype, 'exponent': exponent, 'mantissa': mantissa,
                      'bits': np.asarray(out).view('u4' if dtype == 'float32' else 'u8').tolist()})
  with open(os.path.join(os.path.dirname(__file__), 'random_bits.json'), 'w') as file:
    json.dump({'jax': jax.__version__, 'bits': bits, 'values': values.tolist(), 'rounded': rounded}, file)
    file.write('\n')


if __name__ == '__main__':
  main()
