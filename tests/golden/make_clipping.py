"""clipping: clipped gradients of models of many kinds by jax_privacy 2.0.0 (which makes every
example's gradient).

cases: name (of a model in tests/privacy/clipped_golden_test.cc), clip, params and batch (arrays),
norms (of each example, before clipping), sums (of the clipped gradients, one a parameter). All
float32, but for tokens and labels (int32).
"""
import jax
import jax.numpy as jnp
from jax_privacy import clipping
import numpy as np

import golden

golden.setup()


def normal(seed, shape, scale=1.0):
  values = np.random.Generator(np.random.PCG64(seed)).standard_normal(shape)
  return jnp.asarray(scale * values, jnp.float32)


def integers(seed, shape, below):
  values = np.random.Generator(np.random.PCG64(seed)).integers(0, below, shape)
  return jnp.asarray(values, jnp.int32)


def cross_entropy(logits, labels):
  return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def layer_norm(x, gain, bias):
  centred = x - x.mean(-1, keepdims=True)
  variance = jnp.square(centred).mean(-1, keepdims=True)
  return centred / jnp.sqrt(variance + 1e-5) * gain + bias


def mlp(p, x, y):
  return cross_entropy(jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3], y)


def tied_embedding(p, tokens):
  h = jnp.tanh(p[0][tokens[:, :-1]] @ p[1])
  return cross_entropy(h @ p[0].T, tokens[:, 1:])


def attention(p, x, y):
  q, k, v = jnp.split(layer_norm(x, p[2], p[3]) @ p[0], 3, -1)
  s = jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2), -1)
  return jnp.mean(jnp.square(x + (s @ v) @ p[1] - y))


def convolutions(p, x, y):
  def conv(x, w, strides):
    return jax.lax.conv_general_dilated(
        x, w, strides, 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
  h = jax.nn.relu(conv(x, p[0], (1, 1)) + p[1])
  h = jnp.tanh(conv(h, p[2], (2, 2)))
  return cross_entropy(h.reshape(h.shape[0], -1) @ p[3], y)


def grouped_convolution(p, x, y):
  h = jax.lax.conv_general_dilated(
      x, p[0], (1,), 'SAME', dimension_numbers=('NHC', 'HIO', 'NHC'), feature_group_count=4)
  return jnp.mean(jnp.square(jnp.tanh(h) - y))


def layers(p, x, y):
  h = jax.lax.scan(lambda h, l: (jnp.tanh(h @ l[0] + l[1]), None), x, (p[0], p[1]))[0]
  return jnp.mean(jnp.square(h - y))


def recurrence(p, x, y):
  def step(h, x):
    h = jnp.tanh(x @ p[0] + h @ p[1])
    return h, h
  start = p[2] * jnp.ones((x.shape[0], 1))
  steps = jax.lax.scan(step, start, jnp.swapaxes(x, 0, 1))[1]
  return jnp.mean(jnp.square(steps - jnp.swapaxes(y, 0, 1)))


def remat(p, x):
  block = jax.checkpoint(lambda w, h: jnp.tanh(h @ w))
  return jnp.mean(jnp.square(block(p[1], block(p[0], x))))


@jax.custom_vjp
def doubled(w, x):
  return x @ w


doubled.defvjp(lambda w, x: (x @ w, (w, x)),
               lambda saved, ct: (2 * jnp.sum(jnp.swapaxes(saved[1], -1, -2) @ ct, 0),
                                  ct @ saved[0].T))


def custom_vjp(p, x):
  return jnp.mean(jnp.square(doubled(p[1], jnp.tanh(doubled(p[0], x)))))


def low_rank(p, x):
  frozen = jnp.sin(jnp.arange(36.0)).reshape(6, 6)
  return jnp.mean(jnp.square(x @ frozen + (x @ p[0]) @ p[1]))


def weight_norm(p, x):
  unit = p[0] / jnp.sqrt(jnp.sum(jnp.square(p[0]), 0, keepdims=True))
  return jnp.mean(jnp.square(x @ jnp.exp(unit))) + 0.01 * jnp.sum(jnp.square(p[0]))


def branches(p, x):
  return jax.lax.cond(jnp.sum(x) > 0, lambda w, x: jnp.mean(jnp.square(x @ w)),
                      lambda w, x: jnp.mean(jnp.sin(x @ w)), p[0], x)


def users(p, x):
  return jnp.mean(jnp.square(jnp.tanh(x @ p[0])))


MODELS = [
    (mlp, [(5, 16), (16,), (16, 3), (3,)], [normal(10, (6, 5)), integers(11, (6,), 3)], 1.0),
    (tied_embedding, [(11, 6), (6, 6)], [integers(12, (5, 10), 11)], 1.0),
    (attention, [(8, 24), (8, 8), (8,), (8,)],
     [normal(13, (4, 12, 8)), normal(14, (4, 12, 8))], .4),
    (convolutions, [(3, 3, 2, 4), (4,), (3, 2, 4, 6), (72, 3)],
     [normal(15, (4, 8, 6, 2)), integers(16, (4,), 3)], .3),
    (grouped_convolution, [(3, 2, 8)], [normal(17, (4, 9, 8)), normal(18, (4, 9, 8))], 1.0),
    (layers, [(3, 6, 6), (3, 6)], [normal(19, (4, 7, 6)), normal(20, (4, 7, 6))], .5),
    (recurrence, [(3, 5), (5, 5), (5,)], [normal(21, (4, 9, 3)), normal(22, (4, 9, 5))], .5),
    (remat, [(5, 5), (5, 5)], [normal(23, (4, 6, 5))], .5),
    (custom_vjp, [(5, 5), (5, 5)], [normal(24, (4, 6, 5))], .5),
    (low_rank, [(6, 2), (2, 6)], [normal(25, (4, 5, 6))], .4),
    (weight_norm, [(5, 3)], [normal(26, (4, 6, 5))], .4),
    (branches, [(5, 3)], [normal(27, (4, 6, 5))], .4),
    (users, [(5, 3)], [normal(28, (4, 7, 5))], .4),
]


def main():
  topic = golden.Topic('clipping')
  cases = []
  for number, (model, shapes, batch, scale) in enumerate(MODELS):
    name = model.__name__
    params = [normal(100 * number + i, s, scale) for i, s in enumerate(shapes)]

    def run(clip):
      return jax.jit(clipping.clipped_grad(
          model, l2_clip_norm=clip, batch_argnums=tuple(range(1, len(batch) + 1)),
          keep_batch_dim=model is not users, return_grad_norms=True))(params, *batch)

    clip = float(np.median(run(1.0)[1].grad_norms))
    sums, aux = run(clip)
    array = lambda key, x: topic.array(f'{name}_{key}', x)
    cases.append({
        'name': name,
        'clip': clip,
        'params': [array(f'param{i}', p) for i, p in enumerate(params)],
        'batch': [array(f'batch{i}', x) for i, x in enumerate(batch)],
        'norms': array('norms', aux.grad_norms),
        'sums': [array(f'sum{i}', s) for i, s in enumerate(sums)],
    })
  topic.write({'jax_privacy': '2.0.0', 'cases': cases})


if __name__ == '__main__':
  main()
