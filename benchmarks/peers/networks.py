"""The networks that peers.py times. Each is written once, with the layers of a module such as layers_numpy.py (a dialect).

In a Network, weights(random) makes the weights as NumPy arrays by name, inputs(random) makes the inputs, and apply(layers, p, inputs)
runs the network. The end of a weight's name is its kind (.conv, .double, .dense), by which a dialect converts its layout.
Tiny configurations are for tests.
"""
import dataclasses
import math
from typing import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Network:
  weights: Callable  # (numpy.random.Generator) -> {name: float32 array}
  inputs: Callable  # (numpy.random.Generator) -> tuple of arrays
  apply: Callable  # (layers, weights by name, inputs) -> array or tuple of arrays; in training the loss


def trained(network):
  """Returns the network for a training step: without the statistics of batches, which the step computes."""
  def weights(random):
    return {k: v for k, v in network.weights(random).items() if not k.endswith(('.mean', '.variance'))}

  return dataclasses.replace(network, weights=weights)


def normal(random, shape, scale):
  return (random.standard_normal(shape, np.float32) * np.float32(scale)).astype(np.float32)


def conv_weight(random, size, inside, outside):
  return normal(random, (size, size, inside, outside), math.sqrt(2 / (size * size * inside)))


def batch_norm_weights(w, random, name, features):
  w[f'{name}.scale'] = (1 + normal(random, (features,), 0.1)).astype(np.float32)
  w[f'{name}.offset'] = normal(random, (features,), 0.1)
  w[f'{name}.mean'] = normal(random, (features,), 0.1)
  w[f'{name}.variance'] = (1 + random.random(features, np.float32)).astype(np.float32)


def layer_norm_weights(w, random, name, features):
  w[f'{name}.scale'] = (1 + normal(random, (features,), 0.1)).astype(np.float32)
  w[f'{name}.offset'] = normal(random, (features,), 0.1)


def dense_weights(w, random, name, inside, outside, scale=None):
  w[f'{name}.dense'] = normal(random, (inside, outside), scale or 1 / math.sqrt(inside))
  w[f'{name}.bias'] = normal(random, (outside,), 0.02)


def dense(layers, x, p, name):
  return layers.dense(x, p[f'{name}.dense'], p[f'{name}.bias'])


def resnet(batch, size=224, stages=(3, 4, 6, 3), width=64, classes=1000, training=False):
  """ResNet of bottlenecks with the stride in the 3 x 3 convolution (He et al., 2015); ResNet-50 by default."""
  def blocks():
    inside = width
    for i, count in enumerate(stages):
      for j in range(count):
        middle, stride = width << i, 2 if i and not j else 1
        yield f'stage{i}.block{j}', inside, middle, stride
        inside = 4 * middle

  def weights(random):
    w = {'stem.conv': conv_weight(random, 7, 3, width)}
    batch_norm_weights(w, random, 'stem.norm', width)
    for name, inside, middle, stride in blocks():
      for part, window, a, b in (('a', 1, inside, middle), ('b', 3, middle, middle), ('c', 1, middle, 4 * middle)):
        w[f'{name}.{part}.conv'] = conv_weight(random, window, a, b)
        batch_norm_weights(w, random, f'{name}.{part}.norm', b)
      w[f'{name}.c.norm.scale'] *= np.float32(0.25)  # keeps the sum of sixteen residuals from growing
      if stride == 2 or inside != 4 * middle:
        w[f'{name}.shortcut.conv'] = conv_weight(random, 1, inside, 4 * middle)
        batch_norm_weights(w, random, f'{name}.shortcut.norm', 4 * middle)
    dense_weights(w, random, 'head', 4 * (width << (len(stages) - 1)), classes)
    return w

  def apply(layers, p, inputs):
    x = layers.conv(inputs[0], p['stem.conv'], 2, 3)
    x = layers.max_pool(layers.relu(layers.batch_norm(x, p, 'stem.norm')), 3, 2, 1)
    for name, _, _, stride in blocks():
      y = layers.relu(layers.batch_norm(layers.conv(x, p[f'{name}.a.conv']), p, f'{name}.a.norm'))
      y = layers.relu(layers.batch_norm(layers.conv(y, p[f'{name}.b.conv'], stride, 1), p, f'{name}.b.norm'))
      y = layers.batch_norm(layers.conv(y, p[f'{name}.c.conv']), p, f'{name}.c.norm')
      if f'{name}.shortcut.conv' in p:
        x = layers.batch_norm(layers.conv(x, p[f'{name}.shortcut.conv'], stride), p, f'{name}.shortcut.norm')
      x = layers.relu(x + y)
    logits = dense(layers, layers.mean_of_pixels(x), p, 'head')
    return layers.cross_entropy(logits, inputs[1]) if training else logits

  def inputs(random):
    images = normal(random, (batch, size, size, 3), 1)
    return (images, random.integers(0, classes, batch, np.int32)) if training else (images,)

  return Network(weights, inputs, apply)


def transformer_weights(w, random, name, features):
  dense_weights(w, random, f'{name}.qkv', features, 3 * features)
  dense_weights(w, random, f'{name}.out', features, features)
  dense_weights(w, random, f'{name}.up', features, 4 * features)
  dense_weights(w, random, f'{name}.down', 4 * features, features)
  layer_norm_weights(w, random, f'{name}.norm1', features)
  layer_norm_weights(w, random, f'{name}.norm2', features)


def bert(batch, time=128, blocks=12, features=768, heads=12, words=30522, training=False):
  """The encoder of BERT (Devlin et al., 2018), with normalisation after the residual; BERT-base by default. Training predicts masked words."""
  def weights(random):
    w = {'words': normal(random, (words, features), 0.5), 'places': normal(random, (time, features), 0.5)}
    layer_norm_weights(w, random, 'start', features)
    for i in range(blocks):
      transformer_weights(w, random, f'block{i}', features)
    dense_weights(w, random, 'head', features, features)
    return w

  def apply(layers, p, inputs):
    x = layers.layer_norm(layers.embed(p['words'], inputs[0]) + p['places'], p, 'start')
    for i in range(blocks):
      name = f'block{i}'
      q, k, v = (layers.split_heads(a, heads) for a in layers.thirds(dense(layers, x, p, f'{name}.qkv')))
      y = dense(layers, layers.join_heads(layers.attention(q, k, v)), p, f'{name}.out')
      x = layers.layer_norm(x + y, p, f'{name}.norm1')
      y = dense(layers, layers.gelu(dense(layers, x, p, f'{name}.up')), p, f'{name}.down')
      x = layers.layer_norm(x + y, p, f'{name}.norm2')
    x = layers.tanh(dense(layers, x, p, 'head'))
    return layers.squared_error(x, inputs[1]) if training else x

  def inputs(random):
    tokens = random.integers(0, words, (batch, time), np.int32)
    return (tokens, normal(random, (batch, time, features), 1)) if training else (tokens,)

  return Network(weights, inputs, apply)


def gpt2_weights(random, time, blocks, features, words):
  w = {'words': normal(random, (words, features), 0.02), 'places': normal(random, (time, features), 0.02)}
  for i in range(blocks):
    transformer_weights(w, random, f'block{i}', features)
  layer_norm_weights(w, random, 'end', features)
  return w


def gpt2_block(layers, p, x, name, heads, attend):
  q, k, v = (layers.split_heads(a, heads) for a in layers.thirds(dense(layers, layers.layer_norm(x, p, f'{name}.norm1'), p, f'{name}.qkv')))
  x = x + dense(layers, layers.join_heads(attend(q, k, v)), p, f'{name}.out')
  y = layers.gelu_by_tanh(dense(layers, layers.layer_norm(x, p, f'{name}.norm2'), p, f'{name}.up'))
  return x + dense(layers, y, p, f'{name}.down'), k, v


def gpt2_decoding(batch, past=256, blocks=12, features=768, heads=12, words=50257):
  """One token of GPT-2 (Radford et al., 2019), small by default, after `past` tokens with given keys and values. The results are the
  logits of the next token and the keys and values of this one. The caller has to write these into the cache."""
  def weights(random):
    return gpt2_weights(random, past + 1, blocks, features, words)

  def apply(layers, p, inputs):
    token, cached_keys, cached_values = inputs
    x = layers.embed(p['words'], token) + p['places'][past]
    keys, values = [], []
    for i in range(blocks):
      def attend(q, k, v):
        return layers.attention(q, layers.append_time(cached_keys[i], k), layers.append_time(cached_values[i], v))

      x, k, v = gpt2_block(layers, p, x, f'block{i}', heads, attend)
      keys.append(k)
      values.append(v)
    logits = layers.logits(layers.layer_norm(x, p, 'end'), p['words'])
    return logits, layers.stack(keys), layers.stack(values)

  def inputs(random):
    shape = (blocks, batch, heads, past, features // heads)
    return random.integers(0, words, (batch, 1), np.int32), normal(random, shape, 1), normal(random, shape, 1)

  return Network(weights, inputs, apply)


def gpt2_training(batch, time=128, blocks=12, features=768, heads=12, words=50257):
  """The loss of GPT-2 on `time` tokens, each of which predicts the next."""
  def weights(random):
    return gpt2_weights(random, time, blocks, features, words)

  def apply(layers, p, inputs):
    x = layers.embed(p['words'], inputs[0]) + p['places']
    for i in range(blocks):
      x, _, _ = gpt2_block(layers, p, x, f'block{i}', heads, lambda q, k, v: layers.attention(q, k, v, causal=True))
    return layers.cross_entropy(layers.logits(layers.layer_norm(x, p, 'end'), p['words']), inputs[1])

  def inputs(random):
    text = random.integers(0, words, (batch, time + 1), np.int32)
    return np.ascontiguousarray(text[:, :-1]), np.ascontiguousarray(text[:, 1:])

  return Network(weights, inputs, apply)


def unet(batch, size=256, levels=5, width=32, classes=2, training=False):
  """The U-Net of Ronneberger et al. (2015) with padding and batch normalisation, half as wide by default."""
  def pairs():
    for i in range(levels):
      yield f'down{i}', 3 if i == 0 else width << (i - 1), width << i
    for i in reversed(range(levels - 1)):
      yield f'up{i}', 2 * (width << i), width << i

  def weights(random):
    w = {}
    for name, inside, outside in pairs():
      w[f'{name}.a.conv'] = conv_weight(random, 3, inside, outside)
      w[f'{name}.b.conv'] = conv_weight(random, 3, outside, outside)
      batch_norm_weights(w, random, f'{name}.a.norm', outside)
      batch_norm_weights(w, random, f'{name}.b.norm', outside)
      if name.startswith('up'):
        w[f'{name}.double'] = normal(random, (2, 2, inside, outside), math.sqrt(1 / inside))
    w['head.conv'] = conv_weight(random, 1, width, classes)
    return w

  def apply(layers, p, inputs):
    def pair(x, name):
      x = layers.relu(layers.batch_norm(layers.conv(x, p[f'{name}.a.conv'], 1, 1), p, f'{name}.a.norm'))
      return layers.relu(layers.batch_norm(layers.conv(x, p[f'{name}.b.conv'], 1, 1), p, f'{name}.b.norm'))

    x, kept = inputs[0], []
    for i in range(levels):
      x = pair(layers.max_pool(x, 2, 2, 0) if i else x, f'down{i}')
      kept.append(x)
    for i in reversed(range(levels - 1)):
      x = pair(layers.join_features(kept[i], layers.double_size(x, p[f'up{i}.double'])), f'up{i}')
    x = layers.conv(x, p['head.conv'])
    return layers.squared_error(x, inputs[1]) if training else x

  def inputs(random):
    images = normal(random, (batch, size, size, 3), 1)
    return (images, normal(random, (batch, size, size, classes), 1)) if training else (images,)

  return Network(weights, inputs, apply)


def lstm(batch, time=128, features=512, blocks=2, words=10000):
  """The loss of a language model of LSTM layers (Hochreiter and Schmidhuber, 1997) over embedded words."""
  def weights(random):
    w = {'words': normal(random, (words, features), 0.1)}
    for i in range(blocks):
      w[f'lstm{i}.input.dense'] = normal(random, (features, 4 * features), 1 / math.sqrt(features))
      w[f'lstm{i}.recurrent.dense'] = normal(random, (features, 4 * features), 1 / math.sqrt(features))
      w[f'lstm{i}.bias'] = normal(random, (4 * features,), 0.1)
    dense_weights(w, random, 'head', features, words)
    return w

  def apply(layers, p, inputs):
    x = layers.embed(p['words'], inputs[0])
    for i in range(blocks):
      x = layers.lstm(x, p, f'lstm{i}')
    return layers.cross_entropy(dense(layers, x, p, 'head'), inputs[1])

  def inputs(random):
    text = random.integers(0, words, (batch, time + 1), np.int32)
    return np.ascontiguousarray(text[:, :-1]), np.ascontiguousarray(text[:, 1:])

  return Network(weights, inputs, apply)


def graph_network(nodes=4096, edges=32768, features=128, rounds=4):
  """The squared error of a graph network (Battaglia et al., 2018): in each round an edge reads its two nodes, and a node reads the sum of its edges."""
  def weights(random):
    w = {}
    for i in range(rounds):
      dense_weights(w, random, f'round{i}.edge1', 3 * features, features)
      dense_weights(w, random, f'round{i}.edge2', features, features)
      dense_weights(w, random, f'round{i}.node1', 2 * features, features)
      dense_weights(w, random, f'round{i}.node2', features, features, 0.1)
      layer_norm_weights(w, random, f'round{i}.edge_norm', features)
      layer_norm_weights(w, random, f'round{i}.node_norm', features)
    dense_weights(w, random, 'head', features, 1)
    return w

  def apply(layers, p, inputs):
    x, e, senders, receivers, target = inputs
    for i in range(rounds):
      name = f'round{i}'
      y = layers.join_features(layers.join_features(layers.rows(x, senders), layers.rows(x, receivers)), e)
      y = dense(layers, layers.relu(dense(layers, y, p, f'{name}.edge1')), p, f'{name}.edge2')
      e = layers.layer_norm(e + y, p, f'{name}.edge_norm')
      y = layers.join_features(x, layers.sum_into_rows(e, receivers, x.shape[0]))
      y = dense(layers, layers.relu(dense(layers, y, p, f'{name}.node1')), p, f'{name}.node2')
      x = layers.layer_norm(x + y, p, f'{name}.node_norm')
    return layers.squared_error(dense(layers, x, p, 'head'), target)

  def inputs(random):
    return (normal(random, (nodes, features), 1), normal(random, (edges, features), 1), random.integers(0, nodes, edges, np.int32),
            random.integers(0, nodes, edges, np.int32), normal(random, (nodes, 1), 1))

  return Network(weights, inputs, apply)


INFERENCE = {
    'resnet50': resnet,
    'bert_base': bert,
    'gpt2_decoding': gpt2_decoding,
    'unet': unet,
}

TRAINING = {
    'resnet50': lambda batch: trained(resnet(batch, training=True)),
    'bert_base': lambda batch: bert(batch, training=True),
    'gpt2': gpt2_training,
    'unet': lambda batch: trained(unet(batch, training=True)),
    'lstm': lstm,
    'graph_network': lambda batch: graph_network(4096 * batch // 8, 32768 * batch // 8),
}

TINY = {
    'resnet': resnet(2, 32, (1, 2), 8, 10),
    'resnet training': trained(resnet(2, 32, (1, 2), 8, 10, training=True)),
    'bert': bert(2, 8, 2, 16, 2, 50),
    'bert training': bert(2, 8, 2, 16, 2, 50, training=True),
    'gpt2 decoding': gpt2_decoding(2, 8, 2, 16, 2, 50),
    'gpt2 training': gpt2_training(2, 8, 2, 16, 2, 50),
    'unet': unet(2, 16, 3, 4),
    'unet training': trained(unet(2, 16, 3, 4, training=True)),
    'lstm': lstm(2, 5, 8, 2, 20),
    'graph network': graph_network(12, 30, 8, 2),
}
