"""n_body.cc in JAX."""
import jax
import jax.numpy as jnp

from timed import print_times

SOFTENING, TILE = 0.05, 128


def acceleration(position, mass):

  def tile(total, others):
    there, weight = others
    apart = there - position[:, None]
    inverse = jax.lax.rsqrt(jnp.sum(apart**2, -1) + SOFTENING**2)
    return total + jnp.einsum('nm,nmc->nc', weight * inverse * inverse * inverse, apart), None

  tiles = position.reshape(-1, TILE, 3), mass.reshape(-1, TILE)
  return jax.lax.scan(tile, jnp.zeros_like(position), tiles)[0]


@jax.jit
def leapfrog(position, velocity, mass):
  h = 0.02

  def step(_, state):
    position, velocity, a = state
    velocity = velocity + 0.5 * h * a
    position = position + h * velocity
    a = acceleration(position, mass)
    return position, velocity + 0.5 * h * a, a

  return jax.lax.fori_loop(0, 10, step, (position, velocity, acceleration(position, mass)))[:2]


def main():
  a, b = jax.random.split(jax.random.key(0))
  n = 2048
  start = jax.random.normal(a, (n, 3)), 0.3 * jax.random.normal(b, (n, 3)), jnp.full(n, 1.0 / n)
  print_times(jnp.sum(jnp.abs(leapfrog(*start)[0])), lambda: leapfrog(*start))


if __name__ == '__main__':
  main()
