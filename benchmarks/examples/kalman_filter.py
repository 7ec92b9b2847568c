"""kalman_filter.cc in JAX."""
import math

import jax
import jax.numpy as jnp

from timed import print_times

TRANSITION = jnp.array([[1., 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]])
OBSERVATION = jnp.eye(2, 4)


def log_likelihood(process, measurement, measurements):
  c, noise = OBSERVATION, measurement**2 * jnp.eye(2)
  push = jnp.concatenate([0.5 * jnp.eye(2), jnp.eye(2)])
  process_covariance = process**2 * (push @ push.T)

  def step(before, y):
    mean = TRANSITION @ before[0]
    covariance = TRANSITION @ before[1] @ TRANSITION.T + process_covariance
    surprise = y - c @ mean
    s = c @ covariance @ c.T + noise
    gain = jnp.linalg.solve(s, c @ covariance).T
    after = mean + gain @ surprise, (jnp.eye(4) - gain @ c) @ covariance
    density = -0.5 * (surprise @ jnp.linalg.solve(s, surprise) + jnp.linalg.slogdet(2 * math.pi * s)[1])
    return after, density

  return jnp.sum(jax.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), measurements)[1])


def simulate(process, measurement, noise):

  def step(state, e):
    state = TRANSITION @ state + process * jnp.concatenate([0.5 * e[:2], e[:2]])
    return state, OBSERVATION @ state + measurement * e[2:]

  return jax.lax.scan(step, noise[:4], noise[4:].reshape(-1, 4))[1]


def main():
  measurements = simulate(0.1, 2.0, jax.random.normal(jax.random.key(0), (4 + 4 * 1000,)))
  likelihood = lambda logs: log_likelihood(jnp.exp(logs[0]), jnp.exp(logs[1]), measurements)
  improved = jax.jit(lambda logs: logs - jnp.linalg.solve(jax.hessian(likelihood)(logs), jax.grad(likelihood)(logs)))
  logs = jnp.log(jnp.array([0.2, 1.0]))
  for _ in range(8):
    logs = improved(logs)
  value_and_gradient = jax.jit(jax.value_and_grad(likelihood))
  print_times(value_and_gradient(logs)[0], lambda: value_and_gradient(logs))


if __name__ == '__main__':
  main()
