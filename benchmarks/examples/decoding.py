"""decoding.cc in JAX."""
import math

import jax
import jax.numpy as jnp

from timed import print_times

LAYERS, HEADS, WIDTH, TOKENS = 2, 4, 128, 96


def random_model(key, length):

  def part(number, *shape):
    return jax.random.normal(jax.random.fold_in(key, number), shape) / math.sqrt(shape[0])

  layers = [(part(4 * i + 2, WIDTH, 3 * WIDTH), part(4 * i + 3, WIDTH, WIDTH), part(4 * i + 4, WIDTH, 4 * WIDTH), part(4 * i + 5, 4 * WIDTH, WIDTH))
            for i in range(LAYERS)]
  normal = lambda number, shape: jax.random.normal(jax.random.fold_in(key, number), shape)
  return normal(0, (TOKENS, WIDTH)), 0.5 * normal(1, (length, WIDTH)), part(4 * LAYERS + 2, WIDTH, TOKENS), layers


def next_token(model, cache, token, position):
  embedding, positions, unembedding, layers = model
  beams, length = token.size, positions.shape[0]
  keys, values = cache
  x = jnp.take(embedding, token, axis=0) + jax.lax.dynamic_index_in_dim(positions, position, 0, False)
  for i, (qkv_weights, out, up, down) in enumerate(layers):
    qkv = (jax.nn.standardize(x) @ qkv_weights).reshape(beams, 3, HEADS, WIDTH // HEADS)

    def put(every, which):
      return jax.lax.dynamic_update_slice(every, qkv[None, :, which, :, None], (i, 0, 0, position, 0))

    keys, values = put(keys, 1), put(values, 2)
    scores = jnp.einsum('bhd,bhtd->bht', qkv[:, 0], keys[i]) / math.sqrt(WIDTH / HEADS)
    weights = jax.nn.softmax(scores, where=jnp.arange(length) <= position)
    x += jnp.einsum('bht,bhtd->bhd', weights, values[i]).reshape(beams, WIDTH) @ out
    x += jax.nn.gelu(jax.nn.standardize(x) @ up) @ down
  return jax.nn.log_softmax(jax.nn.standardize(x) @ unembedding), (keys, values)


def beam_search(model, first, beams):
  length = model[1].shape[0]
  empty = jnp.zeros((LAYERS, beams, HEADS, length, WIDTH // HEADS))

  def step(i, state):
    sequences, scores, cache = state
    follows, (keys, values) = next_token(model, cache, jax.lax.dynamic_index_in_dim(sequences, i, 1, False), i)
    best, chosen = jax.lax.top_k((scores[:, None] + follows).ravel(), beams)
    origin, token = chosen // TOKENS, chosen % TOKENS
    sequences = jax.lax.dynamic_update_index_in_dim(jnp.take(sequences, origin, axis=0), token, i + 1, 1)
    return sequences, best, (jnp.take(keys, origin, axis=1), jnp.take(values, origin, axis=1))

  start = jnp.zeros((beams, length), jnp.int32).at[:, 0].set(first)
  scores = jnp.where(jnp.arange(beams) == 0, 0.0, -jnp.inf)
  return jax.lax.fori_loop(0, length - 1, step, (start, scores, (empty, empty)))[:2]


def main():
  model = random_model(jax.random.key(0), 64)
  search = jax.jit(lambda model, first: beam_search(model, first, 4))
  first = jnp.array(1)
  print_times(search(model, first)[1][0], lambda: search(model, first))


if __name__ == '__main__':
  main()
