"""Gradients of recurrent layers: the sum over the steps that a loop would add up is one product after the loop."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
import pytest
import tessera_jax


def lstm(weights, inputs, state):
  def cell(carry, x):
    hidden, memory = carry
    i, f, g, o = jnp.split(x @ weights['input'] + hidden @ weights['recurrent'] + weights['bias'], 4, axis=-1)
    memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
    hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
    return (hidden, memory), hidden
  return cell, (state, state), inputs


def gru(weights, inputs, state):
  def cell(hidden, x):
    a, b = x @ weights['input'] + weights['bias'], hidden @ weights['recurrent']
    (r, z, n), (s, y, m) = jnp.split(a, 3, axis=-1), jnp.split(b, 3, axis=-1)
    update = jax.nn.sigmoid(z + y)
    hidden = (1 - update) * jnp.tanh(n + jax.nn.sigmoid(r + s) * m) + update * hidden
    return hidden, hidden
  return cell, state, inputs


def rnn(weights, inputs, state):
  def cell(hidden, x):
    hidden = jnp.tanh(x @ weights['input'] + hidden @ weights['recurrent'] + weights['bias'])
    return hidden, hidden
  return cell, state, inputs


LAYERS = {'lstm': (lstm, 4), 'gru': (gru, 3), 'rnn': (rnn, 1)}


def scanned(layer, reverse, *arguments):
  cell, state, inputs = layer(*arguments)
  return jax.lax.scan(cell, state, inputs, reverse=reverse)[1]


def unrolled(layer, reverse, *arguments):
  cell, state, inputs = layer(*arguments)
  steps = []
  for t in reversed(range(len(inputs))) if reverse else range(len(inputs)):
    state, y = cell(state, inputs[t])
    steps.append(y)
  return jnp.stack(steps[::-1] if reverse else steps)


def arguments_of(gates, time, batch, features, dtype=np.float32):
  random = np.random.default_rng(1)
  normal = lambda *shape: (random.normal(size=shape) / np.sqrt(features)).astype(dtype)
  weights = {'input': normal(features, gates * features), 'recurrent': normal(features, gates * features), 'bias': normal(gates * features)}
  return weights, normal(time, batch, features), normal(batch, features)


def gradients(loop, layer, reverse=False):
  def loss(*arguments):
    return (loop(layer, reverse, *arguments).astype(jnp.float32)**2).sum()
  return jax.jit(jax.grad(loss, argnums=(0, 1, 2)))


def assert_close(got, want, tolerance):
  for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
    x, y = np.asarray(x, np.float32), np.asarray(y, np.float32)
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.abs(y).max())


@pytest.mark.parametrize('reverse', [False, True])
@pytest.mark.parametrize('name', LAYERS)
@pytest.mark.parametrize('batch', [1, 3])
def test_equals_the_unrolled_loop(name, batch, reverse):
  layer, gates = LAYERS[name]
  arguments = arguments_of(gates, 12, batch, 96)
  assert_close(gradients(scanned, layer, reverse)(*arguments), gradients(unrolled, layer, reverse)(*arguments), 2e-6)


@pytest.mark.parametrize('dtype,tolerance', [(jnp.bfloat16, 3e-2), (np.float16, 4e-3)])
def test_half_precision(dtype, tolerance):
  arguments = arguments_of(4, 12, 2, 128, dtype)
  wide = jax.tree.map(lambda x: np.asarray(x, np.float32), arguments)
  assert_close(gradients(scanned, lstm)(*arguments), gradients(unrolled, lstm)(*wide), tolerance)


def bytes_accessed(name, time, features=128):
  layer, gates = LAYERS[name]
  return gradients(scanned, layer).lower(*arguments_of(gates, time, 1, features)).compile().cost_analysis()['bytes accessed']


@pytest.mark.parametrize('name', LAYERS)
def test_a_step_does_not_read_and_write_the_gradient(name):
  """A step reads the weights (of the state and of the input) once forward and once backward, and no array of their size otherwise."""
  weights = 4 * 128 * 128 * LAYERS[name][1]
  step = (bytes_accessed(name, 64) - bytes_accessed(name, 32)) / 32
  assert 4 * weights <= step < 5 * weights


def test_several_layers_and_maps():
  layer, gates = LAYERS['rnn']
  weights, inputs, state = arguments_of(gates, 6, 2, 96)
  stack = jax.tree.map(lambda x: np.stack([x, -x, x / 2]), weights)

  def loss(loop, stack, inputs):
    if loop is scanned:
      out = jax.lax.scan(lambda x, w: (loop(layer, False, w, x, state), None), inputs, stack)[0]
    else:
      out = functools.reduce(lambda x, k: loop(layer, False, jax.tree.map(lambda w: w[k], stack), x, state), range(3), inputs)
    return (out**2).sum()
  both = [jax.jit(jax.grad(functools.partial(loss, loop), argnums=(0, 1))) for loop in (scanned, unrolled)]
  assert_close(both[0](stack, inputs), both[1](stack, inputs), 2e-6)
  many = np.stack([inputs, -inputs])
  mapped = [jax.jit(jax.vmap(f, in_axes=(None, 0))) for f in both]
  assert_close(mapped[0](stack, many), mapped[1](stack, many), 2e-6)


def test_a_loop_in_a_loop_over_the_same_weights():
  layer, gates = LAYERS['rnn']
  weights, inputs, state = arguments_of(gates, 4, 2, 96)
  many = np.stack([inputs, -inputs, inputs / 2])

  def loss(loop, weights, many):
    step = lambda h, x: (loop(layer, False, weights, x, h)[-1], None)
    h = state
    if loop is scanned:
      h = jax.lax.scan(step, h, many)[0]
    else:
      for x in many:
        h = step(h, x)[0]
    return (h**2).sum()
  got, want = (jax.jit(jax.grad(functools.partial(loss, loop), argnums=(0, 1)))(weights, many) for loop in (scanned, unrolled))
  assert_close(got, want, 2e-6)


@pytest.mark.parametrize('how', ['jit', 'shard_map'])
def test_on_devices(how):
  """The gradients of data-parallel steps are summed over the devices once, after the loop."""
  mesh = jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
  arguments = arguments_of(4, 12, 16, 128)
  want = gradients(unrolled, lstm)(*arguments)
  specs = ({k: P() for k in arguments[0]}, P(None, 'x'), P('x'))
  if how == 'jit':
    f = gradients(scanned, lstm)
    plan = tessera_jax.explain(f, *arguments, mesh={'x': 8}, jit_options={'in_shardings': specs})
    large = [c for c in plan.collectives if c.bytes_per_device > arguments[0]['recurrent'].nbytes]
    assert [(c.name, c.times) for c in large] == [('all_reduce', 1)]
    assert all(c.name == 'all_reduce' for c in plan.collectives)
    arguments = jax.tree.map(lambda x, s: jax.device_put(x, NamedSharding(mesh, s)), arguments, specs)
  else:
    def local(*arguments):
      g = gradients(scanned, lstm)(*arguments)
      return jax.tree.map(lambda x: jax.lax.psum(x, 'x'), g[0]), g[1], g[2]
    f = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=specs, check_vma=False))
  compiled = f.lower(*arguments).compile()
  assert_close(compiled(*arguments), want, 2e-6)
