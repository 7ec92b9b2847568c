"""graph_network.cc in JAX: the loss with its gradient."""
import jax
import jax.numpy as jnp

from timed import print_times

NODES, EDGES, CLASSES, WIDTH = 2000, 20_000, 4, 32


def loss(network, senders, receivers, features, labels):
  degree = jax.ops.segment_sum(jnp.ones(receivers.size), receivers, NODES)
  x = features
  for i, (own, message, bias) in enumerate(network):
    sent = jnp.take(x @ message, senders, axis=0)
    heard = jax.ops.segment_sum(sent, receivers, NODES) / jnp.maximum(degree, 1)[:, None]
    x = x @ own + heard + bias
    if i + 1 < len(network):
      x = jax.nn.relu(x)
  return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1))


def main():
  a, b, c, d, e = jax.random.split(jax.random.key(0), 5)
  labels = jnp.arange(NODES) % CLASSES
  senders = jax.random.randint(a, (EDGES,), 0, NODES)
  within = CLASSES * jax.random.randint(b, (EDGES,), 0, NODES // CLASSES) + senders % CLASSES
  receivers = jnp.where(jax.random.bernoulli(c, 0.75, (EDGES,)), within, jax.random.randint(d, (EDGES,), 0, NODES))
  features = jax.nn.one_hot(labels, CLASSES) + 2 * jax.random.normal(e, (NODES, CLASSES))
  key, network, widths = jax.random.key(1), [], (CLASSES, WIDTH, WIDTH, CLASSES)
  init = jax.nn.initializers.glorot_normal()
  for shape in zip(widths, widths[1:]):
    own, message, key = jax.random.split(key, 3)
    network.append((init(own, shape), init(message, shape), jnp.zeros(shape[1])))
  gradients = jax.jit(jax.value_and_grad(loss))
  arguments = network, senders, receivers, features, labels
  print_times(gradients(*arguments)[0], lambda: gradients(*arguments))


if __name__ == '__main__':
  main()
