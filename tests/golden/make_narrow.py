"""Conversions and arithmetic of narrow dtypes: narrow.json. Written by real JAX.

  python make_narrow.py

`values`: for each narrow dtype the float32 values of all its codes, as bits. `floats`: float32 inputs as bits, and for
each dtype the codes that they become; `doubles`: the same of float64. `integers`: int32 inputs and codes. `pairs`:
for each dtype and op the codes of op(x, y) over all pairs of the codes `of`; `one`: of functions of one operand.
NaNs are the code that the dtype has for a positive one, whichever JAX gives.
"""
import json
import os

os.environ['JAX_PLATFORMS'] = 'cpu'
import jax  # pylint: disable=wrong-import-position
jax.config.update('jax_enable_x64', True)
from jax import lax  # pylint: disable=wrong-import-position
import ml_dtypes  # pylint: disable=wrong-import-position
import numpy as np  # pylint: disable=wrong-import-position

INTS = ['int2', 'int4', 'uint2', 'uint4']
FLOATS = ['float8_e3m4', 'float8_e4m3', 'float8_e4m3b11fnuz', 'float8_e4m3fn', 'float8_e4m3fnuz', 'float8_e5m2',
          'float8_e5m2fnuz', 'float8_e8m0fnu', 'float4_e2m1fn']
WIDTHS = {'int2': 2, 'uint2': 2, 'int4': 4, 'uint4': 4, 'float4_e2m1fn': 4}


def dtype_of(name):
  return np.dtype(getattr(ml_dtypes, name))


def codes_of(array):
  """The bits of elements; of every NaN those that float32's NaN has."""
  array = np.asarray(array)
  bits = array.view(np.uint8) & ((1 << WIDTHS.get(array.dtype.name, 8)) - 1)
  if array.dtype.name in FLOATS and array.dtype.name != 'float4_e2m1fn':
    nan = np.array([np.nan], np.float32).astype(array.dtype).view(np.uint8)[0]
    bits = np.where(np.isnan(array.astype(np.float32)), nan, bits)
  return bits.ravel().tolist()


def convert(array, dtype):
  return np.asarray(jax.jit(lambda x: lax.convert_element_type(x, dtype))(array))


def inputs():
  out = [0, -0.0, np.inf, -np.inf, 1e30, -1e30, 1e-30, 0.3, -0.7, 1e6]
  for name in FLOATS:
    all_values = np.arange(1 << WIDTHS.get(name, 8), dtype=np.uint8).view(dtype_of(name)).astype(np.float64)
    finite = np.unique(all_values[np.isfinite(all_values)])
    finite = finite[np.abs(finite) > 1e-30]
    finite = np.concatenate([finite[:12], finite[-12:], finite[::23]])
    middle = (finite[1:] + finite[:-1]) / 2
    largest = finite.max() * np.array([1.01, 1.0625, 1.07, 1.125, 1.2, 1.25, 1.3, 2])
    out += [*finite, *middle, *largest, *-largest]
  out = np.unique(np.array([x for x in out if x == 0 or abs(x) > 1e-37]))
  return np.concatenate([out, np.nextafter(out, np.inf), np.nextafter(out, -np.inf)])


def main():
  data = {'jax': jax.__version__, 'values': {}, 'floats': {'codes': {}}, 'doubles': {'codes': {}},
          'integers': {'codes': {}}, 'pairs': {}, 'one': {}}
  doubles = inputs()
  doubles = doubles[(doubles == 0) | (np.abs(doubles) > 2.**-126)]
  with np.errstate(all='ignore'):
    floats = np.unique(np.concatenate([doubles.astype(np.float32)] + [
        np.nextafter(doubles.astype(np.float32), np.float32(d)) for d in (np.inf, -np.inf)]))
  floats = floats[(floats == 0) | (np.abs(floats) > 2.**-126)]
  integers = np.array([*range(-20, 21), 100, 127, 128, 255, 256, 1000, -1000, 2**31 - 1, -2**31], np.int32)
  data['floats']['bits'] = floats.view(np.uint32).tolist()
  data['doubles']['bits'] = doubles.view(np.uint64).tolist()
  data['integers']['values'] = integers.tolist()
  for name in INTS + FLOATS:
    dtype, width = dtype_of(name), WIDTHS.get(name, 8)
    all_codes = np.arange(1 << width, dtype=np.uint8).view(dtype)
    values = convert(all_codes, np.float32)
    data['values'][name] = np.where(np.isnan(values), np.float32(np.nan), values).view(np.uint32).tolist()
    data['floats']['codes'][name] = codes_of(convert(floats, dtype))
    if name in FLOATS:
      data['doubles']['codes'][name] = codes_of(convert(doubles, dtype))
    data['integers']['codes'][name] = codes_of(convert(integers, dtype))
    if name == 'float8_e8m0fnu' or name == 'float4_e2m1fn':
      continue
    of = np.arange(0, 1 << width, 1 if width < 8 else 13).astype(np.uint8)
    x, y = (z.view(dtype) for z in np.meshgrid(of, of, indexing='ij'))
    ops = ['add', 'sub', 'mul', 'div', 'max', 'min', 'rem']
    if name in INTS:
      ops += ['shift_left', 'shift_right_arithmetic', 'shift_right_logical', 'bitwise_and', 'bitwise_xor']
    data['pairs'][name] = {'of': of.tolist()}
    for op in ops:
      data['pairs'][name][op] = codes_of(jax.jit(getattr(lax, op))(x, y))
    for op in ['lt', 'eq']:
      data['pairs'][name][op] = np.asarray(jax.jit(getattr(lax, op))(x, y)).ravel().astype(int).tolist()
    one = ['neg', 'sign'] + (['abs', 'floor', 'sin', 'log'] if name in FLOATS else ['bitwise_not'])
    # XLA counts the bits that a negative int4 has as an int8.
    one += ['clz', 'population_count'] if name in ('uint2', 'uint4') else []
    data['one'][name] = {op: codes_of(jax.jit(getattr(lax, op))(all_codes)) for op in one}
  with open(os.path.join(os.path.dirname(__file__), 'narrow.json'), 'w', encoding='utf-8') as file:
    json.dump(data, file)
    file.write('\n')


if __name__ == '__main__':
  main()
