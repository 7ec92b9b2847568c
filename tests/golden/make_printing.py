"""printing.json, printing.npz: str() and repr() of arrays of every dtype, rank and range of values.

"cases": a list of {"name", "value": array reference, "weak_type", "str", "repr"}.
"""
import jax
import jax.numpy as jnp
import numpy as np

import golden

golden.setup(x64=True)
topic = golden.Topic('printing')
cases = []
INF, NAN = np.inf, np.nan


def case(name, values, dtype=None, weak=False):
  if weak:
    array = jnp.asarray(values)
    assert array.weak_type, name
  else:
    array = jnp.asarray(np.asarray(values).astype(golden.np_dtype(dtype)))
  cases.append({
      'name': name,
      'value': topic.array(name, np.asarray(array)),
      'weak_type': bool(array.weak_type),
      'str': str(array),
      'repr': repr(array)
  })


def every_dtype():
  for d in golden.DTYPES:
    case(f'scalar_{d}', 1, d)
    case(f'zero_{d}', 0, d)
    case(f'vector_{d}', [0, 1, 2, 3], d)
    case(f'matrix_{d}', np.arange(12).reshape(3, 4), d)
    case(f'empty_{d}', np.zeros((0,)), d)
  for d in golden.INTS:
    info = np.iinfo(d)
    case(f'limits_{d}', np.array([info.min, 0, info.max], dtype=d), d)
    case(f'limits_matrix_{d}', np.array([[info.min, 1], [info.max, 100]], dtype=d), d)
  for d in golden.FLOATS:
    info = jnp.finfo(d)
    case(f'limits_{d}',
         np.array([info.min, info.max, info.tiny, info.eps]).astype(golden.np_dtype(d)), d)
    case(f'max_scalar_{d}', np.array(info.max), d)
    case(f'tiny_scalar_{d}', np.array(info.tiny), d)
    case(f'subnormal_{d}', np.array(info.smallest_subnormal), d)
    case(f'thirds_{d}', np.arange(1, 9) / 3, d)
    case(f'pi_{d}', np.pi, d)
    case(f'specials_{d}', [NAN, INF, -INF, -0.0, 0.0, 1.5], d)
    case(f'large_{d}', [1e4, 2.5e4, 3e4], d)


def scalars():
  for d in ('float32', 'float64'):
    for i, v in enumerate([
        0.1, -0.1, 1e-4, 9.9999e-5, 1e-5, 123456.789, 1e15, 1e16, 12345678, 1e17, 1.0000001, 1e-10,
        100.0, 2**24, 3.4e38, -0.0, NAN, INF, -INF, 0.30000000000000004, 5e-324, 16777216.0,
        99999999.0, 1e20, 1e8, 1e7
    ]):
      case(f'scalar_{d}_{i}', np.array(v).astype(d), d)
  for i, v in enumerate([0.5, 1e-5, 65504, 1e-3, 2048, 33.34]):
    case(f'scalar_float16_{i}', v, 'float16')
  for i, v in enumerate([0.5, 1e-5, 65504, 1e30, 256, 1.01, 3.14159]):
    case(f'scalar_bfloat16_{i}', v, 'bfloat16')
  for i, v in enumerate([
      1 + 2j, 1 - 2j, 1e10 + 1e-10j,
      complex(NAN, INF),
      complex(-0.0, -0.0), 0.1j,
      complex(1, -INF)
  ]):
    case(f'scalar_complex64_{i}', v, 'complex64')
    case(f'scalar_complex128_{i}', v, 'complex128')
  case('scalar_true', True, 'bool')
  case('scalar_negative', -7, 'int32')
  for name, v in (('int', 3), ('float', 2.5), ('complex', 1 + 2j), ('negative', -1), ('tiny',
                                                                                      1e-7)):
    case(f'weak_{name}', v, weak=True)
  case('weak_vector', jnp.broadcast_to(jnp.asarray(2.5), (3,)), weak=True)


def floats():
  rng = np.random.default_rng(0)
  for d in ('float32', 'float64'):
    case(f'integral_{d}', [1, 2, 300], d)
    case(f'mixed_{d}', [1, 2.5, 1000.125], d)
    case(f'ratio_over_1000_{d}', [0.001, 1, 2], d)
    case(f'ratio_over_1000b_{d}', [0.0009, 1, 2], d)
    case(f'needs_exponent_{d}', [1e-5, 1.0], d)
    case(f'huge_ratio_{d}', [1e-10, 1e10], d)
    case(f'big_{d}', [1e8, 2e8], d)
    case(f'big7_{d}', [1e7, 2e7 + 1], d)
    case(f'bigger_{d}', [1e15, 1e16], d)
    case(f'biggest_{d}', [1e16, 2e16], d)
    case(f'exponent3_{d}', [1e-300, 1e300] if d == 'float64' else [1e-38, 1e38], d)
    case(f'negative_zero_{d}', [-0.0, 0.0], d)
    case(f'only_nan_{d}', [NAN, NAN], d)
    case(f'only_inf_{d}', [INF, -INF], d)
    case(f'nan_and_exponent_{d}', [NAN, 1e-10, 1e10, -INF], d)
    case(f'nan_and_integers_{d}', [NAN, 1, 20], d)
    case(f'inf_and_fraction_{d}', [-INF, 1.25, 20], d)
    case(f'precision_{d}', [1 / 3, 2 / 3, 1], d)
    case(f'rounding_{d}', [0.1 + 0.2, 0.3, 1e-3], d)
    case(f'normal_{d}', rng.normal(size=(17,)), d)
    case(f'normal_matrix_{d}', rng.normal(size=(5, 7)), d)
    case(f'uniform_scaled_{d}', rng.uniform(size=(6,)) * 1000, d)
    case(f'exponents_matrix_{d}', 10.0**np.arange(-6, 6).reshape(3, 4), d)
    case(f'sines_{d}', 2 * np.sin(np.arange(32)) + 1, d)
    case(f'exact_one_eighth_{d}', np.arange(20) / 8, d)
    case(f'trailing_{d}', [1.5, 2.25, 3.125, 4.0625], d)
  for d in ('float16', 'bfloat16'):
    case(f'normal_{d}', rng.normal(size=(17,)), d)
    case(f'normal_matrix_{d}', rng.normal(size=(4, 6)), d)
    case(f'mixed_{d}', [1, 2.5, 1000.125, -3], d)
    case(f'exponent_{d}', [1e-4, 1.0, 100.0], d)
    case(f'nan_{d}', [NAN, 1.0, -INF], d)


def shapes():
  case('rank0', 5, 'float32')
  case('rank1_one', [5], 'float32')
  case('rank2_one', [[5]], 'float32')
  case('rank3', np.arange(24).reshape(2, 3, 4), 'int32')
  case('rank3_float', np.arange(24).reshape(2, 3, 4) / 4, 'float32')
  case('rank4', np.arange(16).reshape(2, 2, 2, 2), 'float32')
  case('rank4_column', np.arange(3).reshape(1, 3, 1, 1), 'int32')
  case('rank3_wide', np.arange(60).reshape(2, 2, 15) * 1000, 'float32')
  for shape in [(0, 3), (3, 0), (0, 0), (2, 0, 4), (1, 0)]:
    case('empty_' + 'x'.join(map(str, shape)), np.zeros(shape), 'float32')
  case('bools', [[True, False], [False, True]], 'bool')
  case('bools_wide', np.arange(40) % 3 == 0, 'bool')
  case('bools_true', [True, True], 'bool')


def wrapping():
  case('wrap_ints', np.arange(100), 'int32')
  case('wrap_negative', -np.arange(50), 'int64')
  case('wrap_float', np.arange(50) / 7, 'float32')
  case('wrap_uint8', np.arange(40) * 6, 'uint8')
  for n in range(15, 28):  # widths around the limit of the line
    case(f'wrap_exact_{n}', np.arange(10, 10 + n), 'int32')
  for n in (17, 18, 19, 20):
    case(f'wrap_matrix_{n}', np.arange(100, 100 + 2 * n).reshape(2, n), 'int16')
  for n in (5, 6, 7):  # where the dtype of repr goes to a line of its own
    case(f'repr_tail_{n}', np.arange(n) + 0.123456, 'float32')
    case(f'repr_tail_int_{n}', np.arange(n) + 100000000, 'uint32')
  for n in range(12, 20):
    case(f'repr_tail_int16_{n}', np.arange(n) + 10, 'int16')
  case('wrap_complex', np.arange(12) * (1 + 0.5j), 'complex64')
  case('wrap_bfloat16', np.arange(30) / 4, 'bfloat16')
  case('wrap_rank3', np.arange(54).reshape(1, 2, 27) * 100, 'int64')


def summaries():
  # The arrays stay small where the limit allows, and are aranges, so that they cost little.
  case('summary_1000', np.arange(1000), 'uint16')
  case('summary_1001', np.arange(1001), 'uint16')
  case('summary_float', np.arange(1200) / 16, 'float16')
  case('summary_matrix', np.arange(40 * 30).reshape(40, 30), 'uint16')
  case('summary_matrix_narrow', np.arange(600 * 2).reshape(600, 2) % 256, 'uint8')
  case('summary_matrix_wide', np.arange(2 * 600).reshape(2, 600) % 200, 'uint8')
  case('summary_matrix_7', np.arange(7 * 150).reshape(7, 150) % 251, 'uint8')
  case('summary_rank3', np.arange(7 * 12 * 13).reshape(7, 12, 13) % 127, 'int8')
  case('summary_rank3_thin', np.arange(2 * 3 * 200).reshape(2, 3, 200) % 100, 'int8')
  case('summary_bool', np.arange(1100) % 2 == 0, 'bool')
  case('summary_complex', np.arange(1001) * 1j, 'complex64')
  hidden = np.full((1500,), 1.0)
  hidden[700] = 1e6 + 0.5  # not shown, so it does not widen the columns
  case('summary_hidden_outlier', hidden, 'float32')
  hidden[700] = NAN
  hidden[2] = 0.125
  case('summary_hidden_nan', hidden, 'float32')
  case('summary_exponent', np.linspace(1e-9, 1, 1024), 'float32')
  case('summary_rank4', np.zeros((6, 7, 5, 6)), 'uint8')
  case('summary_zero_dim', np.zeros((2000, 0)), 'float32')


def complexes():
  for d in golden.COMPLEXES:
    case(f'pairs_{d}', [1 + 1j, 2.5 - 3j, -0.125 + 100j], d)
    case(f'nan_{d}', [complex(NAN, 1), complex(1, NAN), complex(INF, -INF)], d)
    case(f'exponent_{d}', [1e-10 + 1j, 1e10 - 1e-10j], d)
    case(f'quarters_{d}', np.arange(6).reshape(2, 3) * (0.5 - 0.25j), d)
    case(f'thirds_{d}', np.arange(1, 6) / 3 + 1j / np.arange(1, 6), d)
    case(f'imaginary_{d}', [0.5j, -1j], d)
    case(f'negative_zero_{d}', [complex(-0.0, -0.0), complex(0.0, 0.0)], d)


every_dtype()
scalars()
floats()
shapes()
wrapping()
summaries()
complexes()
topic.write({'cases': cases})
