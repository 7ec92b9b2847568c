"""The layers of networks.py in JAX, in the neutral layout (layers_numpy.py says which); XLA's CPU backend prefers it too."""
import math

import jax
import jax.numpy as jnp

IMAGES = ('NHWC', 'HWIO', 'NHWC')


class Layers:
  """Layers for inference; with training=True, normalisation of a batch by its own mean and variance."""

  def __init__(self, training=False):
    self.training = training

  def conv(self, x, w, stride=1, padding=0):
    around = [(padding, padding)] * 2
    return jax.lax.conv_general_dilated(x, w, (stride, stride), around, dimension_numbers=IMAGES)

  def double_size(self, x, w):
    return jax.lax.conv_transpose(x, w[::-1, ::-1], (2, 2), 'VALID', dimension_numbers=IMAGES)

  def batch_norm(self, x, p, name):
    if self.training:
      mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
    else:
      mean, variance = p[f'{name}.mean'], p[f'{name}.variance']
    scale = p[f'{name}.scale'] * jax.lax.rsqrt(variance + 1e-5)
    return x * scale + (p[f'{name}.offset'] - mean * scale)

  def max_pool(self, x, window, stride, padding):
    around = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, window, window, 1), (1, stride, stride, 1), around)

  def mean_of_pixels(self, x):
    return jnp.mean(x, (1, 2))

  def join_features(self, a, b):
    return jnp.concatenate([a, b], axis=-1)

  def dense(self, x, w, b=None):
    return x @ w if b is None else x @ w + b

  def layer_norm(self, x, p, name):
    mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[f'{name}.scale'] + p[f'{name}.offset']

  def relu(self, x):
    return jax.nn.relu(x)

  def tanh(self, x):
    return jnp.tanh(x)

  def gelu(self, x):
    return jax.nn.gelu(x, approximate=False)

  def gelu_by_tanh(self, x):
    return jax.nn.gelu(x, approximate=True)

  def embed(self, table, indices):
    return table[indices]

  def logits(self, x, table):
    return x @ table.T

  def split_heads(self, x, heads):
    batch, time, features = x.shape
    return x.reshape(batch, time, heads, features // heads).transpose(0, 2, 1, 3)

  def join_heads(self, x):
    batch, heads, time, features = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, time, heads * features)

  def thirds(self, x):
    return jnp.split(x, 3, axis=-1)

  def append_time(self, past, x):
    return jnp.concatenate([past, x], axis=2)

  def stack(self, arrays):
    return jnp.stack(arrays)

  def attention(self, q, k, v, causal=False):
    scores = jnp.einsum('bhqd,bhkd->bhqk', q, k) / math.sqrt(q.shape[-1])
    if causal:
      scores = jnp.where(jnp.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -jnp.inf)
    return jnp.einsum('bhqk,bhkd->bhqd', jax.nn.softmax(scores, axis=-1), v)

  def lstm(self, x, p, name):
    inputs = x @ p[f'{name}.input.dense'] + p[f'{name}.bias']
    recurrent = p[f'{name}.recurrent.dense']

    def cell(carry, from_input):
      hidden, memory = carry
      i, f, g, o = jnp.split(from_input + hidden @ recurrent, 4, axis=-1)
      memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
      hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
      return (hidden, memory), hidden

    zeros = jnp.zeros((x.shape[0], recurrent.shape[0]), x.dtype)
    return jax.lax.scan(cell, (zeros, zeros), inputs.swapaxes(0, 1))[1].swapaxes(0, 1)

  def rows(self, x, indices):
    return x[indices]

  def sum_into_rows(self, x, indices, count):
    return jax.ops.segment_sum(x, indices, count)

  def cross_entropy(self, logits, labels):
    log_of_all = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.mean(jnp.take_along_axis(log_of_all, labels[..., None], axis=-1))

  def squared_error(self, x, y):
    return jnp.mean((x - y) ** 2)
