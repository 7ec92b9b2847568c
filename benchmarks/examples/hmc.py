"""hmc.cc in JAX."""
import jax
import jax.numpy as jnp

from timed import print_times


def log_density(w, x, y):
  logits = x @ w
  return jnp.sum(y * logits - jax.nn.softplus(logits)) - 0.5 * w @ w


def step(key, w, x, y, size, leaps):
  a, b = jax.random.split(key)
  slope = jax.value_and_grad(lambda v: log_density(v, x, y))
  momentum = jax.random.normal(a, w.shape)
  density, start_slope = slope(w)

  def leap(_, state):
    at, p, _, gradient = state
    p = p + 0.5 * size * gradient
    at = at + size * p
    value, following = slope(at)
    return at, p + 0.5 * size * following, value, following

  end, p, end_density, _ = jax.lax.fori_loop(0, leaps, leap, (w, momentum, density, start_slope))
  gain = end_density - density + 0.5 * (momentum @ momentum - p @ p)
  accepted = jnp.log(jax.random.uniform(b)) < gain
  return jnp.where(accepted, end, w), accepted


def chain(key, x, y, samples):

  def following(w, k):
    after, accepted = step(k, w, x, y, 0.1, 10)
    return after, (after, accepted)

  points, accepted = jax.lax.scan(following, jnp.zeros(x.shape[1]), jax.random.split(key, samples))[1]
  return points, jnp.mean(accepted.astype(jnp.float32))


def main():
  a, b, c = jax.random.split(jax.random.key(0), 3)
  x, truth = jax.random.normal(a, (200, 5)), jnp.array([1.0, -2.0, 0.5, 0.0, 1.5])
  y = jax.random.bernoulli(b, jax.nn.sigmoid(x @ truth)).astype(jnp.float32)
  run = jax.jit(lambda keys, x, y: jax.vmap(lambda key: chain(key, x, y, 300))(keys))
  keys = jax.random.split(c, 64)
  points, _ = run(keys, x, y)
  print_times(jnp.sum(jnp.mean(points[:, 50:], (0, 1))), lambda: run(keys, x, y))


if __name__ == '__main__':
  main()
