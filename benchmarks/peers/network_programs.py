"""Inference with random weights: convolutional networks, written after their papers, and an MLP.

PROGRAMS[name]() returns (function, arguments, None). `name` takes the weights as arguments, `name_constants` has them as constants.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class Weights:
  """Draws weights while a network is traced for their shapes, and afterwards returns them in the same order."""

  def __init__(self, values=None):
    self.values = [] if values is None else list(values)
    self.drawing = values is None
    self.next = 0
    self.random = np.random.default_rng(0)

  def __call__(self, *shape):
    if self.drawing:
      fan = int(np.prod(shape[:-1])) or 1
      self.values.append((self.random.normal(size=shape) / np.sqrt(fan)).astype(np.float32))
    self.next += 1
    return self.values[self.next - 1]


def conv(weights, x, features, window, stride=1, groups=1):
  """Returns a convolution without a bias, followed by batch normalisation in its inference form: a factor and a term for each feature."""
  kernel = weights(window, window, x.shape[-1] // groups, features)
  y = lax.conv_general_dilated(x, kernel, (stride, stride), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'),
                               feature_group_count=groups)
  return y * (1 + 0.1 * weights(features)) + 0.1 * weights(features)


def dense(weights, x, features):
  return x @ weights(x.shape[-1], features) + 0.1 * weights(features)


def pooled(x):
  return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')


def resnet18(weights, x):
  x = pooled(jax.nn.relu(conv(weights, x, 64, 7, 2)))
  for stage, features in enumerate((64, 128, 256, 512)):
    for block in range(2):
      stride = 2 if stage and not block else 1
      y = jax.nn.relu(conv(weights, x, features, 3, stride))
      y = conv(weights, y, features, 3)
      x = jax.nn.relu(y + (conv(weights, x, features, 1, stride) if stride == 2 else x))
  return dense(weights, x.mean((1, 2)), 1000)


def resnet50(weights, x):
  x = pooled(jax.nn.relu(conv(weights, x, 64, 7, 2)))
  for stage, blocks in enumerate((3, 4, 6, 3)):
    for block in range(blocks):
      features, stride = 64 << stage, 2 if stage and not block else 1
      y = jax.nn.relu(conv(weights, x, features, 1))
      y = jax.nn.relu(conv(weights, y, features, 3, stride))
      y = conv(weights, y, 4 * features, 1)
      x = jax.nn.relu(y + (x if block else conv(weights, x, 4 * features, 1, stride)))
  return dense(weights, x.mean((1, 2)), 1000)


def mobilenet(weights, x):
  """MobileNetV2: a 1 x 1 convolution to more features, a depthwise one, and a 1 x 1 one back."""
  x = jax.nn.relu6(conv(weights, x, 32, 3, 2))
  for factor, features, blocks, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                          (6, 160, 3, 2), (6, 320, 1, 1)):
    for block in range(blocks):
      stride, inner = (1 if block else first), factor * x.shape[-1]
      y = jax.nn.relu6(conv(weights, x, inner, 1)) if factor > 1 else x
      y = jax.nn.relu6(conv(weights, y, inner, 3, stride, groups=inner))
      y = conv(weights, y, features, 1)
      x = x + y if x.shape == y.shape else y
  x = jax.nn.relu6(conv(weights, x, 1280, 1))
  return dense(weights, x.mean((1, 2)), 1000)


def mlp(weights, x):
  x = jnp.tanh(dense(weights, x, 512))
  x = jnp.tanh(dense(weights, x, 512))
  return dense(weights, x, 10)


def step_of(network):
  """Returns a training step: the new weights, by the gradient of the mean square of the outputs."""

  def step(values, x):
    gradient = jax.grad(lambda v: jnp.mean(jnp.square(network(Weights(v), x))))(values)
    return [v - 0.01 * g for v, g in zip(values, gradient)]

  return step


def with_arguments(network, shape):
  def make():
    x, weights = np.random.default_rng(1).normal(size=shape).astype(np.float32), Weights()
    jax.eval_shape(lambda y: network(weights, y), x)
    return (lambda values, y: network(Weights(values), y)), (weights.values, x), None

  return make


def with_constants(network, shape):
  def make():
    f, (values, x), _ = with_arguments(network, shape)()
    return (lambda y: f(values, y)), (x,), None

  return make


def training(network, shape):
  def make():
    _, arguments, _ = with_arguments(network, shape)()
    return step_of(network), arguments, None

  return make


NETWORKS = {
    'resnet18': (resnet18, (2, 32, 32, 3)),
    'resnet50': (resnet50, (2, 64, 64, 3)),
    'mobilenet': (mobilenet, (2, 64, 64, 3)),
    'mlp': (mlp, (256, 784)),
}
PROGRAMS = {}
for _name, (_network, _shape) in NETWORKS.items():
  PROGRAMS[_name] = with_arguments(_network, _shape)
  PROGRAMS[f'{_name}_constants'] = with_constants(_network, _shape)
  PROGRAMS[f'{_name}_training'] = training(_network, _shape)
