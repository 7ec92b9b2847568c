"""gaussian_process.cc in JAX: the likelihood with its gradient, which the search for hyper-parameters calls."""
import math

import jax
import jax.numpy as jnp
import jax.scipy

from timed import print_times


def kernel(logs, x, z):
  distance = jnp.sum((x[:, None] - z)**2, -1)
  return jnp.exp(2 * logs[1] - 0.5 * distance * jnp.exp(-2 * logs[0]))


def negative_log_likelihood(logs, x, y):
  l = jnp.linalg.cholesky(kernel(logs, x, x) + jnp.exp(2 * logs[2]) * jnp.eye(x.shape[0]))
  white = jax.scipy.linalg.solve_triangular(l, y, lower=True)
  return 0.5 * white @ white + jnp.sum(jnp.log(jnp.diagonal(l))) + 0.5 * y.size * math.log(2 * math.pi)


def main():
  a, b, _ = jax.random.split(jax.random.key(0), 3)
  x = jax.random.uniform(a, (400, 2), jnp.float32, -1.0, 1.0)
  y = jnp.sin(3 * x[..., 0]) * jnp.cos(2 * x[..., 1]) + 0.1 * jax.random.normal(b, (400,))
  gradients = jax.jit(jax.value_and_grad(negative_log_likelihood))
  start = jnp.zeros(3)
  print_times(gradients(start, x, y)[0], lambda: gradients(start, x, y))


if __name__ == '__main__':
  main()
