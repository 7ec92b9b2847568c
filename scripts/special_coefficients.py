"""Prints tessera/scipy/special/coefficients.h, tessera/ops/special/bessel_coefficients.h and tessera/codegen/math/erf_coefficients.h:
the coefficients of the approximations of special functions, computed from the functions themselves.

    python3 scripts/special_coefficients.py scipy > tessera/scipy/special/coefficients.h
    python3 scripts/special_coefficients.py ops > tessera/ops/special/bessel_coefficients.h
    python3 scripts/special_coefficients.py codegen > tessera/codegen/math/erf_coefficients.h

It needs mpmath (1.4). The Chebyshev series are of functions that are smooth on their whole interval: coefficient k is
(2/n) sum_j f(cos t_j) cos(k t_j) over t_j = pi (j + 1/2) / n, with 50 digits. Coefficients below 1e-17 of the largest are left out.
"""
import sys

import mpmath as mp

mp.mp.dps = 50


def chebyshev(f, n=90):
  """Returns the coefficients of f on [-1, 1]; the first one is already halved."""
  angles = [mp.pi * (j + mp.mpf(1) / 2) / n for j in range(n)]
  values = [f(mp.cos(t)) for t in angles]
  out = [2 / mp.mpf(n) * mp.fsum(v * mp.cos(k * t) for v, t in zip(values, angles)) for k in range(n)]
  out[0] /= 2
  largest = max(abs(c) for c in out)
  while abs(out[-1]) < largest * mp.mpf('1e-17'):
    out.pop()
  return out


def on(low, high, f):
  """Returns a function of t in [-1, 1]: f(x) for x in [low, high]."""
  return chebyshev(lambda t: f(low + (high - low) * (t + 1) / 2))


def farther(scale, f):
  """Returns f(x) for x >= 0 as a function of t = (x - scale) / (x + scale)."""
  return chebyshev(lambda t: f(scale * (1 + t) / (1 - t)))


def erfcx(x):
  if x < 20:
    return mp.exp(x * x) * mp.erfc(x)
  return mp.fsum((-1)**k * mp.fac2(2 * k - 1) / (2 * x * x)**k for k in range(40)) / (x * mp.sqrt(mp.pi))


def erfcx_slope(x):  # -erfcx'(x) = 2 / sqrt(pi) - 2 x erfcx(x)
  if x > 20:
    return -2 / mp.sqrt(mp.pi) * mp.fsum((-1)**k * mp.fac2(2 * k - 1) / (2 * x * x)**k for k in range(1, 40))
  with mp.workdps(80):
    return 2 / mp.sqrt(mp.pi) - 2 * x * erfcx(x)


def dawsn(x):
  return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def ratio_near(f, x, digits=80):
  """Returns f(x) computed with more digits, for differences that cancel."""
  with mp.workdps(digits):
    return f(x)


def entire_e1(x):  # (E1(x) + log x + gamma) / x
  return mp.fsum((-1)**k * x**k / ((k + 1) * mp.fac(k + 1)) for k in range(60))


def entire_ei(x):  # (Ei(x) - log x - gamma) / x
  return mp.fsum(x**k / ((k + 1) * mp.fac(k + 1)) for k in range(90))


def sine_part(x):  # f of Si = pi/2 - f cos - g sin
  return mp.ci(x) * mp.sin(x) + (mp.pi / 2 - mp.si(x)) * mp.cos(x)


def cosine_part(x):  # g
  return -mp.ci(x) * mp.cos(x) + (mp.pi / 2 - mp.si(x)) * mp.sin(x)


def fresnel_f(x):
  a = mp.pi * x * x / 2
  half = mp.mpf(1) / 2
  return (half - mp.fresnels(x)) * mp.cos(a) - (half - mp.fresnelc(x)) * mp.sin(a)


def fresnel_g(x):
  a = mp.pi * x * x / 2
  half = mp.mpf(1) / 2
  return (half - mp.fresnelc(x)) * mp.cos(a) + (half - mp.fresnels(x)) * mp.sin(a)


def of_square(f, low, high, power):
  """Returns f(x) on [low, high] as a function of x**power."""
  return on(mp.mpf(low)**power, mp.mpf(high)**power, lambda y: f(mp.root(y, power)))


def beyond(f, low, power, shift=0):
  """Returns f(x) on [low, inf) as a function of ((low + shift) / (x + shift))**power in [0, 1]; f has a limit at infinity."""
  return on(0, 1, lambda v: f((low + shift) / mp.root(v, power) - shift))


def faddeeva(n):
  """Returns Weideman's coefficients, the highest power first (SIAM J. Numer. Anal. 31 (1994), 1497-1518)."""
  scale = mp.sqrt(n / mp.sqrt(2))
  count = 4 * n
  angles = [mp.pi * (2 * j + 1) / count for j in range(-count // 2, count // 2)]
  points = [scale * mp.tan(a / 2) for a in angles]
  values = [mp.exp(-t * t) * (scale**2 + t * t) for t in points]
  a = [mp.fsum(v * mp.cos(k * t) for v, t in zip(values, angles)) / count for k in range(1, n + 1)]
  return scale, a[::-1]


def half_gauss_legendre(n):
  """Returns the positive points and the weights of the Gauss-Legendre rule with 2 n points on [-1, 1]."""
  points, weights = [], []
  for k in range(1, n + 1):
    x = mp.cos(mp.pi * (k - mp.mpf(1) / 4) / (2 * n + mp.mpf(1) / 2))
    slope_at = lambda x: 2 * n * (x * mp.legendre(2 * n, x) - mp.legendre(2 * n - 1, x)) / (x * x - 1)
    for _ in range(8):
      x -= mp.legendre(2 * n, x) / slope_at(x)
    slope = slope_at(x)
    points.append(x)
    weights.append(2 / ((1 - x * x) * slope**2))
  return points, weights


def temme(orders, terms):
  """Returns the Taylor coefficients of c_k(eta) in the expansion of Q(a, x) for large a (DLMF 8.12.7 to 8.12.10)."""
  count = terms + 2 * orders + 4
  # lambda - 1 as a series in eta: eta^2 / 2 = m - log(1 + m).
  m = [mp.mpf(0), mp.mpf(1), mp.mpf(1) / 3]
  # DLMF 8.12.12: from m' = eta (1 + m) / m, that is m m' = eta (1 + m).
  while len(m) < count + 2:
    n = len(m)
    known = mp.fsum((j + 1) * m[j + 1] * m[n - j] for j in range(1, n - 1))
    # the coefficient of eta^n in m m': n m[n] m[1] + 1 m[1] m[n] + known
    m.append((m[n - 1] - known) / (n + 1))
  # eta / m as a series, by division.
  inverse = [mp.mpf(1)]
  for n in range(1, count):
    inverse.append(-mp.fsum(m[j + 1] * inverse[n - j] for j in range(1, n + 1)))
  # c_0 = 1 / m - 1 / eta = (eta / m - 1) / eta.
  c = [inverse[1:]]
  gammas = stirling_gamma(orders + 1)
  while len(c) < orders:
    k = len(c)
    last = c[-1]
    # c_k = (1 / eta) d/deta c_{k-1} + (-1)^k g_k / m, whose terms in 1 / eta cancel.
    g = (-1)**k * gammas[k]
    size = len(last) - 2
    c.append([(n + 2) * last[n + 2] + g * inverse[n + 1] for n in range(size)])
    assert abs(last[1] + g) < mp.mpf('1e-30'), (k, last[1], g)
  return [row[:terms] for row in c]


def stirling_gamma(n):
  """Returns the g_k of Gamma(a) ~ sqrt(2 pi / a) (a / e)^a sum g_k / a^k (DLMF 5.11.3)."""
  out = [mp.mpf(1)]
  logs = [mp.mpf(0)] + [mp.bernoulli(k + 1) / (k * (k + 1)) for k in range(1, n + 1)]
  for k in range(1, n + 1):
    out.append(mp.fsum(j * logs[j] * out[k - j] for j in range(1, k + 1)) / k)
  return out


def print_array(name, values, comment, indent=''):
  print(f'// {comment}')
  items = [mp.nstr(v, 19, min_fixed=0, max_fixed=0) for v in values]
  print(f'inline constexpr std::array k{name} = {{')
  line = '   '
  for i, item in enumerate(items):
    item += '};' if i + 1 == len(items) else ','
    if len(line) + len(item) + 1 > 100:
      print(line)
      line = '   '
    line += ' ' + item
  print(line)


def header(folder, what):
  print(f'// {what} Made by scripts/special_coefficients.py.')
  print('#pragma once\n\n#include <array>\n')
  print(f'namespace tessera::{folder} {{\n')


def print_ops():
  header('ops::special', 'Chebyshev series of Bessel functions.')
  print_array('I0Small', on(0, 8, lambda x: mp.exp(-x) * mp.besseli(0, x)), 'exp(-x) I0(x) on [0, 8].')
  print_array('I0Large', on(0, mp.mpf(1) / 8, lambda v: large_bessel(0, v)), 'exp(-x) I0(x) sqrt(x) by 1 / x on [0, 1/8].')
  print_array('I1Small', on(0, 8, lambda x: mp.exp(-x) * mp.besseli(1, x) / x if x else mp.mpf(1) / 2), 'exp(-x) I1(x) / x on [0, 8].')
  print_array('I1Large', on(0, mp.mpf(1) / 8, lambda v: large_bessel(1, v)), 'exp(-x) I1(x) sqrt(x) by 1 / x on [0, 1/8].')
  print('\n}  // namespace tessera::ops::special')


def interpolated(f, degree, low, high):
  """Returns the coefficients of the polynomial through f at Chebyshev's nodes of [low, high], the constant term first."""
  n = degree + 1
  nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
  differences = [f(x) for x in nodes]
  for j in range(1, n):
    for i in range(n - 1, j - 1, -1):
      differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - j])
  out = [differences[-1]]
  for i in range(n - 2, -1, -1):
    longer = [mp.mpf(0)] + out
    for k, value in enumerate(out):
      longer[k] -= value * nodes[i]
    longer[0] += differences[i]
    out = longer
  return out


def by_ratio(f, scale, degree, low, high):
  """Returns the coefficients of a polynomial in t = (x - scale) / (x + scale) that approximates f(x) on [low, high]."""
  ratio = lambda x: (x - scale) / (x + scale)
  return interpolated(lambda t: f(scale * (1 + t) / (1 - t)), degree, ratio(mp.mpf(low)), ratio(mp.mpf(high)))


def print_codegen():
  header('codegen', 'Polynomials of erf and erfc in float64.')
  erf_ratio = lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1 if u else 2 / mp.sqrt(mp.pi) - 1
  print_array('Erf', interpolated(erf_ratio, 11, mp.mpf(0), mp.mpf(1)), 'erf(x) / x - 1 by x^2 on [0, 1]: the error is below 8e-18.')
  print_array('ErfTail', by_ratio(erfcx, mp.mpf(3), 15, 1, 6),
              'erfcx(x) by t = (x - 3) / (x + 3) on [1, 6]: the relative error is below 6e-17.')
  factor = mp.mpf('1.125')  # near 2 / sqrt(pi), so that the slope at 0 is near 0
  print_array('Erfc', by_ratio(lambda x: (1 + factor * x) * erfcx(x), mp.mpf(3), 22, 0, mp.mpf('27.3')),
              '(1 + 1.125 x) erfcx(x) by t = (x - 3) / (x + 3) on [0, 27.3]: the relative error is below 2e-17.')
  print('\n}  // namespace tessera::codegen')


def large_bessel(order, v):
  x = 1 / v
  return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)


def print_scipy():
  header('scipy::special::internal', 'Coefficients of special functions.')
  print_array('Erfcx', farther(mp.mpf('3.75'), lambda x: (1 + 2 * x) * erfcx(x)), '(1 + 2 x) erfcx(x) by (x - 3.75) / (x + 3.75), x >= 0.')
  print_array('ErfcxSlope', farther(mp.mpf('3.75'), lambda x: (1 + 2 * x)**2 * erfcx_slope(x)), '-(1 + 2 x)^2 erfcx\'(x), likewise.')
  print_array('DawsnSmall', of_square(lambda x: dawsn(x) / x if x else mp.mpf(1), 0, 2, 2), 'dawsn(x) / x by x^2 on [0, 4].')
  print_array('DawsnMiddle', on(2, 5, dawsn), 'dawsn(x) on [2, 5].')
  print_array('DawsnLarge', beyond(lambda x: 2 * x * dawsn(x), mp.mpf(5), 2), '2 x dawsn(x) by (5 / x)^2 on [0, 1].')
  print_array('E1Small', on(0, 1, entire_e1), '(E1(x) + log x + gamma) / x on [0, 1].')
  print_array('E1Large', chebyshev(lambda t: e1_large(1 + 2 * (1 + t) / (1 - t))), 'x exp(x) E1(x) by t = (x - 3) / (x + 1), x >= 1.')
  print_array('EiSmall', on(0, 6, entire_ei), '(Ei(x) - log x - gamma) / x on [0, 6].')
  for name, low, high in ('A', 6, 12), ('B', 12, 24), ('C', 24, 48):
    print_array(f'Ei{name}', on(mp.mpf(1) / high, mp.mpf(1) / low, lambda v: ei_large(1 / v)), f'x exp(-x) Ei(x) by 1 / x, {low} <= x <= {high}.')
  print_array('EiD', on(0, mp.mpf(1) / 48, lambda v: ei_large(1 / v)), 'x exp(-x) Ei(x) by 1 / x, x >= 48.')
  print_array('SiSmall', of_square(lambda x: mp.si(x) / x, 0, 4, 2), 'Si(x) / x by x^2 on [0, 16].')
  print_array('CiSmall', of_square(lambda x: ratio_near(lambda y: (mp.ci(y) - mp.log(y) - mp.euler) / y**2, x), 0, 4, 2), '(Ci(x) - log x - gamma) / x^2 by x^2 on [0, 16].')
  print_array('SiCiF', beyond(lambda x: ratio_near(lambda y: y * sine_part(y), x), mp.mpf(4), 1, 4), 'x f(x) of DLMF 6.2.17 by 8 / (x + 4) on [0, 1], x >= 4.')
  print_array('SiCiG', beyond(lambda x: ratio_near(lambda y: y * y * cosine_part(y), x), mp.mpf(4), 1, 4), 'x^2 g(x) of DLMF 6.2.18 by 8 / (x + 4) on [0, 1], x >= 4.')
  print_array('FresnelS', of_square(lambda x: mp.fresnels(x) / x**3, 0, mp.mpf('1.6'), 4), 'S(x) / x^3 by x^4 on [0, 1.6^4].')
  print_array('FresnelC', of_square(lambda x: mp.fresnelc(x) / x, 0, mp.mpf('1.6'), 4), 'C(x) / x by x^4 on [0, 1.6^4].')
  print_array('FresnelF', beyond(lambda x: ratio_near(lambda y: mp.pi * y * fresnel_f(y), x, 90), mp.mpf('1.6'), 2), 'pi x f(x) of DLMF 7.2.10 by (1.6 / x)^2 on [0, 1].')
  print_array('FresnelG', beyond(lambda x: ratio_near(lambda y: mp.pi**2 * y**3 * fresnel_g(y), x, 90), mp.mpf('1.6'), 2), 'pi^2 x^3 g(x) of DLMF 7.2.11 by (1.6 / x)^2 on [0, 1].')
  scale, a = faddeeva(56)
  print(f"// Weideman's rational approximation of the Faddeeva function, {len(a)} terms, the highest power first.")
  print(f'inline constexpr double kFaddeevaScale = {mp.nstr(scale, 19)};')
  print_array('Faddeeva', a, 'Its coefficients.')
  points, weights = half_gauss_legendre(24)
  print_array('GaussPoints', points, 'The positive points of the Gauss-Legendre rule of 48 points on [-1, 1].')
  print_array('GaussWeights', weights, 'Their weights.')
  for k, row in enumerate(temme(5, 22)):
    print_array(f'Temme{k}', row, f'c_{k}(eta) of DLMF 8.12.7, by powers of eta.')
  print('\n}  // namespace tessera::scipy::special::internal')


def e1_large(x):
  if x > 60:
    return mp.fsum((-1)**k * mp.fac(k) / x**k for k in range(45))
  return x * mp.exp(x) * mp.e1(x)


def ei_large(x):
  if x > 120:
    return mp.fsum(mp.fac(k) / x**k for k in range(50))
  return x * mp.exp(-x) * mp.ei(x)


if __name__ == '__main__':
  {'scipy': print_scipy, 'ops': print_ops, 'codegen': print_codegen}[sys.argv[1]]()
