"""particle_filter.cc in JAX."""
import math

import jax
import jax.numpy as jnp

from timed import print_times

PERSISTENCE, SPREAD = 0.95, 0.3


def log_density(volatility, y):
  return -0.5 * (math.log(2 * math.pi) + volatility + y**2 * jnp.exp(-volatility))


def resample(key, particles, weights):
  n = particles.size
  points = (jnp.arange(n) + jax.random.uniform(key)) / n
  return jnp.take(particles, jnp.searchsorted(jnp.cumsum(weights), points), mode='clip')


def filtered(key, returns, particles):
  first, steps = jax.random.split(key)

  def step(state, now):
    old, total_before = state
    y, step_key = now
    move, draw = jax.random.split(step_key)
    moved = PERSISTENCE * old + SPREAD * jax.random.normal(move, (particles,))
    log_weights = log_density(moved, y)
    total = jax.nn.logsumexp(log_weights)
    weights = jnp.exp(log_weights - total)
    return (resample(draw, moved, weights), total_before + total - math.log(particles)), weights @ moved

  start = SPREAD / math.sqrt(1 - PERSISTENCE**2) * jax.random.normal(first, (particles,))
  (_, likelihood), means = jax.lax.scan(step, (start, jnp.zeros(())), (returns, jax.random.split(steps, returns.size)))
  return likelihood, means


def main():
  a, b, c = jax.random.split(jax.random.key(0), 3)

  def walk(v, e):
    v = PERSISTENCE * v + SPREAD * e
    return v, v

  volatility = jax.lax.scan(walk, jnp.zeros(()), jax.random.normal(a, (250,)))[1]
  returns = jnp.exp(volatility / 2) * jax.random.normal(b, (250,))
  run = jax.jit(lambda key, y: filtered(key, y, 10_000))
  print_times(run(c, returns)[0], lambda: run(c, returns))


if __name__ == '__main__':
  main()
