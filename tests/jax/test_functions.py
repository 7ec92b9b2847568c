"""Elementwise functions reach Tessera by name, so that they have its accuracy: compared with SciPy and, for complex numbers,
with Python's cmath, which follows C99's rules for branch cuts."""
import cmath
import math
import re

import jax
from jax import lax
from jax.sharding import PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

# Every 509th float32: all exponents and both signs, special values included.
FLOATS = np.concatenate([np.arange(0, 2**32, 509, dtype=np.uint64).astype(np.uint32).view(np.float32),
                         np.float32([0, -0.0, np.inf, -np.inf, np.nan, 3.9004288, -3.9004288])])


def ulps(got, want, dtype):
  """Returns the largest distance in units of the last place of dtype, over values that dtype can represent."""
  limits = np.finfo(dtype)
  want = np.asarray(want, np.longdouble)
  inside = np.isfinite(want) & (abs(want) <= limits.max)
  unit = np.maximum(np.exp2(np.floor(np.log2(np.maximum(abs(want[inside]), limits.tiny)))), limits.tiny) * limits.eps
  return float(np.max(abs(got[inside].astype(np.longdouble) - want[inside]) / unit))


@pytest.mark.parametrize('name, reference, low, high, bound', [
    ('erf', scipy.special.erf, -1, 1, 2),
    ('erfc', scipy.special.erfc, 0, 2, 2),
    ('tanh', np.tanh, -1, 1, 2),
    ('logistic', scipy.special.expit, 0, 1, 2),
    ('sin', np.sin, -1, 1, 2),
    ('cos', np.cos, -1, 1, 2)])
def test_functions_stay_in_their_range(name, reference, low, high, bound):
  x = FLOATS[abs(FLOATS) < 1e5] if name in ('sin', 'cos') else FLOATS
  with np.errstate(all='ignore'):
    want = reference(x.astype(np.float64))
  got = np.asarray(jax.jit(getattr(lax, name))(x))
  inside = got[~np.isnan(x)]
  assert inside.min() >= low and inside.max() <= high
  assert np.isnan(got[np.isnan(x)]).all()
  assert ulps(got, want, np.float32) <= bound


@pytest.mark.parametrize('dtype', ['float16', 'bfloat16'])
@pytest.mark.parametrize('name, low, high', [('erf', -1, 1), ('erfc', 0, 2), ('tanh', -1, 1), ('logistic', 0, 1), ('sin', -1, 1),
                                             ('cos', -1, 1)])
def test_functions_of_every_half_stay_in_their_range(name, low, high, dtype):
  x = lax.bitcast_convert_type(jnp.arange(2**16, dtype=jnp.uint16), jnp.dtype(dtype))
  got = np.asarray(jax.jit(getattr(lax, name))(x).astype(jnp.float32))
  finite = np.isfinite(np.asarray(x.astype(jnp.float32)))
  assert got[finite].min() >= low and got[finite].max() <= high


def test_functions_of_float64_stay_in_their_range():
  with jax.enable_x64(True):
    x = np.concatenate([np.linspace(-40, 40, 100001), np.logspace(-300, 4, 10001)])
    for name, reference, low, high in (('erf', math.erf, -1, 1), ('erfc', math.erfc, 0, 2), ('tanh', math.tanh, -1, 1),
                                       ('logistic', scipy.special.expit, 0, 1)):
      got = np.asarray(jax.jit(getattr(lax, name))(x))
      assert got.min() >= low and got.max() <= high, name
      assert ulps(got, np.array([reference(v) for v in x.tolist()]), np.float64) <= 6, name


# In float64, SciPy's own errors, of some units, are part of the bounds.
@pytest.mark.parametrize('name, reference, bounds', [('bessel_i0e', scipy.special.i0e, (4, 6)),
                                                     ('bessel_i1e', scipy.special.i1e, (6, 11))])
def test_bessel_functions_are_within_a_few_units(name, reference, bounds):
  call = jax.jit(getattr(lax, name))
  x = np.concatenate([np.linspace(-40, 40, 40001), np.logspace(-30, 30, 10001), [7.9999995, 8, 8.000001, 0, -0.0]])
  want = reference(x.astype(np.float32).astype(np.float64))
  assert ulps(np.asarray(call(x.astype(np.float32))), want, np.float32) <= bounds[0]
  with jax.enable_x64(True):
    assert ulps(np.asarray(call(x)), reference(x), np.float64) <= bounds[1]
    special = np.asarray(call(np.array([np.inf, -np.inf, np.nan, -0.0])))
  np.testing.assert_array_equal(special, reference(np.array([np.inf, -np.inf, np.nan, -0.0])))


def test_softmax_is_a_distribution():
  x = np.float32([[1e4, -1e4, 0], [88, 89, 90], [-1e30, 1e30, 1]])
  p = np.asarray(jax.jit(jax.nn.softmax)(x))
  assert (p >= 0).all() and (p <= 1).all()
  np.testing.assert_allclose(p.sum(1), 1, atol=1e-6)


@pytest.mark.parametrize('name', ['erfc', 'erf_inv', 'lgamma', 'digamma', 'bessel_i0e', 'bessel_i1e'])
def test_the_plugin_gets_the_function_itself(name):
  text = jax.jit(getattr(lax, name)).lower(np.ones(3, np.float32)).as_text()
  assert re.search(rf'composite "chlo\.{name}"', text)
  assert jax.jit(jax.grad(lambda x: getattr(lax, name)(x).sum()))(np.full(3, 0.5, np.float32)).shape == (3,)


def test_a_program_for_all_platforms_does_not_depend_on_the_plugin():
  exported = jax.export.export(jax.jit(lax.erfc), platforms=['cpu', 'tessera'])(np.ones(3, np.float32))
  np.testing.assert_allclose(exported.call(np.ones(3, np.float32)), scipy.special.erfc(1), rtol=1e-6)


def test_named_functions_of_shards():
  mesh = jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Explicit,))
  x = jax.device_put(np.linspace(-3, 3, 16, dtype=np.float32), jax.sharding.NamedSharding(mesh, P('x')))
  out = jax.jit(lax.erfc)(x)
  assert out.sharding.spec == P('x')
  np.testing.assert_allclose(out, scipy.special.erfc(np.asarray(x)), rtol=1e-6)
  parts = jax.jit(jax.shard_map(lax.lgamma, mesh=mesh, in_specs=P('x'), out_specs=P('x')))(x + 4)
  np.testing.assert_allclose(parts, scipy.special.gammaln(np.asarray(x) + 4), rtol=2e-5, atol=1e-6)


# Points on both sides of each cut: the sign of a zero determines the side.
@pytest.mark.parametrize('name, reference, points', [
    ('sqrt', cmath.sqrt, [-4, -1e-3]),
    ('log', cmath.log, [-4, -1]),
    ('acos', cmath.acos, [-2, 2]),
    ('asin', cmath.asin, [-2, 2]),
    ('acosh', cmath.acosh, [-2, -0.5]),
    ('atanh', cmath.atanh, [-2, 2])])
def test_the_sign_of_zero_chooses_the_side_of_a_cut(name, reference, points):
  for point in points:
    for zero in (0.0, -0.0):
      z = complex(point, zero)
      got = complex(np.asarray(jax.jit(getattr(lax, name))(np.full(3, z, np.complex64)))[0])
      want = reference(z)
      assert abs(got - want) <= 4e-7 * abs(want), (name, z, got, want)


@pytest.mark.parametrize('name, reference, points', [('asinh', cmath.asinh, [2j, -2j]), ('atan', cmath.atan, [2j, -2j])])
def test_the_sign_of_zero_chooses_the_side_of_an_imaginary_cut(name, reference, points):
  for point in points:
    for zero in (0.0, -0.0):
      z = complex(zero, point.imag)
      got = complex(np.asarray(jax.jit(getattr(lax, name))(np.full(3, z, np.complex64)))[0])
      want = reference(z)
      assert abs(got - want) <= 4e-7 * abs(want), (name, z, got, want)


@pytest.mark.parametrize('name, reference', [
    ('sqrt', cmath.sqrt), ('log', cmath.log), ('exp', cmath.exp), ('sin', cmath.sin), ('cos', cmath.cos), ('sinh', cmath.sinh),
    ('cosh', cmath.cosh), ('asin', cmath.asin), ('acos', cmath.acos), ('atan', cmath.atan), ('asinh', cmath.asinh),
    ('acosh', cmath.acosh), ('atanh', cmath.atanh)])
def test_complex_functions_are_near_those_of_c(name, reference):
  random = np.random.default_rng(0)
  z = (random.uniform(-3, 3, 500) + 1j * random.uniform(-3, 3, 500)).astype(np.complex64)
  got = np.asarray(jax.jit(getattr(lax, name))(z))
  want = np.array([reference(complex(v)) for v in z])
  assert (abs(got - want) <= 5e-7 * abs(want)).all()


def test_logarithms_near_the_unit_circle_keep_the_digits_of_their_real_part():
  random = np.random.default_rng(0)
  angle, radius = random.uniform(0, 2 * np.pi, 3000), 1 + random.choice([0, 1e-7, 1e-4, 0.1], 3000) * random.normal(size=3000)
  z = (radius * np.exp(1j * angle)).astype(np.complex64)
  near = (z - 1).astype(np.complex64)
  x, y = z.real.astype(np.longdouble), z.imag.astype(np.longdouble)
  # Squares of float32 are exact in 80 bits.
  assert ulps(np.asarray(jax.jit(lax.log)(z)).real, np.log1p((x * x - 1) + y * y) / 2, np.float32) <= 3
  x, y = near.real.astype(np.longdouble), near.imag.astype(np.longdouble)
  # Terms up to 4 with twice float32's digits: a few bits of the smallest results are lost.
  assert ulps(np.asarray(jax.jit(lax.log1p)(near)).real, np.log1p(2 * x + (x * x + y * y)) / 2, np.float32) <= 64


@pytest.mark.parametrize('dtype, ulp', [(np.complex64, 2), (np.complex128, 6)])
def test_the_logistic_function_near_its_poles(dtype, ulp):
  # At pi i (2k + 1) + u the function is -1 / expm1(-u); nearest(pi) is 1.22e-16 less than pi.
  random = np.random.default_rng(0)
  for pole in (np.pi, -np.pi):
    u = 10**random.uniform(-6, -1, 500) * np.exp(2j * np.pi * random.uniform(size=500))
    with jax.enable_x64(True):
      z = (pole * 1j + u).astype(dtype)
      got = np.asarray(jax.jit(lax.logistic)(z))
    wide = z.astype(np.complex128)
    exact = wide.real + 1j * ((wide.imag - pole) - np.copysign(1.2246467991473532e-16, pole))
    want = -1 / np.expm1(-exact)
    assert (abs(got - want) <= ulp * np.finfo(dtype).eps * abs(want)).all()


# Computed in float64 and rounded once, except for the angle of asin and asinh.
@pytest.mark.parametrize('name, reference, ulp', [
    ('exp', np.exp, 0.51), ('expm1', np.expm1, 0.51), ('sin', np.sin, 0.51), ('cos', np.cos, 0.51), ('tan', np.tan, 0.51),
    ('sinh', np.sinh, 0.51), ('cosh', np.cosh, 0.51), ('tanh', np.tanh, 0.51), ('asin', np.arcsin, 2), ('asinh', np.arcsinh, 2)])
def test_functions_of_complex64(name, reference, ulp):
  random = np.random.default_rng(0)
  z = (random.uniform(-3, 3, 3000) + 1j * random.uniform(-3, 3, 3000)).astype(np.complex64)
  got, want = np.asarray(jax.jit(getattr(lax, name))(z)), reference(z.astype(np.complex128))
  for got_part, want_part in ((got.real, want.real), (got.imag, want.imag)):
    assert (abs(got_part - want_part) <= ulp * np.spacing(abs(want).astype(np.float32))).all()


@pytest.mark.parametrize('dtype, largest', [(np.float16, 14), (np.float32, 120), (np.float64, 1000)])
def test_exp2_of_large_arguments(dtype, largest):
  with jax.enable_x64(True):
    x = np.random.default_rng(0).uniform(-largest, largest, 5000).astype(dtype)
    got = np.asarray(jax.jit(lax.exp2)(x))
    assert got.dtype == x.dtype
    assert ulps(got, np.exp2(x.astype(np.longdouble)), dtype) <= 1
    whole = np.arange(-largest, largest).astype(dtype)
    np.testing.assert_array_equal(np.asarray(jax.jit(lax.exp2)(whole)), np.exp2(whole.astype(np.float64)).astype(dtype))
