"""The layers of networks.py in NumPy, in the neutral layout: what the other dialects (layers_jax.py, layers_torch.py) must agree with.

An image is (batch, height, width, features), the weights of a convolution (height, width, in, out), of a dense layer (in, out);
a sequence is (batch, time, features), heads are (batch, heads, time, features). It is for tests: loops in Python, no derivatives.
"""
import math

import numpy as np


class Layers:
  """Layers for inference; with training=True, normalisation of a batch by its own mean and variance."""

  def __init__(self, training=False):
    self.training = training

  def conv(self, x, w, stride=1, padding=0):
    height, width = w.shape[:2]
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    rows = (x.shape[1] - height) // stride + 1
    columns = (x.shape[2] - width) // stride + 1
    out = 0
    for i in range(height):
      for j in range(width):
        out = out + x[:, i:i + stride * rows:stride, j:j + stride * columns:stride] @ w[i, j]
    return out

  def double_size(self, x, w):
    """The transposed convolution of a 2 x 2 window with stride 2."""
    batch, rows, columns, _ = x.shape
    out = np.einsum('bhwi,yxio->bhywxo', x, w)
    return out.reshape(batch, 2 * rows, 2 * columns, w.shape[3])

  def batch_norm(self, x, p, name):
    if self.training:
      mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    else:
      mean, variance = p[f'{name}.mean'], p[f'{name}.variance']
    return (x - mean) / np.sqrt(variance + 1e-5) * p[f'{name}.scale'] + p[f'{name}.offset']

  def max_pool(self, x, window, stride, padding):
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)), constant_values=-np.inf)
    rows = (x.shape[1] - window) // stride + 1
    columns = (x.shape[2] - window) // stride + 1
    parts = [x[:, i:i + stride * rows:stride, j:j + stride * columns:stride] for i in range(window) for j in range(window)]
    return np.max(parts, axis=0)

  def mean_of_pixels(self, x):
    return x.mean((1, 2))

  def join_features(self, a, b):
    return np.concatenate([a, b], axis=-1)

  def dense(self, x, w, b=None):
    return x @ w if b is None else x @ w + b

  def layer_norm(self, x, p, name):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * p[f'{name}.scale'] + p[f'{name}.offset']

  def relu(self, x):
    return np.maximum(x, 0)

  def tanh(self, x):
    return np.tanh(x)

  def gelu(self, x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))).astype(x.dtype)

  def gelu_by_tanh(self, x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

  def embed(self, table, indices):
    return table[indices]

  def logits(self, x, table):
    """Of the words of a table that also embeds them."""
    return x @ table.T

  def split_heads(self, x, heads):
    batch, time, features = x.shape
    return x.reshape(batch, time, heads, features // heads).transpose(0, 2, 1, 3)

  def join_heads(self, x):
    batch, heads, time, features = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, time, heads * features)

  def thirds(self, x):
    return np.split(x, 3, axis=-1)

  def append_time(self, past, x):
    return np.concatenate([past, x], axis=2)

  def stack(self, arrays):
    return np.stack(arrays)

  def attention(self, q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
      scores = np.where(np.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return (scores / scores.sum(-1, keepdims=True)) @ v

  def lstm(self, x, p, name):
    """The hidden states of a layer that starts from zeros; gates in the order input, forget, cell, output."""
    hidden = cell = np.zeros((x.shape[0], p[f'{name}.recurrent.dense'].shape[0]), x.dtype)
    states = []
    for t in range(x.shape[1]):
      gates = x[:, t] @ p[f'{name}.input.dense'] + hidden @ p[f'{name}.recurrent.dense'] + p[f'{name}.bias']
      i, f, g, o = np.split(gates, 4, axis=-1)
      cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
      hidden = np.tanh(cell) / (1 + np.exp(-o))
      states.append(hidden)
    return np.stack(states, axis=1)

  def rows(self, x, indices):
    return x[indices]

  def sum_into_rows(self, x, indices, count):
    out = np.zeros((count, x.shape[1]), x.dtype)
    np.add.at(out, indices, x)
    return out

  def cross_entropy(self, logits, labels):
    """The mean over all but the last axis of minus the log of the label's probability."""
    logits = logits.reshape(-1, logits.shape[-1])
    top = logits.max(-1, keepdims=True)
    of_all = top[:, 0] + np.log(np.exp(logits - top).sum(-1))
    labels = labels.reshape(-1)
    return np.mean(of_all - logits[np.arange(len(labels)), labels])

  def squared_error(self, x, y):
    return np.mean((x - y) ** 2)
