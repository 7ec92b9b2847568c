"""shallow_water.cc in JAX, on four devices."""
import os

os.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --xla_force_host_platform_device_count=4'

import jax
import jax.numpy as jnp
import numpy as np

from timed import print_times

GRAVITY, DEPTH, CELL, STEP = 9.81, 10, 100, 2


def across(x, axis):
  return (jnp.roll(x, -1, axis) - jnp.roll(x, 1, axis)) / (2 * CELL)


def step(_, state):
  height, east, north = state
  east2 = east - STEP * (GRAVITY * across(height, 1) + east * across(east, 1) + north * across(east, 0))
  north2 = north - STEP * (GRAVITY * across(height, 0) + east * across(north, 1) + north * across(north, 0))
  depth = DEPTH + height
  return height - STEP * (across(depth * east2, 1) + across(depth * north2, 0)), east2, north2


def at_buoy(height):
  start = height, jnp.zeros_like(height), jnp.zeros_like(height)
  return jax.lax.fori_loop(0, 50, step, start)[0][48, 80]


def main():
  mesh = jax.sharding.Mesh(np.array(jax.devices()), ('bands',))
  y, x = jnp.arange(256, dtype=jnp.float32)[:, None], jnp.arange(256, dtype=jnp.float32)
  hill = jnp.exp(-0.005 * ((y - 64)**2 + (x - 64)**2))
  height = jax.device_put(hill, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('bands')))
  sensitivity = jax.jit(jax.value_and_grad(at_buoy))
  print_times(jnp.sum(jnp.abs(sensitivity(height)[1])), lambda: sensitivity(height))


if __name__ == '__main__':
  main()
