"""samplers.json, samplers.npz: jax.random's samplers with parameters.

"cases": as random.json's. "gradients": as these, with "gradients": {name: array reference}, those of
the sum of the result times 1, 2, 3, ... (row-major) by each input.
"""
import jax
import jax.numpy as jnp
import numpy as np

import golden

golden.setup()
topic = golden.Topic('samplers')
ALPHAS = [0.001, 0.05, 0.3, 0.9, 1, 1.5, 3.7, 10, 1000]
# Op by op: XLA takes minutes to compile their nested loops.
LOOPING = ('gamma', 'loggamma', 'beta', 'dirichlet')
cases, gradients = [], []


def sample(function, seed, arrays, positional, params):
  with jax.disable_jit(function in LOOPING):
    key = jax.random.key(seed)
    return getattr(jax.random, function)(key, *positional.values(), **arrays, **params)


def described(name, function, seed, arrays, positional, params, x64):
  words = np.asarray(jax.random.key_data(jax.random.key(seed)))
  plain = lambda v: list(v) if isinstance(v, tuple) else v
  return {
      'function': function,
      'key': [int(w) for w in words],
      'x64': x64,
      'params': {
          k: plain(v) for k, v in {**positional, **params}.items()
      },
      'inputs': {
          k: topic.array(f'{name}.{k}', v) for k, v in arrays.items()
      },
      'out': topic.array(name, sample(function, seed, arrays, positional, params))
  }


def case(function, seed, inputs=(), positional=(), x64=False, **params):
  with jax.enable_x64(x64):
    arrays = {k: jnp.asarray(v) for k, v in dict(inputs).items()}
    cases.append(
        described(f'{len(cases)}.{function}', function, seed, arrays, dict(positional), params,
                  x64))


def gradient(function, seed, inputs, x64=False, **params):
  with jax.enable_x64(x64):
    arrays = {k: jnp.asarray(v) for k, v in inputs.items()}
    name = f'gradient{len(gradients)}.{function}'

    def loss(a):
      out = sample(function, seed, a, {}, params)
      return (out * jnp.arange(1, out.size + 1, dtype=out.dtype).reshape(out.shape)).sum()

    with jax.disable_jit(function in LOOPING):
      grads = jax.grad(loss)(arrays)
    gradients.append({
        **described(name, function, seed, arrays, {}, params, x64), 'gradients': {
            k: topic.array(f'{name}.by.{k}', v) for k, v in grads.items()
        }
    })


def covariance(n, dtype):
  a = np.random.default_rng(n).normal(size=(2, n, n))
  return np.asarray(a @ np.swapaxes(a, 1, 2) + np.eye(n) * 0.1, dtype)


def main():
  f32 = np.float32(ALPHAS)
  case('gamma', 20, {'a': f32})
  case('gamma', 22, {'a': np.float32([0, -0.5, -3, np.inf, np.nan])})
  case('loggamma', 21, {'a': f32})
  case('beta', 23, {'a': f32, 'b': f32[::-1].copy()})
  case('dirichlet', 24, {'alpha': f32[:6].reshape(2, 3)})
  rates = np.float32([0, 0.01, 0.5, 1, 3, 9.99, 10, 11.5, 30, 100, 1000, 12345, 1e6, 1e8])
  case('poisson', 27, {'lam': rates}, shape=(10, 14))
  case('poisson', 27, {'lam': np.float32([np.nan, -1, 0])})
  mean = np.float32([[1, -2, 3, 0.5]])
  case('multivariate_normal', 25, {'mean': mean, 'cov': covariance(4, 'float32')})
  case('orthogonal', 26, positional={'n': 3}, m=7)
  case('orthogonal', 26, positional={'n': 3}, shape=(2, 2))
  rng = np.random.default_rng(28)
  for n, draws in ((5, 3), (300, 40)):
    p = np.float32(rng.exponential(size=n))
    p /= p.sum()
    case('choice', 28, positional={'a': n}, shape=(draws,))
    case('choice', 28, positional={'a': n}, shape=(draws,), replace=False)
    case('choice', 28, {'p': p}, {'a': n}, shape=(draws * 50,))
    case('choice', 28, {'p': p}, {'a': n}, shape=(draws,), replace=False)
  grid = np.float32(rng.normal(size=(3, 5, 2)))
  case('choice', 28, {'a': grid}, shape=(2, 2), axis=-2, replace=False)
  logits = np.float32(rng.normal(size=(4, 5)))
  case('categorical', 32, {'logits': logits}, shape=(3, 4), replace=False)
  gradient('gamma', 33, {'a': f32[1:-1]})
  gradient('loggamma', 33, {'a': f32[1:-1]})
  gradient('beta', 35, {'a': f32[1:-1], 'b': f32[1:-1][::-1].copy()})
  gradient('dirichlet', 36, {'alpha': f32[1:-1]})
  gradient('multivariate_normal', 37, {'mean': mean, 'cov': covariance(4, 'float32')}, shape=(3, 2))
  case('gamma', 20, {'a': np.float64(ALPHAS)}, dtype='float64', x64=True)
  case('multivariate_normal',
       25, {
           'mean': np.float64([1, 2]),
           'cov': np.float64([[2, 0.5], [0.5, 1]])
       },
       x64=True)
  gradient('gamma', 33, {'a': np.float64(ALPHAS[1:-1])}, dtype='float64', x64=True)
  topic.write({'cases': cases, 'gradients': gradients})


main()
