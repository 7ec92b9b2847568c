"""image_filter.cc in JAX."""
import math

import jax
import jax.numpy as jnp

from timed import print_times


def along(images, axis, kernel):
  radius = len(kernel) // 2
  widths = [(0, 0)] * 3
  widths[axis] = (radius, radius)
  padded = jnp.pad(images, widths, mode='edge')
  return sum(k * jax.lax.slice_in_dim(padded, i, i + images.shape[axis], axis=axis) for i, k in enumerate(kernel) if k)


def gaussian(deviation):
  radius = int(3 * deviation)
  kernel = [math.exp(-0.5 * i * i / deviation**2) for i in range(-radius, radius + 1)]
  return [k / sum(kernel) for k in kernel]


@jax.jit
def detect(images):
  blur = gaussian(2.0)
  smooth = along(along(images, 1, blur), 2, blur)
  gy = along(along(smooth, 1, [-1, 0, 1]), 2, [1, 2, 1])
  gx = along(along(smooth, 2, [-1, 0, 1]), 1, [1, 2, 1])
  strength = jnp.hypot(gx, gy)

  def beside(dy, dx):
    return jnp.maximum(jnp.roll(strength, (dy, dx), (1, 2)), jnp.roll(strength, (-dy, -dx), (1, 2)))

  octant = jnp.round(4 * jnp.arctan2(gy, gx) / math.pi) % 4
  rival = jnp.where(octant == 0, beside(0, 1), jnp.where(octant == 1, beside(1, 1), jnp.where(octant == 2, beside(1, 0), beside(1, -1))))
  return smooth, strength, (strength >= rival) & (strength > 0.4)


def main():
  n = 512
  y, x = jnp.arange(n, dtype=jnp.float32)[:, None], jnp.arange(n, dtype=jnp.float32)
  radii = jnp.array([60., 120, 180, 240]).reshape(4, 1, 1)
  distance = jnp.hypot(y - 256, x - 256)
  images = jnp.where(distance < radii, 1.0, 0.0) + 0.2 * x / n + 0.05 * jax.random.normal(jax.random.key(0), (4, n, n))
  print_times(jnp.sum(detect(images)[1]), lambda: detect(images))


if __name__ == '__main__':
  main()
