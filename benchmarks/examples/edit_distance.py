"""edit_distance.cc in JAX."""
import jax
import jax.numpy as jnp

from timed import print_times


def edit_distance(a, b):
  n = a.size
  large = 2 * n + 1
  i = jnp.arange(n + 1)
  before_a = jnp.concatenate([jnp.array([-1]), a])
  reversed_b = jnp.concatenate([jnp.full(n, -2), jnp.flip(b), jnp.full(n + 1, -2)])

  def diagonal(two, d):
    older, last = two
    shifted, corner = jnp.roll(last, 1), jnp.roll(older, 1)
    of_b = jax.lax.dynamic_slice_in_dim(reversed_b, 2 * n - d, n + 1)
    following = jnp.minimum(jnp.minimum(last, shifted) + 1, corner + (before_a != of_b).astype(jnp.int32))
    following = jnp.where(i == 0, d, jnp.where(i == d, d, following))
    following = jnp.where((i > d) | (d - i > n), large, following)
    return (last, following), None

  first, second = jnp.where(i == 0, 0, large), jnp.where(i <= 1, 1, large)
  return jax.lax.scan(diagonal, (first, second), jnp.arange(2, 2 * n + 1))[0][1][-1]


def main():
  a, b = jax.random.split(jax.random.key(0))
  words, others = jax.random.randint(a, (256, 200), 0, 4), jax.random.randint(b, (256, 200), 0, 4)
  distances = jax.jit(jax.vmap(edit_distance))
  print_times(jnp.sum(distances(words, others)), lambda: distances(words, others))


if __name__ == '__main__':
  main()
