#!/usr/bin/env python3
"""The loops of loops.cc in JAX: a peer for compare.py. Prints, for each workload with a name that contains one of the arguments (for all
workloads without arguments), a JSON line with name, min_us and med_us of a call of the compiled program."""
import json
import statistics
import sys
import time

import jax
import jax.numpy as jnp
from jax import lax


def newton(start):
  return lax.while_loop(lambda x: jnp.abs(x * x * x - 2.0) > 1e-3, lambda x: x - 0.01 * (x * x * x - 2.0) / (3 * x * x), start)


def lorenz(v):
  x, y, z = v[0], v[1], v[2]
  return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8.0 / 3 * z])


def lorenz96(v):
  return (jnp.roll(v, -1) - jnp.roll(v, 2)) * jnp.roll(v, 1) - v + 8.0


def runge_kutta(f):
  def step(v, _):
    h = 0.01
    k1 = f(v)
    k2 = f(v + h / 2 * k1)
    k3 = f(v + h / 2 * k2)
    k4 = f(v + h * k3)
    v = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return v, v

  return lambda start: lax.scan(step, start, None, length=1000)


def metropolis(x, density, walk, choice):
  p = x + 0.5 * jax.random.normal(walk, (2,))
  q = -0.5 * jnp.sum(p * p)
  taken = jnp.log(jax.random.uniform(choice)) < q - density
  return jnp.where(taken, p, x), jnp.where(taken, q, density)


def chain_of_keys(key):
  def step(state, k):
    walk, choice = jax.random.split(k)
    state = metropolis(*state, walk, choice)
    return state, state[0]

  return lax.scan(step, (jnp.zeros(2), jnp.float32(0)), jax.random.split(key, 1000))


def chain_with_key(key):
  def step(_, state):
    x, density, k = state
    k, walk, choice = jax.random.split(k, 3)
    return (*metropolis(x, density, walk, choice), k)

  return lax.fori_loop(0, 1000, step, (jnp.zeros(2), jnp.float32(0), key))[0]


def logistic_map(start):
  def step(x, _):
    x = 3.7 * x * (1 - x)
    return x, x

  return lax.scan(step, start, None, length=10000)


def recurrent(h, w, xs):
  def step(state, x):
    state = jnp.tanh(state @ w + x)
    return state, state

  return lax.scan(step, h, xs)


def products(a):
  def step(m, _):
    m = m @ a
    m = m / jnp.max(jnp.abs(m))
    return m, jnp.sum(m)

  return lax.scan(step, jnp.eye(8), None, length=500)


def power_iteration(a):
  def step(_, x):
    y = a @ x
    return y / jnp.sqrt(jnp.sum(y * y))

  return lax.fori_loop(0, 500, step, jnp.ones(32))


def nested(start):
  def outer(i, a):
    return lax.fori_loop(0, 100, lambda j, b: b * 0.99 + j.astype(jnp.float32), a) + i.astype(jnp.float32)

  return lax.fori_loop(0, 100, outer, start)


def momentum(start):
  def step(_, state):
    x, m, v = state
    g = jnp.sin(x) * x + 0.1 * x
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return x - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v

  return lax.fori_loop(0, 1000, step, (start, jnp.zeros_like(start), jnp.zeros_like(start)))[0]


def bisection(a):
  def step(state):
    low, high, n = state
    middle = (low + high) / 2
    above = middle * middle * middle > a
    return jnp.where(above, low, middle), jnp.where(above, middle, high), n + 1

  return lax.while_loop(lambda s: s[2] < 1000, step, (jnp.float32(0), jnp.float32(10), 0))[0]


def branching(start):
  return lax.fori_loop(0, 2000, lambda _, x: lax.cond(x > 0.5, lambda v: v * 0.5, lambda v: v + 0.3, x), start)


def rows(xs):
  def step(c, x):
    c = c * 0.5 + x
    return c, c + 1

  return lax.scan(step, jnp.zeros(8), xs)


def workloads():
  key = jax.random.key(0)
  return {
    'loops/newton_while': (newton, jnp.float32(30)),
    'loops/lorenz_rk4': (runge_kutta(lorenz), jnp.ones(3)),
    'loops/lorenz96_40': (runge_kutta(lorenz96), jnp.linspace(0, 1, 40)),
    'loops/lorenz96_1000': (runge_kutta(lorenz96), jnp.linspace(0, 1, 1000)),
    'loops/mcmc_scan': (chain_of_keys, key),
    'loops/mcmc_carry': (chain_with_key, key),
    'loops/logistic_scan': (logistic_map, jnp.float32(0.3)),
    'loops/rnn_16': (recurrent, jnp.zeros(16), jnp.eye(16) * 0.5, jnp.ones((500, 16))),
    'loops/carried_8x8': (products, jnp.ones((8, 8)) + jnp.eye(8)),
    'loops/nested_fori': (nested, jnp.float32(0)),
    'loops/vmap_while': (jax.vmap(newton), jnp.linspace(1, 50, 64)),
    'loops/momentum_200': (momentum, jnp.linspace(-1, 1, 200)),
    'loops/bisect_while': (bisection, jnp.float32(2)),
    'loops/cond_in_loop': (branching, jnp.float32(0.2)),
    'loops/power_32': (power_iteration, jnp.ones((32, 32)) + jnp.eye(32)),
    'loops/10k_trips': (lambda v: lax.fori_loop(0, 10000, lambda i, c: c * 0.5 + i, v), jnp.ones(8)),
    'loops/10k_rows': (rows, jnp.ones((10000, 8))),
  }


def main():
  words = sys.argv[1:]
  for name, (f, *args) in workloads().items():
    if words and not any(word in name for word in words):
      continue
    compiled = jax.jit(f)
    jax.block_until_ready(compiled(*args))
    micros, start = [], time.perf_counter()
    while len(micros) < 5 or time.perf_counter() - start < 0.5:
      began = time.perf_counter()
      jax.block_until_ready(compiled(*args))
      micros.append(1e6 * (time.perf_counter() - began))
    print(json.dumps({'name': name, 'min_us': min(micros), 'med_us': statistics.median(micros)}), flush=True)


if __name__ == '__main__':
  main()
