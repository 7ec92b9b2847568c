"""scipy_special.json, scipy_special.npz: the functions of jax.scipy.special. Made by jax 0.12.0.1, whose module has more of them than
that of the version of the other topics:

    python3 -m venv VENV && VENV/bin/pip install jax==0.12.0.1 scipy mpmath==1.4.1

"points": {"name", "arguments": [array reference, ...], "values": [array reference of each result], "by": [references to the derivatives of
  the results by argument i, or null where there is none]}: exact values, by mpmath with 50 digits, rounded to float64.
"edges": the same at the ends of domains, at poles, infinities and NaN, as JAX has them in float64, or SciPy, where JAX has NaN; without
  derivatives.
"""
import warnings

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import scipy.special

import golden

jax.config.update('jax_platforms', 'cpu')
jax.config.update('jax_enable_x64', True)
warnings.simplefilter('ignore')
from jax.scipy import special  # noqa: E402

mp.mp.dps = 50
rng = np.random.default_rng(35)
topic = golden.Topic('scipy_special')
points, edges = [], []


def as_array(values):
  if any(isinstance(v, mp.mpc) for v in values):
    return np.array([complex(v) for v in values])
  return np.array([float(v) for v in values])


def derivative(f, i, point):
  def along(v):
    return f(*point[:i], v, *point[i + 1:])
  return mp.diff(along, point[i], h=(abs(point[i]) or 1) * mp.mpf('1e-15'))


def add(name, f, *arguments, by=None, results=1, slopes=None):
  """`by`: the arguments that there are derivatives by; None: all. `slopes`: their formulas, where differences are not exact."""
  arguments = np.broadcast_arrays(*(np.asarray(a) for a in arguments))
  arguments = [np.array(a) if np.iscomplexobj(a) else np.array(a, float) for a in arguments]
  by = range(len(arguments)) if by is None else by
  to_mp = lambda v: mp.mpc(complex(v)) if np.iscomplexobj(v) else mp.mpf(float(v))
  rows = [[to_mp(v) for v in point] for point in zip(*arguments)]
  parts = [(lambda *a, k=k: f(*a)[k]) if results > 1 else f for k in range(results)]
  key = f'p{len(points)}'
  entry = {
      'name': name,
      'arguments': [topic.array(f'{key}.in{i}', a) for i, a in enumerate(arguments)],
      'values': [topic.array(f'{key}.out{k}', as_array([p(*row) for row in rows])) for k, p in enumerate(parts)],
      'by': [[topic.array(f'{key}.by{i}.{k}', as_array([slopes[i](*row) if slopes else derivative(p, i, row) for row in rows])) for k, p in enumerate(parts)]
             if i in by else None for i in range(len(arguments))],
  }
  points.append(entry)
  print(name, len(rows), flush=True)


def edge(name, *arguments, call=None):
  arguments = [np.array(a, float) for a in np.broadcast_arrays(*(np.asarray(a) for a in arguments))]
  given = [a.astype(int) if name == 'polygamma' and i == 0 else a for i, a in enumerate(arguments)]
  out = (call or getattr(special, name))(*map(jnp.asarray, given))
  out = [np.array(y) for y in (out if isinstance(out, tuple) else [out])]
  if hasattr(scipy.special, name) and name != 'poch' and not call:
    others = getattr(scipy.special, name)(*given)
    for y, other in zip(out, others if isinstance(others, tuple) else [others]):
      y[...] = np.where(np.isnan(y), other, y)
  key = f'e{len(edges)}'
  edges.append({
      'name': name,
      'arguments': [topic.array(f'{key}.in{i}', a) for i, a in enumerate(arguments)],
      'values': [topic.array(f'{key}.out{k}', np.asarray(y)) for k, y in enumerate(out)],
  })


inf, nan = np.inf, np.nan
log_spaced = lambda low, high, n: np.exp(rng.uniform(np.log(low), np.log(high), n))
both_signs = lambda x: np.concatenate([x, -x])
ENDS = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, -3.0, inf, -inf, nan])

# --- Gamma functions ---
real_points = np.concatenate([log_spaced(1e-8, 1, 20), rng.uniform(0, 12, 40), rng.uniform(12, 171, 20), rng.uniform(-20, 0, 40)])
add('gamma', mp.gamma, real_points)
add('gammaln', lambda x: mp.log(abs(mp.gamma(x))), np.concatenate([real_points, log_spaced(1e2, 1e10, 20)]))
complex_points = rng.uniform(-12, 12, 60) + 1j * rng.uniform(-12, 12, 60)
add('gamma_complex', mp.gamma, complex_points)
add('loggamma_complex', mp.loggamma, np.concatenate([complex_points, 40 * complex_points]))
add('loggamma', mp.loggamma, np.abs(real_points))
add('digamma', mp.digamma, real_points)
orders, at = np.meshgrid([0, 1, 2, 3, 5, 10], [1e-3, 0.2, 0.7, 1, 1.5, 4.25, 9.5, 20, 150.5, -0.3, -2.6, -31.2], indexing='ij')
add('polygamma', lambda n, x: mp.polygamma(int(n), x), orders.ravel(), at.ravel(), by=[1])
exponents, starts = np.meshgrid([1.01, 1.5, 2, 3.3, 7, 20.5, 60], [1e-2, 0.5, 1, 2.5, 10, 123.4, 1e5], indexing='ij')
add('zeta', lambda s, q: mp.zeta(s, q), exponents.ravel(), starts.ravel())
add('zeta', lambda s, q: mp.zeta(s, q + 100) + mp.fsum((q + k)**-int(s) for k in range(100)),
    np.array([2.0, 3, 4, 2, 3, 4]), np.array([-0.5, -0.25, -3.3, -12.7, -40.1, -70.9]), by=[1])
add('multigammaln', lambda a: 3 * mp.log(mp.pi) + mp.fsum(mp.loggamma(a - mp.mpf(i) / 2) for i in range(4)), rng.uniform(1.6, 40, 20))
add('factorial', lambda n: mp.gamma(n + 1), np.concatenate([np.arange(0.0, 30), rng.uniform(0, 170, 20)]))
add('poch', lambda z, m: mp.gamma(z + m) / mp.gamma(z), rng.uniform(0.1, 60, 40), rng.uniform(-0.05, 60, 40), by=[0])
n = rng.integers(0, 60, 40).astype(float)
add('comb', mp.binomial, n, np.floor(n * rng.uniform(0, 1, 40)), by=[])
a, b = log_spaced(1e-3, 1e3, 80), log_spaced(1e-3, 1e3, 80)
add('beta', mp.beta, a[:40] / 20, b[:40] / 20)
add('betaln', lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), np.concatenate([a, 1e6 * a[:20]]), np.concatenate([b, b[:20]]))


def lower_gamma(a, x):
  return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
  return mp.gammainc(a, x, mp.inf, regularized=True)


a = np.concatenate([log_spaced(1e-2, 150, 50), log_spaced(150, 3000, 20)])
x = a * np.concatenate([log_spaced(0.05, 12, 50), 1 + rng.normal(0, 0.1, 20)])
add('gammainc', lower_gamma, a, x)
add('gammaincc', upper_gamma, a, x)
a, b = log_spaced(0.05, 300, 60), log_spaced(0.05, 300, 60)
x = np.clip(a / (a + b) * np.exp(rng.normal(0, 0.5, 60)), 1e-6, 0.999)
add('betainc', lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), a, b, x)

# --- Error functions ---
x = np.concatenate([both_signs(log_spaced(1e-6, 1, 10)), rng.uniform(-5, 5, 40), rng.uniform(5, 26, 10)])
add('erf', mp.erf, x[:60])
add('erfc', mp.erfc, x)
add('erfinv', mp.erfinv, np.concatenate([rng.uniform(-0.999, 0.999, 30), log_spaced(1e-9, 1e-2, 5)]))


def erfcinv(y):
  if y > mp.mpf('0.1'):
    return mp.erfinv(1 - y)
  u = mp.sqrt(-mp.log(y))
  for _ in range(12):  # Newton's method on the logarithms
    u += (mp.log(mp.erfc(u)) - mp.log(y)) * mp.erfc(u) * mp.exp(u * u) * mp.sqrt(mp.pi) / 2
  return u


def inverse_normal(p):
  return -mp.sqrt(2) * erfcinv(2 * p) if p < mp.mpf('0.5') else mp.sqrt(2) * erfcinv(2 - 2 * p)


small = log_spaced(1e-290, 0.1, 25)
add('erfcinv', erfcinv, np.concatenate([small, rng.uniform(0.1, 1.95, 30)]))
add('ndtri', inverse_normal, np.concatenate([small, rng.uniform(0.05, 0.97, 30)]))
erfcx = lambda x: mp.exp(x * x) * mp.erfc(x)
far = np.concatenate([rng.uniform(-25, 30, 50), both_signs(log_spaced(1e-6, 1, 10)), log_spaced(30, 1e6, 10)])


def accurate_erfcx(x):
  with mp.workdps(60):
    if mp.re(x) > 1000:
      return mp.fsum((-1)**k * mp.fac2(2 * k - 1) / (2 * x * x)**k for k in range(12)) / (x * mp.sqrt(mp.pi))
    return erfcx(x)


add('erfcx', accurate_erfcx, far)
add('dawsn', lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), np.concatenate([rng.uniform(-9, 9, 50), log_spaced(1e-6, 1, 10), log_spaced(9, 40, 10)]))
plane = rng.uniform(-8, 8, 60) + 1j * rng.uniform(-3, 8, 60)
faddeeva = lambda z: mp.exp(-z * z) * mp.erfc(-1j * z)
add('wofz', faddeeva, np.concatenate([plane, 30 * np.abs(plane[:10].real) + 1j * np.abs(plane[:10].imag)]))
add('erfcx_complex', erfcx, rng.uniform(-2, 6, 30) + 1j * rng.uniform(-5, 5, 30))
x = np.concatenate([rng.uniform(-37, 9, 50), both_signs(log_spaced(1e-6, 1, 5))])
add('ndtr', mp.ncdf, x)
add('log_ndtr', lambda x: mp.log(mp.ncdf(x)), np.concatenate([x, -log_spaced(37, 1e3, 10)]))


def owens_t(h, a):
  f = lambda u: mp.exp(-h * h * (1 + u * u) / 2) / (1 + u * u)
  size = abs(h) + 1
  ends = [0] + [e for e in (1 / size, 4 / size, 12 / size) if e < abs(a)] + [abs(a)]
  return mp.sign(a) * mp.quad(f, ends) / (2 * mp.pi)


with mp.workdps(30):
  add('owens_t', owens_t, rng.uniform(-6, 6, 40), rng.normal(0, 3, 40),
      slopes=[lambda h, a: -mp.exp(-h * h / 2) * mp.erf(a * h / mp.sqrt(2)) / (2 * mp.sqrt(2 * mp.pi)),
              lambda h, a: mp.exp(-h * h * (1 + a * a) / 2) / (2 * mp.pi * (1 + a * a))])

# --- Elementary functions ---
x = rng.uniform(0, 1, 30)
add('expit', lambda x: 1 / (1 + mp.exp(-x)), rng.uniform(-40, 40, 30))
add('logit', lambda x: mp.log(x / (1 - x)), np.concatenate([x, 0.5 + rng.normal(0, 1e-4, 10), log_spaced(1e-12, 1e-2, 5)]))
p, q = log_spaced(1e-3, 1e3, 30), log_spaced(1e-3, 1e3, 30)
add('xlogy', lambda x, y: x * mp.log(y), p, q)
add('xlog1py', lambda x, y: x * mp.log(1 + y), p, q - 0.5)
add('entr', lambda x: -x * mp.log(x), p)
q2 = np.concatenate([q, p * (1 + rng.normal(0, 1e-2, 30)), p * (1 + rng.normal(0, 1e-7, 30))])
p2 = np.concatenate([p, p, p])
add('rel_entr', lambda p, q: p * mp.log(p / q), p2, q2)
add('kl_div', lambda p, q: p * mp.log(p / q) - p + q, p2, q2)
add('boxcox', lambda x, l: (x**l - 1) / l, p, rng.normal(0, 2, 30))
add('boxcox1p', lambda x, l: ((1 + x)**l - 1) / l, p, rng.normal(0, 2, 30))

# --- Bessel functions and integrals ---
x = np.concatenate([rng.uniform(-30, 30, 40), both_signs(log_spaced(1e-5, 1, 8)), log_spaced(30, 600, 8)])
add('i0', lambda x: mp.besseli(0, x), x)
add('i0e', lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), x)
add('i1', lambda x: mp.besseli(1, x), x)
add('i1e', lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), x)
z = np.concatenate([rng.uniform(-18, 18, 20), both_signs(log_spaced(1e-4, 1, 5))])
add('bessel_jn', lambda z: tuple(mp.besselj(k, z) for k in range(5)), z, results=5)
x = np.concatenate([log_spaced(1e-6, 1, 15), rng.uniform(0.5, 60, 40), log_spaced(60, 600, 10)])
add('expi', mp.ei, both_signs(x))
add('exp1', mp.e1, x)
orders, at = np.meshgrid([0, 1, 2, 3, 7, 25, 100], [1e-3, 0.3, 0.99, 1.0, 1.1, 2.5, 10, 80, 600], indexing='ij')
add('expn', lambda n, x: mp.expint(int(n), x), orders.ravel(), at.ravel(), by=[1], slopes=[None, lambda n, x: -mp.expint(int(n) - 1, x)])
x = np.concatenate([both_signs(log_spaced(1e-5, 1, 8)), rng.uniform(-30, 30, 40), log_spaced(30, 1e4, 8)])
add('sici', lambda x: (mp.si(x), mp.ci(abs(x)) if isinstance(x, mp.mpf) else mp.ci(x)), x, results=2)
x = np.concatenate([both_signs(log_spaced(1e-4, 1, 8)), rng.uniform(-10, 10, 40), log_spaced(10, 1e3, 8)])
add('fresnel', lambda x: (mp.fresnels(x), mp.fresnelc(x)), x, results=2)
add('spence', lambda x: mp.polylog(2, 1 - x), np.concatenate([log_spaced(1e-8, 1, 15), rng.uniform(0.2, 4, 30), log_spaced(4, 1e6, 10)]))

# --- Hypergeometric functions and harmonics ---
a, b = rng.uniform(-3, 6, 60), rng.uniform(0.3, 8, 60)
x = np.concatenate([rng.uniform(-60, 60, 50), both_signs(log_spaced(150, 600, 5))])
add('hyp1f1', mp.hyp1f1, a, b, x)
a, b, c = rng.uniform(0.1, 4, 70), rng.uniform(0.1, 4, 70), rng.uniform(0.5, 9, 70)
x = np.concatenate([rng.uniform(-0.9, 0.9, 40), rng.uniform(0.9, 0.995, 15), -log_spaced(0.9, 50, 15)])
c[40:45] = a[40:45] + b[40:45] + np.array([0.0, 1.0, 2.0, 3.0, -1.0])
add('hyp2f1', mp.hyp2f1, a, b, c, x)
degree = rng.integers(0, 13, 40)
order = np.round(degree * rng.uniform(-1, 1, 40)).astype(int)
theta, phi = rng.uniform(0.01, 3.1, 40), rng.uniform(0, 6.2, 40)


def harmonic(n, m, theta, phi):
  n, m = int(n), int(m)
  k = abs(m)
  norm = mp.sqrt((2 * n + 1) / (4 * mp.pi) * mp.fac(n - k) / mp.fac(n + k))
  s = mp.sin(theta / 2)**2
  # P_n^k by its hypergeometric polynomial, with the sign (-1)^k.
  legendre = (-1)**k * mp.fac(n + k) / mp.fac(n - k) * (mp.sin(theta) / 2)**k / mp.fac(k) * mp.hyp2f1(k - n, n + k + 1, k + 1, s)
  value = norm * legendre * mp.expj(k * phi)
  return (-1)**k * mp.conj(value) if m < 0 else value


add('sph_harm_y', harmonic, degree.astype(float), order.astype(float), theta, phi, by=[])

# --- Ends of domains ---
for name in ('gamma gammaln loggamma gammasgn factorial erfinv erfcinv erfcx dawsn ndtr ndtri log_ndtr expit logit entr i0 i0e i1 '
             'i1e expi exp1 digamma erf erfc').split():
  edge(name, ENDS)
edge('spence', ENDS[ENDS != inf])
edge('gammasgn', np.array([-0.5, -1.5, -2.5, -7.3, 0.5]))
edge('sici', ENDS)
edge('fresnel', ENDS)
first, second = [v.ravel() for v in np.meshgrid([0.0, 1.0, -1.0, 2.5, inf, nan], [0.0, 1.0, -1.0, 0.3, inf, nan])]
for name in 'xlogy xlog1py rel_entr kl_div gammainc gammaincc expn owens_t boxcox boxcox1p poch'.split():
  edge(name, first, second)
edge('betainc', np.array([1.0, 1, 2, 0.5, -1, 1, 1, nan, 2, 3]), np.array([1.0, 2, 1, 0.5, 1, -1, 1, 1, 3, 2]), np.array([0.0, 1, 0, 1, 0.5, 0.5, 1.5, 0.5, -0.5, nan]))
edge('zeta', np.array([1.0, 0.5, 2, 2, 2, 2.5, nan, 2, 3]), np.array([1.0, 1, 0, -1, -2, -0.5, 1, nan, inf]))
edge('polygamma', np.array([0, 1, 2, 1, 3]), np.array([0.0, 0.0, -1.0, nan, inf]))
edge('comb', np.array([5.0, 5, 5, -1, 0, 5]), np.array([0.0, 5, 6, 2, 0, -1]))
edge('hyp1f1', np.array([0.0, 2, 1, 1, 2]), np.array([1.0, 2, 0, 2, 3]), np.array([3.0, 1.5, 1, 0, nan]))
edge('hyp2f1', np.array([0.0, 1, 1, 1, 1, 0.5]), np.array([1.0, 0, 2, 2, 1, 0.25]), np.array([2.0, 3, 0, 3, 1.5, 2]), np.array([0.5, 0.5, 0.3, 0, 1.5, 1]))
edge('bernoulli', np.arange(40.0), call=lambda x: jnp.asarray([-0.5 if k == 1 else float(mp.bernoulli(k)) for k in range(40)]))

topic.write({'jax': jax.__version__, 'points': points, 'edges': edges})
