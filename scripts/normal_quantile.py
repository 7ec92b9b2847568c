#!/usr/bin/env python3
"""Prints the coefficients of tessera/privacy/noise/normal_draws.cc (needs mpmath; a minute).

kTop and kBottom are the numerator and the denominator of F(w) = quantile / x, where x = 1 - 2p and
w = -log(4 p (1 - p)) = -log(1 - x^2). Both are polynomials of degree 10 in w. They minimize the sum of
squares of the relative error at Chebyshev nodes of sqrt(w), with weights that grow where the error is
large (Loeb's linearisation, Lawson's weights). kAtanh is -2 atanh(s) / s as a polynomial of degree 4 in
s^2, by Remez exchange.
"""
import mpmath as mp

mp.mp.dps = 60
DEGREE, NODES, ROUNDS = 10, 150, 30
ROOT_LIMIT = mp.sqrt(-mp.log(4 * mp.mpf(2) ** -65)) * mp.mpf('1.0005')


def f(w):
  """Returns the quantile divided by x, by Halley's method on erfc."""
  v = mp.exp(-w)
  x = mp.sqrt(1 - v)
  p = v / (2 * (1 + x))
  y = mp.erfinv(x) if x < 0.9 else mp.sqrt(max(mp.mpf('.3'), w - mp.log(mp.sqrt(mp.pi * w))))
  for _ in range(100):
    step = (mp.erfc(y) - 2 * p) / (-2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
    step /= 1 + y * step
    y -= step
    if abs(step) < mp.mpf(10) ** -45 * y:
      break
  return mp.sqrt(2) * y / x


def quotient():
  """Returns the coefficients of the numerator and the denominator, and the largest relative error."""
  nodes = [(ROOT_LIMIT * (1 - mp.cos(mp.pi * (k + mp.mpf(.5)) / NODES)) / 2) ** 2 for k in range(NODES)]
  values = [f(w) for w in nodes]
  scale = ROOT_LIMIT**2
  weights, bottom, best = [mp.mpf(1)] * NODES, [mp.mpf(1)] * NODES, None
  for step in range(ROUNDS):
    a, b = mp.matrix(NODES, 2 * DEGREE + 1), mp.matrix(NODES, 1)
    for i, w in enumerate(nodes):
      c = mp.sqrt(weights[i]) / (values[i] * bottom[i])
      for j in range(DEGREE + 1):
        a[i, j] = c * (w / scale) ** j
      for j in range(1, DEGREE + 1):
        a[i, DEGREE + j] = -c * values[i] * (w / scale) ** j
      b[i] = c * values[i]
    x = mp.lu_solve(a.T * a, a.T * b)
    p = [x[j] / scale**j for j in range(DEGREE + 1)]
    q = [mp.mpf(1)] + [x[DEGREE + j] / scale**j for j in range(1, DEGREE + 1)]
    bottom = [abs(mp.polyval(q[::-1], w)) for w in nodes]
    errors = [mp.polyval(p[::-1], w) / d / value - 1 for w, d, value in zip(nodes, bottom, values)]
    largest = max(abs(e) for e in errors)
    if best is None or largest < best[2]:
      best = (p, q, largest)
    if step >= 2:
      weights = [w * (abs(e) / largest + mp.mpf('.03')) for w, e in zip(weights, errors)]
  return best


def atanh(degree=4):
  """Returns the coefficients of 2 atanh(s) / s in s^2, and the largest error."""
  limit = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
  g = lambda t: mp.mpf(2) if t == 0 else 2 * mp.atanh(mp.sqrt(t)) / mp.sqrt(t)
  points = [limit * (1 - mp.cos(mp.pi * k / (degree + 1))) / 2 for k in range(degree + 2)]
  grid = [limit * k / 2000 for k in range(2001)]
  for _ in range(6):
    a, b = mp.matrix(degree + 2, degree + 2), mp.matrix(degree + 2, 1)
    for i, t in enumerate(points):
      for j in range(degree + 1):
        a[i, j] = t**j
      a[i, degree + 1] = (-1) ** i
      b[i] = g(t)
    x = mp.lu_solve(a, b)
    c = [x[j] for j in range(degree + 1)]
    errors = [mp.polyval(c[::-1], t) - g(t) for t in grid]
    runs = [[0]]
    for k in range(1, len(grid)):
      if mp.sign(errors[k]) == mp.sign(errors[runs[-1][-1]]):
        runs[-1].append(k)
      else:
        runs.append([k])
    extrema = [grid[max(run, key=lambda k: abs(errors[k]))] for run in runs]
    if len(extrema) == degree + 2:
      points = extrema
  return c, max(abs(e) for e in errors)


def show(name, coefficients):
  print(name, ', '.join(repr(float(c)) for c in coefficients))


top, lower, error = quotient()
show('kTop', top)
show('kBottom', lower)
print('relative error', mp.nstr(error, 3))
series, error = atanh()
show('kAtanh', [-c for c in series])
print('error', mp.nstr(error, 3))
