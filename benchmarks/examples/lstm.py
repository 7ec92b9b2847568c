"""lstm.cc in JAX: the loss of new parameters with its gradient."""
import jax
import jax.numpy as jnp

from timed import print_times

BATCH, LENGTH, WIDTH = 64, 30, 64


def random_params(key):
  a, b, c = jax.random.split(key, 3)
  init = jax.nn.initializers
  bias = jnp.concatenate([jnp.zeros(WIDTH), jnp.ones(WIDTH), jnp.zeros(2 * WIDTH)])
  return (init.glorot_uniform()(a, (2, 4 * WIDTH)), init.orthogonal()(b, (WIDTH, 4 * WIDTH)), bias, 0.1 * jax.random.normal(c, (WIDTH,)),
          jnp.zeros(()))


def loss(params, sequences, sums):
  weights, recurrent, bias, out, out_bias = params

  def cell(state, x):
    h, c = state
    gates = jnp.split(x + h @ recurrent, 4, 1)
    c = jax.nn.sigmoid(gates[1]) * c + jax.nn.sigmoid(gates[0]) * jnp.tanh(gates[2])
    return (jax.nn.sigmoid(gates[3]) * jnp.tanh(c), c), None

  inputs = jnp.swapaxes(sequences, 0, 1) @ weights + bias
  start = jnp.zeros((sequences.shape[0], WIDTH))
  return jnp.mean((jax.lax.scan(cell, (start, start), inputs)[0][0] @ out + out_bias - sums)**2)


def batch(key):
  a, b = jax.random.split(key)
  numbers = jax.random.uniform(a, (BATCH, LENGTH))
  marks = (jnp.argsort(jax.random.uniform(b, (BATCH, LENGTH))) < 2).astype(jnp.float32)
  return jnp.stack([numbers, marks], -1), jnp.sum(numbers * marks, 1)


def main():
  params, (sequences, sums) = random_params(jax.random.key(0)), batch(jax.random.key(2))
  gradients = jax.jit(jax.value_and_grad(loss))
  print_times(gradients(params, sequences, sums)[0], lambda: gradients(params, sequences, sums))


if __name__ == '__main__':
  main()
