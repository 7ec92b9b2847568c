"""Trains a flax model on eight devices to read digits, with data cut over one mesh axis and the wide layers over the other.

  JAX_PLATFORMS=tessera TESSERA_DEVICES=cpu:8 python examples/jax/train_flax.py [--steps N]

Nothing here knows of Tessera but the last lines, which print its plan of the step; under JAX_PLATFORMS=cpu with eight
devices (XLA_FLAGS=--xla_force_host_platform_device_count=8) the same program runs on XLA.
"""
import argparse
import pathlib
import statistics
import time

from flax import linen as nn
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import optax


class Classifier(nn.Module):
  """Two hidden layers; the first is sharded over 'model' by columns, the second by rows, so one sum joins them."""
  width: int = 256
  classes: int = 10

  @nn.compact
  def __call__(self, x):
    columns = nn.with_partitioning(nn.initializers.lecun_normal(), (None, 'model'))
    rows = nn.with_partitioning(nn.initializers.lecun_normal(), ('model', None))
    x = nn.gelu(nn.Dense(self.width, kernel_init=columns)(nn.LayerNorm()(x)))
    x = nn.gelu(nn.Dense(self.width, kernel_init=rows)(x))
    return nn.Dense(self.classes)(x)


def load_digits():
  """1,797 handwritten digits of 8 x 8 pixels (examples/data/README.md), the last 261 for the test."""
  digits = np.load(pathlib.Path(__file__).resolve().parent.parent / 'data' / 'digits.npz')
  images = digits['images'].reshape(-1, 64).astype(np.float32) / 16
  return images, digits['labels'].astype(np.int32)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--steps', type=int, default=150)
  parser.add_argument('--batch', type=int, default=256)
  args = parser.parse_args()

  mesh = jax.make_mesh((4, 2), ('data', 'model'), axis_types=(jax.sharding.AxisType.Auto,) * 2)
  print(f'{jax.default_backend()}: {jax.device_count()} devices, mesh {dict(mesh.shape)}')
  model, optimizer = Classifier(), optax.adam(1e-3)
  images, labels = load_digits()
  batches = 1536 // args.batch

  def init(key):
    params = model.init(key, jnp.zeros((1, images.shape[1])))
    return params, optimizer.init(params)

  # Shardings of parameters and of the optimizer's moments follow what the layers say.
  specs = nn.get_partition_spec(jax.eval_shape(init, jax.random.key(0)))
  shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda s: isinstance(s, P))
  params, state = jax.jit(init, out_shardings=shardings)(jax.random.key(0))
  params, state = nn.unbox((params, state))

  def loss_of(params, images, labels):
    logits = model.apply(params, images)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    return loss, (logits.argmax(-1) == labels).mean()

  @jax.jit
  def step(params, state, images, labels):
    (loss, accuracy), grads = jax.value_and_grad(loss_of, has_aux=True)(params, images, labels)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss, accuracy

  rows = NamedSharding(mesh, P('data'))
  def batch(i):
    at = slice(i % batches * args.batch, (i % batches + 1) * args.batch)
    return jax.device_put((images[at], labels[at]), rows)

  times = []
  for i in range(args.steps):
    data = batch(i)
    began = time.perf_counter()
    params, state, loss, accuracy = step(params, state, *data)
    loss.block_until_ready()
    times.append(time.perf_counter() - began)
    if i % 25 == 0 or i == args.steps - 1:
      print(f'step {i:3}: loss {loss:.4f}, accuracy {accuracy:.3f}')
  print(f'first step {times[0]:.2f} s with compilation, then {1e3 * statistics.median(times[1:]):.2f} ms')
  correct = model.apply(params, images[1536:]).argmax(-1) == labels[1536:]
  print(f'accuracy on the test set: {correct.mean():.3f}')
  assert correct.mean() > 0.85, 'the model did not learn'

  try:
    import tessera_jax
  except ImportError:
    return
  print('\nTessera\'s plan of the step:\n')
  print(tessera_jax.explain(step, params, state, *batch(0)))


if __name__ == '__main__':
  main()
