"""viterbi.cc in JAX."""
import jax
import jax.numpy as jnp

from timed import print_times


def viterbi(model, symbols):
  start, transition, emission = model
  scores = jnp.take(emission, symbols, axis=1).T

  def forward(best, score):
    every = best[:, None] + transition
    return jnp.max(every, 0) + score, jnp.argmax(every, 0)

  last, origin = jax.lax.scan(forward, start + scores[0], scores[1:])

  def backward(state, previous):
    before = jnp.take(previous, state, mode='clip')
    return before, before

  end = jnp.argmax(last)
  path = jax.lax.scan(backward, end, origin, reverse=True)[1]
  return jnp.max(last), jnp.append(path, end)


def random_model(key, states, symbols):
  a, b, c = jax.random.split(key, 3)
  normal, normed = jax.random.normal, jax.nn.log_softmax
  return normed(normal(a, (states,))), normed(2 * normal(b, (states, states))), normed(2 * normal(c, (states, symbols)))


def main():
  a, b, _ = jax.random.split(jax.random.key(0), 3)
  model = random_model(a, 32, 64)
  sequences = jax.random.randint(b, (64, 200), 0, 64)
  decode = jax.jit(jax.vmap(viterbi, (None, 0)))
  print_times(jnp.sum(decode(model, sequences)[0]), lambda: decode(model, sequences))


if __name__ == '__main__':
  main()
