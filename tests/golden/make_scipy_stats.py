"""scipy_stats.json, scipy_stats.npz: the distributions and statistics of jax.scipy.stats in float64. Made by jax 0.12.0.1, as
scipy_special:

    python3 -m venv VENV && VENV/bin/pip install jax==0.12.0.1 scipy mpmath==1.4.1

"points" and "edges" as in scipy_special.json, by JAX; a function's name is that of its module and its own, "norm.logpdf". Where JAX's own
value is inexact (the entropy of Poisson's distribution, tails that it takes as differences) it is from mpmath.
"calls": {"name", "arguments", "values"} of functions whose results are no function of single elements.
"""
import warnings

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np

import golden

jax.config.update('jax_platforms', 'cpu')
jax.config.update('jax_enable_x64', True)
warnings.simplefilter('ignore')
from jax.scipy import stats  # noqa: E402

mp.mp.dps = 40
rng = np.random.default_rng(36)
topic = golden.Topic('scipy_stats')
points, edges, calls = [], [], []
N = 24


def function(name):
  module, f = name.split('.')
  return getattr(getattr(stats, module), f)


def store(kind, entries, arguments, values, by=None):
  key = f'{kind}{len(entries)}'
  entry = {
      'arguments': [topic.array(f'{key}.in{i}', a) for i, a in enumerate(arguments)],
      'values': [topic.array(f'{key}.out{k}', np.asarray(v)) for k, v in enumerate(values)],
  }
  if by is not None:
    entry['by'] = [None if d is None else [topic.array(f'{key}.by{i}', np.asarray(d))] for i, d in enumerate(by)]
  return entry


def add(name, *arguments, discrete=()):
  """A function and its derivatives by all arguments but those that are discrete."""
  if name in EXACT:
    return exact(name, EXACT[name], *arguments)
  f = function(name)
  arguments = [np.array(a, float) for a in np.broadcast_arrays(*arguments)]
  value = f(*map(jnp.asarray, arguments))
  by = [None if i in discrete else jax.grad(lambda *a: jnp.sum(f(*a)), argnums=i)(*map(jnp.asarray, arguments))
        for i in range(len(arguments))]
  for y in [value] + [d for d in by if d is not None]:
    assert np.all(np.isfinite(y)), (name, y)
  points.append({'name': name, **store('p', points, arguments, [value], by)})


def exact(name, f, *arguments, discrete=()):
  arguments = [np.array(a, float) for a in np.broadcast_arrays(*arguments)]
  rows = [[mp.mpf(float(v)) for v in row] for row in zip(*arguments)]
  slope = lambda i, row: mp.diff(lambda v: f(*row[:i], v, *row[i + 1:]), row[i], h=abs(row[i]) * mp.mpf('1e-12'))
  value = np.array([float(f(*row)) for row in rows])
  by = [None if i in discrete else np.array([float(slope(i, row)) for row in rows]) for i in range(len(arguments))]
  points.append({'name': name, **store('p', points, arguments, [value], by)})


# JAX has no derivatives of Gumbel's, and its betaln is exact to 1e-7 in places.
gumbel_l_logpdf = lambda x, l, s: (x - l) / s - mp.exp((x - l) / s) - mp.log(s)
gumbel_r_logpdf = lambda x, l, s: gumbel_l_logpdf(-x, -l, s)
beta_log = lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
beta_logpdf = lambda x, a, b, l, s: (a - 1) * mp.log((x - l) / s) + (b - 1) * mp.log(1 - (x - l) / s) - beta_log(a, b) - mp.log(s)
EXACT = {
    'beta.logpdf': beta_logpdf,
    'beta.pdf': lambda *a: mp.exp(beta_logpdf(*a)),
    'gumbel_l.logpdf': gumbel_l_logpdf,
    'gumbel_l.pdf': lambda *a: mp.exp(gumbel_l_logpdf(*a)),
    'gumbel_l.ppf': lambda p, l, s: l + s * mp.log(-mp.log(1 - p)),
    'gumbel_r.logpdf': gumbel_r_logpdf,
    'gumbel_r.pdf': lambda *a: mp.exp(gumbel_r_logpdf(*a)),
    'gumbel_r.ppf': lambda p, l, s: l - s * mp.log(-mp.log(p)),
}


def edge(name, *arguments):
  arguments = [np.array(a, float) for a in np.broadcast_arrays(*arguments)]
  edges.append({'name': name, **store('e', edges, arguments, [function(name)(*map(jnp.asarray, arguments))])})


def call(name, f, *arguments):
  out = f(*map(jnp.asarray, arguments))
  out = list(out) if isinstance(out, tuple) else [out]
  calls.append({'name': name, **store('c', calls, [np.asarray(a) for a in arguments], out)})


loc, scale = rng.normal(0, 2, N), rng.uniform(0.3, 3, N)
q = rng.uniform(0.02, 0.98, N)
z = rng.normal(0, 1.5, N)
ends = np.array([-np.inf, -2.0, 0.0, 1.0, 2.0, np.inf, np.nan])
probabilities = np.array([-0.5, 0.0, 0.3, 0.5, 1.0, 1.5, np.nan])
for name, functions in {
    'cauchy': 'logpdf pdf cdf logcdf sf logsf', 'gumbel_l': 'logpdf pdf cdf logcdf sf logsf', 'gumbel_r': 'logpdf pdf cdf logcdf sf logsf',
    'laplace': 'logpdf pdf cdf', 'logistic': 'logpdf pdf cdf sf', 'norm': 'logpdf pdf cdf logcdf sf logsf'
}.items():
  for f in functions.split():
    add(f'{name}.{f}', loc + scale * z, loc, scale)
    edge(f'{name}.{f}', ends, 0.0, 1.0)
for name in 'cauchy.ppf cauchy.isf expon.ppf gumbel_l.ppf gumbel_r.ppf logistic.ppf logistic.isf norm.ppf norm.isf uniform.ppf'.split():
  add(name, q, loc, scale)
  edge(name, probabilities, 0.0, 1.0)
for f in 'logpdf pdf cdf logcdf sf logsf'.split():
  add(f'expon.{f}', loc + scale * np.abs(z), loc, scale)
  edge(f'expon.{f}', ends, 0.0, 1.0)
for f in 'logpdf pdf cdf'.split():
  add(f'uniform.{f}', loc + scale * q, loc, scale)
  edge(f'uniform.{f}', ends, 0.0, 1.5)
a, b = rng.uniform(0.4, 9, N), rng.uniform(0.4, 9, N)
for f in 'logpdf pdf cdf logcdf sf logsf'.split():
  # JAX has no derivatives of betainc by a and b: those are in scipy_special.
  add(f'beta.{f}', loc + scale * q, a, b, loc, scale, discrete=() if 'pdf' in f else (1, 2))
  edge(f'beta.{f}', np.array([-0.5, 0.5, 0.5, 1.5, 0.2]), np.array([1.0, 2, -1, 2, 2]), np.array([1.0, 2, 1, 3, 3]), 0.0, 1.0)
  add(f'gamma.{f}', loc + scale * a * q * 2, a, loc, scale)
  edge(f'gamma.{f}', ends, 2.0, 0.0, 1.0)
  add(f'chi2.{f}', loc + scale * a * q * 2, a, loc, scale)
  edge(f'chi2.{f}', ends[:-1], 3.0, 0.0, 1.0)
  add(f'pareto.{f}', loc + scale * (1 + np.abs(z)), b, loc, scale)
  edge(f'pareto.{f}', ends[1:5], 2.0, 0.0, 1.0)
  low, high = rng.uniform(-3, 0, N), rng.uniform(0.2, 3, N)
  add(f'truncnorm.{f}', loc + scale * (low + (high - low) * q), low, high, loc, scale)
  shifted = rng.uniform(2, 5, N)
  add(f'truncnorm.{f}', loc + scale * (low + shifted + (high - low) * q), low + shifted, high + shifted, loc, scale)
  edge(f'truncnorm.{f}', np.array([-2.0, 0.5, 2, 0.5, 0.5]), np.array([-1.0, -1, -1, 1, -np.inf]), np.array([1.0, 1, 1, -1, np.inf]), 0.0, 1.0)
add('pareto.ppf', q, b, loc, scale)
edge('pareto.ppf', probabilities, 2.0, 0.0, 1.0)
for f in 'logpdf pdf cdf'.split():
  add(f'gennorm.{f}', z, a)
for f in 'logpdf pdf'.split():
  add(f't.{f}', loc + scale * z, a, loc, scale)
  add(f'vonmises.{f}', z, a)
  edge(f'vonmises.{f}', np.array([0.0, 1, 4, 1]), np.array([0.0, -1, 2, 500]))
  add(f'wrapcauchy.{f}', 6.2 * q, np.sort(q))
  edge(f'wrapcauchy.{f}', np.array([-1.0, 1, 1, 7]), np.array([0.5, 0, 1, 0.5]))
betabinom = lambda k, n, a, b, l: mp.log(mp.binomial(n, k)) + beta_log(k + a, n - k + b) - beta_log(a, b)
n = rng.integers(1, 40, N).astype(float)
k = np.floor(n * q)
for f in 'logpmf pmf'.split():
  add(f'bernoulli.{f}', k % 2, q, 0.0, discrete=(0, 2))
  edge(f'bernoulli.{f}', np.array([-1.0, 0, 1, 2, 0, 1]), np.array([0.5, 0, 1, 0.5, 1, 0]))
  exact(f'betabinom.{f}', betabinom if f == 'logpmf' else lambda *v: mp.exp(betabinom(*v)), k, n, a, b, 0.0, discrete=(0, 1, 4))
  edge(f'betabinom.{f}', np.array([-1.0, 3, 0, 1, 5]), np.array([3.0, 3, 0, -1, 4]), 2.0, 1.5)
  add(f'binom.{f}', k, n, q, 0.0, discrete=(0, 1, 3))
  edge(f'binom.{f}', np.array([-1.0, 0, 3, 5, 0]), np.array([3.0, 3, 3, 4, 0]), np.array([0.5, 0, 1, 0.5, 0.3]))
  add(f'geom.{f}', k + 1, q, 0.0, discrete=(0, 2))
  edge(f'geom.{f}', np.array([0.0, 1, 2, -1]), np.array([0.5, 1, 1, 0.3]))
  add(f'nbinom.{f}', k, a, q, 0.0, discrete=(0, 3))
  edge(f'nbinom.{f}', np.array([-1.0, 0, 2]), 3.0, 0.4)
  add(f'poisson.{f}', k, a, 0.0, discrete=(0, 2))
  edge(f'poisson.{f}', np.array([-1.0, 0, 1.5, 2]), np.array([1.0, 0, 1, 3]))
add('poisson.cdf', k, 2 * a, 0.0, discrete=(0, 2))
edge('poisson.cdf', np.array([-1.0, 0, 2.5]), 1.5)
edge('bernoulli.cdf', np.array([-1.0, 0, 0.5, 1, 2, 0]), np.array([0.3, 0.3, 0.3, 0.3, 0.3, 1.5]))
edge('bernoulli.ppf', probabilities, 0.4)


def entropy(mu):
  count = int(mu + 40 * mp.sqrt(mu) + 60)
  term = lambda k: k * mp.log(mu) - mp.loggamma(k + 1) - mu
  return -mp.fsum(mp.exp(term(k)) * term(k) for k in range(count))


mus = np.concatenate([np.exp(rng.uniform(np.log(0.01), np.log(190), 12)), np.array([199.0, 201, 500, 2000])])
values = np.array([float(entropy(mp.mpf(m))) for m in mus])
points.append({'name': 'poisson.entropy', **store('p', points, [mus], [values], [None])})

# --- Functions of several elements ---
x = rng.dirichlet([1.0, 2, 3, 1], 5).T
alpha = np.array([0.7, 2, 3.5, 1.2])
for f in ('logpdf', 'pdf'):
  call(f'dirichlet.{f}', function(f'dirichlet.{f}'), x, alpha)
  call(f'dirichlet.{f}', function(f'dirichlet.{f}'), x[:3], alpha)
  call(f'dirichlet.{f}', function(f'dirichlet.{f}'), np.array([0.5, 0.2, 0.2, 0.2]), alpha)
counts = np.array([[1, 2, 3], [0, 0, 6], [2, 2, 1]])
for f in ('logpmf', 'pmf'):
  call(f'multinomial.{f}', function(f'multinomial.{f}'), counts, np.array(6), np.array([0.2, 0.3, 0.5]))
m = rng.normal(size=(3, 3))
cov = m @ m.T + np.eye(3)
several = np.stack([cov, 2 * cov])
for f in ('logpdf', 'pdf'):
  g = function(f'multivariate_normal.{f}')
  call(f'multivariate_normal.{f}', g, rng.normal(size=(5, 3)), rng.normal(size=3), cov)
  call(f'multivariate_normal.{f}', g, rng.normal(size=(4, 2, 3)), rng.normal(size=(2, 3)), several)
  call(f'multivariate_normal.{f}', g, rng.normal(size=(5, 3)), rng.normal(size=3), np.array(1.7))
  call(f'multivariate_normal.{f}', g, rng.normal(size=5), np.array(0.3), np.array(1.7))
grid = np.array([[3.0, 1, 2, 1], [3, 2, 2, 0], [1, 1, 5, 5]])
with_nan = np.array([2.0, np.nan, 1, np.nan, 1, np.nan])
for axis in (None, 0, 1):
  for keepdims in (False, True):
    call(f'mode.{axis}.{keepdims}', lambda x, a=axis, k=keepdims: tuple(stats.mode(x, axis=a, keepdims=k)), grid)
call('mode.0.False', lambda x: tuple(stats.mode(x)), with_nan)
call('mode.0.False', lambda x: tuple(stats.mode(x)), grid.astype(np.int32))
for method in 'average min max dense ordinal'.split():
  call(f'rankdata.{method}.None', lambda x, m=method: stats.rankdata(x, m), grid)
  call(f'rankdata.{method}.1', lambda x, m=method: stats.rankdata(x, m, axis=1), grid)
  call(f'rankdata.{method}.None', lambda x, m=method: stats.rankdata(x, m), with_nan)
for axis in (None, 0, 1):
  call(f'sem.{axis}', lambda x, a=axis: stats.sem(x, axis=a), grid)
call('sem.omit', lambda x: stats.sem(x, nan_policy='omit'), with_nan)

samples, weights = rng.normal(size=(2, 30)), rng.uniform(0.5, 2, 30)
at = rng.normal(size=(2, 7))
low, high = np.array(-0.5), np.array(1.2)


def kde_results(samples, weights, at, **options):
  kde = stats.gaussian_kde(samples, weights=weights, **options)
  return (kde.neff, kde.covariance, kde.inv_cov, kde.evaluate(at), kde.logpdf(at),
          kde.integrate_gaussian(jnp.full(samples.shape[0], 0.2), 0.5 * jnp.eye(samples.shape[0])),
          kde.integrate_kde(stats.gaussian_kde(samples[:, :9] + 0.3)))


call('kde.scott', kde_results, samples, weights, at)
call('kde.silverman', lambda *a: kde_results(*a, bw_method='silverman'), samples, weights, at)
call('kde.factor', lambda *a: kde_results(*a, bw_method=0.4), samples, weights, at)
call('kde.one', lambda s, low, high: (stats.gaussian_kde(s).integrate_box_1d(low, high), stats.gaussian_kde(s).pdf(s[:4])),
     samples[0], low, high)
call('kde.resample', lambda s: stats.gaussian_kde(s).resample(jax.random.key(3), (6,)), samples)

topic.write({'jax': jax.__version__, 'points': points, 'edges': edges, 'calls': calls})
