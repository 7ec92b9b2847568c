"""Sharded programs whose plans check_plans.py compares with XLA's: models, training steps and single ops.

programs() yields Program(family, name, function, arguments, out). `arguments` is a tree of jax.ShapeDtypeStructs with
shardings on 8 devices. `out` is a tree of PartitionSpecs of the results, or None if XLA chooses them.
"""
import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

MESHES = {'x8': {'x': 8}, 'x4y2': {'x': 4, 'y': 2}, 'x2y4': {'x': 2, 'y': 4}, 'x2y2z2': {'x': 2, 'y': 2, 'z': 2}}


@functools.cache
def mesh(name):
  sizes = MESHES[name]
  return jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=(AxisType.Auto,) * len(sizes))


@dataclasses.dataclass
class Program:
  family: str
  name: str
  function: object
  arguments: tuple
  mesh: jax.sharding.Mesh
  out: object = None


def array(mesh_name, shape, spec=P(), dtype=jnp.float32):
  return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh(mesh_name), spec))


def placed(mesh_name, shapes, specs):
  """Returns arguments from trees of shapes and specs."""
  is_shape = lambda s: isinstance(s, tuple) and all(isinstance(d, int) for d in s)
  flat, tree = jax.tree.flatten(shapes, is_leaf=is_shape)
  return jax.tree.unflatten(tree, [array(mesh_name, s, spec) for s, spec in zip(
      flat, jax.tree.flatten(specs, is_leaf=lambda s: isinstance(s, P))[0], strict=True)])


def specs_of(tree):
  return jax.tree.map(lambda a: a.sharding.spec, tree)


# Single ops: name, function, [(shape, spec[, dtype])], mesh.
def ops():
  x, y, xy = P('x'), P('y'), P('x', 'y')
  col = P(None, 'x')
  i32 = jnp.int32
  conv = lambda v, k, strides=(1, 1), padding='SAME', **more: lax.conv_general_dilated(v, k, strides, padding, **more)
  pool = lambda v: lax.reduce_window(v, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')
  nhwc = dict(dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
  yield 'dot/contracted', lambda a, b: a @ b, [((64, 128), col), ((128, 32), x)], 'x8'
  yield 'dot/rows', lambda a, b: a @ b, [((64, 128), x), ((128, 32), P())], 'x8'
  yield 'dot/columns', lambda a, b: a @ b, [((64, 128), P()), ((128, 32), col)], 'x8'
  yield 'dot/rows_by_columns', lambda a, b: a @ b, [((64, 128), x), ((128, 64), col)], 'x8'
  yield 'dot/summa', lambda a, b: a @ b, [((64, 128), xy), ((128, 64), xy)], 'x4y2'
  yield 'dot/two_axes', lambda a, b: a @ b, [((64, 128), P(None, ('x', 'y'))), ((128, 64), P(('x', 'y')))], 'x4y2'
  yield 'dot/chain', lambda a, b, c: (a @ b) @ c, [((64, 128), P()), ((128, 256), col), ((256, 64), x)], 'x8'
  yield 'dot/gram', lambda a: a.T @ a, [((512, 64), x)], 'x8'
  yield 'dot/batched', lambda a, b: jnp.einsum('bij,bjk->bik', a, b), [((16, 32, 64), x), ((16, 64, 8), x)], 'x8'
  yield 'dot/outer', lambda a, b: jnp.outer(a, b), [((256,), x), ((128,), P())], 'x8'
  yield 'sum/all', lambda a: a.sum(), [((64, 32), xy)], 'x4y2'
  yield 'sum/rows', lambda a: a.sum(0), [((64, 32), xy)], 'x4y2'
  yield 'sum/both_axes', lambda a: a.sum((0, 1)), [((64, 32, 8), xy)], 'x4y2'
  yield 'max/columns', lambda a: a.max(1), [((64, 32), xy)], 'x4y2'
  yield 'argmax/cut', lambda a: a.argmax(0), [((64, 32), x)], 'x8'
  yield 'mean_var', lambda a: (a.mean(0), a.var(0)), [((64, 32), x)], 'x8'
  yield 'softmax/cut', lambda a: jax.nn.softmax(a), [((16, 64), col)], 'x8'
  yield 'logsumexp/cut', lambda a: jax.nn.logsumexp(a, axis=-1), [((16, 64), col)], 'x8'
  yield 'layer_norm/cut', lambda a: (a - a.mean(-1, keepdims=True)) / jnp.sqrt(a.var(-1, keepdims=True) + 1e-5), [((16, 64), col)], 'x8'
  yield 'roll/one', lambda a: jnp.roll(a, 1, 0), [((64, 32), x)], 'x8'
  yield 'roll/many', lambda a: jnp.roll(a, 11, 0), [((64, 32), x)], 'x8'
  yield 'stencil/1d', lambda a: jnp.roll(a, 1) + jnp.roll(a, -1) - 2 * a, [((1024,), x)], 'x8'
  yield 'stencil/2d', lambda a: sum(jnp.roll(a, s, d) for s in (1, -1) for d in (0, 1)) - 4 * a, [((64, 64), xy)], 'x4y2'
  yield 'stencil/slices', lambda a: a[2:] + a[:-2] - 2 * a[1:-1], [((1024, 8), x)], 'x8'
  yield 'diff', lambda a: jnp.diff(a, axis=0), [((64, 32), x)], 'x8'
  yield 'slice/middle', lambda a: a[8:56], [((64, 32), x)], 'x8'
  yield 'slice/head', lambda a: a[:16], [((64, 32), x)], 'x8'
  yield 'slice/strided', lambda a: a[::2], [((64, 32), x)], 'x8'
  yield 'slice/row', lambda a: a[13], [((64, 32), x)], 'x8'
  yield 'pad/cut', lambda a: jnp.pad(a, ((4, 4), (0, 0))), [((64, 32), x)], 'x8'
  yield 'pad/uncut', lambda a: jnp.pad(a, ((0, 0), (4, 4))), [((64, 32), x)], 'x8'
  yield 'concatenate/cut', lambda a, b: jnp.concatenate([a, b]), [((64, 32), x), ((64, 32), x)], 'x8'
  yield 'concatenate/uncut', lambda a, b: jnp.concatenate([a, b], 1), [((64, 32), x), ((64, 16), x)], 'x8'
  yield 'split/cut', lambda a: jnp.split(a, 2), [((64, 32), x)], 'x8'
  yield 'split/qkv', lambda a, w: jnp.split(a @ w, 3, -1), [((64, 32), P()), ((32, 96), col)], 'x8'
  yield 'reverse/cut', lambda a: a[::-1], [((64, 32), x)], 'x8'
  yield 'cumsum/cut', lambda a: jnp.cumsum(a, 0), [((64, 32), x)], 'x8'
  yield 'cumsum/uncut', lambda a: jnp.cumsum(a, 1), [((64, 32), x)], 'x8'
  yield 'sort/cut', lambda a: jnp.sort(a, 0), [((64, 32), x)], 'x8'
  yield 'sort/vector', lambda a: jnp.sort(a), [((1024,), x)], 'x8'
  yield 'sort/uncut', lambda a: jnp.sort(a, 1), [((64, 32), x)], 'x8'
  yield 'top_k/cut', lambda a: lax.top_k(a, 4), [((16, 512), col)], 'x8'
  yield 'top_k/uncut', lambda a: lax.top_k(a, 4), [((16, 512), x)], 'x8'
  yield 'transpose/cut', lambda a: a.T, [((64, 32), x)], 'x8'
  yield 'transpose/two_axes', lambda a: a.T + 1, [((64, 32), xy)], 'x4y2'
  yield 'transpose/kept', lambda a: lax.with_sharding_constraint(a.T, NamedSharding(mesh('x8'), x)), [((64, 64), x)], 'x8'
  yield 'transpose/kept_two', lambda a: lax.with_sharding_constraint(a.T, NamedSharding(mesh('x4y2'), xy)), [((64, 64), xy)], 'x4y2'
  yield 'transpose/added', lambda a: a + a.T, [((64, 64), xy)], 'x4y2'
  yield 'reshape/merge', lambda a: a.reshape(-1, 8), [((16, 32, 8), x)], 'x8'
  yield 'reshape/merge_minor', lambda a: a.reshape(16, -1), [((16, 32, 8), P(None, 'x'))], 'x8'
  yield 'reshape/split', lambda a: a.reshape(64, 4, 8), [((64, 32), col)], 'x4y2'
  yield 'reshape/heads', lambda a: a.reshape(4, 16, 8, 16).swapaxes(1, 2), [((4, 16, 128), P(None, None, 'x'))], 'x8'
  yield 'reshard/rows_to_columns', lambda a: lax.with_sharding_constraint(a, NamedSharding(mesh('x8'), col)), [((64, 64), x)], 'x8'
  yield 'reshard/gather', lambda a: lax.with_sharding_constraint(a, NamedSharding(mesh('x8'), P())), [((64, 64), x)], 'x8'
  yield 'reshard/swap', lambda a: lax.with_sharding_constraint(a, NamedSharding(mesh('x4y2'), P('y', 'x'))), [((64, 64), xy)], 'x4y2'
  yield 'reshard/order', lambda a: lax.with_sharding_constraint(a, NamedSharding(mesh('x4y2'), P(('y', 'x')))), [((64, 64), P(('x', 'y')))], 'x4y2'
  yield 'reshard/fold', lambda a: lax.with_sharding_constraint(a, NamedSharding(mesh('x4y2'), P(('x', 'y')))), [((64, 64), xy)], 'x4y2'
  yield 'take/cut_table', lambda t, i: t[i], [((512, 64), x), ((128,), P(), i32)], 'x8'
  yield 'take/cut_columns', lambda t, i: t[i], [((512, 64), col), ((128,), P(), i32)], 'x8'
  yield 'take/cut_indices', lambda t, i: t[i], [((512, 64), P()), ((128,), x, i32)], 'x8'
  yield 'take/both', lambda t, i: t[i], [((512, 64), y), ((128,), x, i32)], 'x4y2'
  yield 'take/gradient', lambda t, i: jax.grad(lambda t: jnp.sum(jnp.sin(t[i])))(t), [((512, 64), x), ((128,), P(), i32)], 'x8'
  yield 'take/gradient_data', lambda t, i: jax.grad(lambda t: jnp.sum(jnp.sin(t[i])))(t), [((512, 64), P()), ((128,), x, i32)], 'x8'
  yield 'take_along_axis/cut', lambda a, i: jnp.take_along_axis(a, i, 1), [((16, 512), col), ((16, 1), P(), i32)], 'x8'
  yield 'take_along_axis/rows', lambda a, i: jnp.take_along_axis(a, i, 1), [((16, 512), x), ((16, 1), x, i32)], 'x8'
  yield 'one_hot/classes', lambda i, w: jax.nn.one_hot(i, 512) @ w, [((64,), P(), i32), ((512, 32), x)], 'x8'
  yield 'one_hot/rows', lambda i, w: jax.nn.one_hot(i, 512) @ w, [((64,), x, i32), ((512, 32), P())], 'x8'
  yield 'scatter_add/cut', lambda a, i, u: a.at[i].add(u), [((512, 32), x), ((64,), P(), i32), ((64, 32), P())], 'x8'
  yield 'scatter_set/cut', lambda a, i, u: a.at[i].set(u), [((512, 32), x), ((64,), P(), i32), ((64, 32), P())], 'x8'
  yield 'scatter_add/updates', lambda a, i, u: a.at[i].add(u), [((512, 32), P()), ((64,), x, i32), ((64, 32), x)], 'x8'
  yield 'segment_sum', lambda v, i: jax.ops.segment_sum(v, i, 16), [((512, 32), x), ((512,), x, i32)], 'x8'
  yield 'bincount', lambda i: jnp.bincount(i, length=32), [((512,), x, i32)], 'x8'
  yield 'dynamic_slice/cut', lambda a, i: lax.dynamic_slice(a, (i, 0), (8, 32)), [((64, 32), x), ((), P(), i32)], 'x8'
  yield 'dynamic_slice/uncut', lambda a, i: lax.dynamic_slice(a, (0, i), (64, 8)), [((64, 32), x), ((), P(), i32)], 'x8'
  yield 'dynamic_update_slice/cut', lambda a, u, i: lax.dynamic_update_slice(a, u, (i, 0)), [((64, 32), x), ((1, 32), P()), ((), P(), i32)], 'x8'
  yield 'conv/batch', lambda v, k: conv(v, k, **nhwc), [((16, 32, 32, 4), x), ((3, 3, 4, 8), P())], 'x8'
  yield 'conv/spatial', lambda v, k: conv(v, k, **nhwc), [((2, 64, 32, 4), col), ((3, 3, 4, 8), P())], 'x8'
  yield 'conv/spatial_strided', lambda v, k: conv(v, k, (2, 2), **nhwc), [((2, 64, 32, 4), col), ((3, 3, 4, 8), P())], 'x8'
  yield 'conv/spatial_2d', lambda v, k: conv(v, k, **nhwc), [((2, 64, 32, 4), P(None, 'x', 'y')), ((3, 3, 4, 8), P())], 'x4y2'
  yield 'conv/dilated', lambda v, k: conv(v, k, rhs_dilation=(2, 2), **nhwc), [((2, 64, 32, 4), col), ((3, 3, 4, 8), P())], 'x8'
  yield 'conv/out_channels', lambda v, k: conv(v, k, **nhwc), [((2, 32, 32, 4), P()), ((3, 3, 4, 16), P(None, None, None, 'x'))], 'x8'
  yield 'conv/in_channels', lambda v, k: conv(v, k, **nhwc), [((2, 32, 32, 16), P(None, None, None, 'x')), ((3, 3, 16, 8), P(None, None, 'x'))], 'x8'
  yield 'conv/gradient', lambda v, k: jax.grad(lambda k: jnp.sum(jnp.sin(conv(v, k, **nhwc))))(k), [((16, 32, 32, 4), x), ((3, 3, 4, 8), P())], 'x8'
  yield 'conv/gradient_spatial', lambda v, k: jax.grad(lambda v: jnp.sum(jnp.sin(conv(v, k, **nhwc))))(v), [((2, 64, 32, 4), col), ((3, 3, 4, 8), P())], 'x8'
  yield 'pool/spatial', pool, [((2, 64, 32, 4), col)], 'x8'
  yield 'pool/batch', pool, [((16, 64, 32, 4), x)], 'x8'
  yield 'pool/gradient', lambda v: jax.grad(lambda v: jnp.sum(jnp.sin(pool(v))))(v), [((2, 64, 32, 4), col)], 'x8'
  yield 'average_pool/spatial', lambda v: lax.reduce_window(v, 0., lax.add, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID'), [((2, 64, 32, 4), col)], 'x8'
  yield 'upsample/spatial', lambda v: jnp.repeat(jnp.repeat(v, 2, 1), 2, 2), [((2, 64, 32, 4), col)], 'x8'
  yield 'cholesky/batch', jnp.linalg.cholesky, [((16, 8, 8), x)], 'x8'
  yield 'fft/batch', jnp.fft.fft, [((64, 128), x, jnp.complex64)], 'x8'
  yield 'fft/cut', lambda a: jnp.fft.fft(a, axis=0), [((64, 128), x, jnp.complex64)], 'x8'
  yield 'fft2/cut', jnp.fft.fft2, [((64, 64), x, jnp.complex64)], 'x8'
  yield 'tril', lambda a: jnp.tril(a) @ a, [((64, 64), x)], 'x8'
  yield 'where/nonzero_count', lambda a: jnp.sum(jnp.where(a > 0, a, 0)), [((64, 64), xy)], 'x4y2'
  yield 'distance/pairs', lambda a: jnp.sqrt(((a[:, None] - a[None]) ** 2).sum(-1)), [((64, 3), x)], 'x8'
  yield 'nbody', lambda p: ((p[None] - p[:, None]) / (1 + ((p[None] - p[:, None]) ** 2).sum(-1, keepdims=True)) ** 1.5).sum(1), [((64, 3), x)], 'x8'
  yield 'power_iteration', lambda a, v: lax.fori_loop(0, 5, lambda i, v: (w := a @ v) / jnp.linalg.norm(w), v), [((64, 64), x), ((64,), P())], 'x8'
  yield 'conjugate_gradient', conjugate_gradient, [((64, 64), x), ((64,), x)], 'x8'
  yield 'jacobi', lambda a: lax.fori_loop(0, 5, lambda i, a: sum(jnp.roll(a, s, d) for s in (1, -1) for d in (0, 1)) / 4, a), [((64, 64), xy)], 'x4y2'
  yield 'k_means', k_means, [((512, 8), x), ((16, 8), P())], 'x8'
  yield 'random/normal', lambda k: lax.with_sharding_constraint(jax.random.normal(jax.random.wrap_key_data(k), (1024,)), NamedSharding(mesh('x8'), x)), [((2,), P(), jnp.uint32)], 'x8'


def conjugate_gradient(a, b):
  def step(i, state):
    x, r, p = state
    q = a @ p
    rr = r @ r
    alpha = rr / (p @ q)
    x, s = x + alpha * p, r - alpha * q
    return x, s, s + (s @ s) / rr * p
  return lax.fori_loop(0, 5, step, (jnp.zeros_like(b), b, b))[0]


def k_means(points, centers):
  nearest = jnp.argmin(((points[:, None] - centers) ** 2).sum(-1), -1)
  weights = jax.nn.one_hot(nearest, centers.shape[0])
  return (weights.T @ points) / jnp.maximum(weights.sum(0)[:, None], 1)


# Models: shapes, loss(params, batch), and specs by scheme.
def mlp_loss(params, x, labels):
  for w, b in params[:-1]:
    x = jax.nn.relu(x @ w + b)
  w, b = params[-1]
  logs = jax.nn.log_softmax(x @ w + b)
  return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], 1))


def norm(x, scale):
  return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def attention(x, p, heads, causal):
  b, t, d = x.shape
  split = lambda v: v.reshape(b, t, heads, d // heads).swapaxes(1, 2)
  q, k, v = (split(x @ p[n]) for n in 'qkv') if 'q' in p else map(split, jnp.split(x @ p['qkv'], 3, -1))
  scores = q @ k.mT / np.sqrt(d // heads)
  if causal:
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e30)
  return (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(b, t, d) @ p['o']


def block(x, p, heads, causal=True):
  x = x + attention(norm(x, p['s1']), p, heads, causal)
  return x + jax.nn.gelu(norm(x, p['s2']) @ p['up']) @ p['down']


def gpt_loss(params, tokens, heads=8):
  x = params['embed'][tokens[:, :-1]] + params['position'][: tokens.shape[1] - 1]
  for p in params['blocks']:
    x = block(x, p, heads)
  logs = jax.nn.log_softmax(norm(x, params['scale']) @ params['embed'].T)
  return -jnp.mean(jnp.take_along_axis(logs, tokens[:, 1:, None], -1))


def gpt_scanned_loss(params, tokens, heads=8):
  x = params['embed'][tokens[:, :-1]] + params['position'][: tokens.shape[1] - 1]
  x, _ = lax.scan(lambda x, p: (block(x, p, heads), None), x, params['blocks'])
  logs = jax.nn.log_softmax(norm(x, params['scale']) @ params['embed'].T)
  return -jnp.mean(jnp.take_along_axis(logs, tokens[:, 1:, None], -1))


def vit_loss(params, images, labels, heads=8):
  b, h, w, c = images.shape
  patches = images.reshape(b, h // 8, 8, w // 8, 8, c).swapaxes(2, 3).reshape(b, -1, 64 * c)
  x = patches @ params['patch'] + params['position']
  for p in params['blocks']:
    x = block(x, p, heads, causal=False)
  logs = jax.nn.log_softmax(norm(x.mean(1), params['scale']) @ params['head'])
  return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], 1))


def cnn_loss(params, images, labels):
  x = images
  for i, k in enumerate(params['convs']):
    x = jax.nn.relu(lax.conv_general_dilated(x, k, (1, 1) if i == 0 else (2, 2), 'SAME',
                                             dimension_numbers=('NHWC', 'HWIO', 'NHWC')))
  logs = jax.nn.log_softmax(x.mean((1, 2)) @ params['head'])
  return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], 1))


def rnn_loss(params, x):
  def cell(h, row):
    h = jnp.tanh(row @ params['in'] + h @ params['hidden'])
    return h, h
  _, states = lax.scan(cell, jnp.zeros((x.shape[1], params['hidden'].shape[0])), x)
  return jnp.mean((states @ params['out']) ** 2)


def moe_loss(params, x):
  scores = jax.nn.softmax(x @ params['router'])
  chosen = jax.nn.one_hot(jnp.argmax(scores, -1), scores.shape[-1])
  inside = jnp.einsum('te,td->etd', chosen, x)
  hidden = jax.nn.relu(jnp.einsum('etd,edf->etf', inside, params['up']))
  return jnp.mean(jnp.einsum('etf,efd,te->td', hidden, params['down'], chosen * scores) ** 2)


def transformer_shapes(d, depth, fused):
  one = {'o': (d, d), 's1': (d,), 's2': (d,), 'up': (d, 4 * d), 'down': (4 * d, d)}
  one |= {'qkv': (d, 3 * d)} if fused else {n: (d, d) for n in 'qkv'}
  return [dict(one) for _ in range(depth)]


def transformer_specs(shapes, tensor=None, data=None):
  """Returns Megatron's specs: columns, then rows, over the axis `tensor`; the axis `data` shards the other dimension."""
  columns, rows = P(data, tensor), P(tensor, data)
  specs = {'q': columns, 'k': columns, 'v': columns, 'qkv': columns, 'up': columns, 'o': rows, 'down': rows,
           's1': P(), 's2': P()}
  return [{name: specs[name] for name in one} for one in shapes]


def sgd(loss):
  def step(params, *batch):
    value, grads = jax.value_and_grad(loss)(params, *batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value
  return step


def adam(loss):
  def step(params, m, v, *batch):
    value, grads = jax.value_and_grad(loss)(params, *batch)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
    return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, m, v), m, v, value
  return step


def clipped(loss):
  def step(params, *batch):
    value, grads = jax.value_and_grad(loss)(params, *batch)
    size = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda p, g: p - 0.1 * g / jnp.maximum(1, size), params, grads), value
  return step


def models():
  """Yields the name, the loss, the parameters and the batch of each model and sharding scheme."""
  i32 = jnp.int32
  sizes = [64, 128, 128, 16]
  pairs = list(zip(sizes[:-1], sizes[1:]))
  mlp = lambda m, w, b: [(array(m, (i, o), w[k % 2]), array(m, (o,), b[k % 2])) for k, (i, o) in enumerate(pairs)]
  mlp_batch = lambda m, spec: (array(m, (256, 64), spec), array(m, (256,), P(*spec[:1]), i32))
  yield 'mlp/data', mlp_loss, mlp('x8', [P()] * 2, [P()] * 2), mlp_batch('x8', P('x'))
  yield 'mlp/tensor', mlp_loss, mlp('x8', [P(None, 'x'), P('x')], [P('x'), P()]), mlp_batch('x8', P())
  yield 'mlp/fully_sharded', mlp_loss, mlp('x8', [P('x')] * 2, [P('x')] * 2), mlp_batch('x8', P('x'))
  yield 'mlp/data_tensor', mlp_loss, mlp('x4y2', [P(None, 'y'), P('y')], [P('y'), P()]), mlp_batch('x4y2', P('x'))
  yield 'mlp/hybrid', mlp_loss, mlp('x4y2', [P('y')] * 2, [P('y')] * 2), mlp_batch('x4y2', P(('x', 'y')))
  yield 'mlp/features', mlp_loss, mlp('x8', [P()] * 2, [P()] * 2), mlp_batch('x8', P(None, 'x'))

  d, depth, vocabulary, length = 64, 2, 128, 32
  tokens = lambda m, spec, batch=16: (array(m, (batch, length + 1), spec, i32),)

  def gpt(m, tensor=None, data=None, fused=True, embed=None):
    shapes = transformer_shapes(d, depth, fused)
    return {'embed': array(m, (vocabulary, d), P(tensor, data) if embed is None else embed),
            'position': array(m, (length, d), P(None, data)), 'scale': array(m, (d,)),
            'blocks': placed(m, shapes, transformer_specs(shapes, tensor, data))}
  for fused in (True, False):
    kind = 'gpt' if fused else 'gpt_apart'
    yield f'{kind}/data', gpt_loss, gpt('x8', fused=fused), tokens('x8', P('x'))
    yield f'{kind}/tensor', gpt_loss, gpt('x8', 'x', fused=fused), tokens('x8', P())
    yield f'{kind}/fully_sharded', gpt_loss, gpt('x8', None, 'x', fused=fused), tokens('x8', P('x'))
    yield f'{kind}/data_tensor', gpt_loss, gpt('x4y2', 'y', fused=fused), tokens('x4y2', P('x'))
    yield f'{kind}/fully_sharded_tensor', gpt_loss, gpt('x4y2', 'y', 'x', fused=fused), tokens('x4y2', P('x'))
    yield f'{kind}/hybrid', gpt_loss, gpt('x2y4', None, 'y', fused=fused), tokens('x2y4', P(('x', 'y')))
  yield 'gpt/whole_embedding_tensor', gpt_loss, gpt('x8', 'x', embed=P()), tokens('x8', P())
  yield 'gpt/three_axes', gpt_loss, gpt('x2y2z2', 'z', 'y'), tokens('x2y2z2', P(('x', 'y')))

  def scanned(m, tensor=None, data=None):
    plain = gpt(m, tensor, data, fused=False)
    stacked = jax.tree.map(lambda a: array(m, (depth, *a.shape), P(None, *a.sharding.spec)), plain['blocks'][0])
    return plain | {'blocks': stacked}
  yield 'gpt_scanned/data', gpt_scanned_loss, scanned('x8'), tokens('x8', P('x'))
  yield 'gpt_scanned/tensor', gpt_scanned_loss, scanned('x8', 'x'), tokens('x8', P())
  yield 'gpt_scanned/fully_sharded', gpt_scanned_loss, scanned('x8', None, 'x'), tokens('x8', P('x'))

  def vit(m, tensor=None, data=None):
    shapes = transformer_shapes(d, depth, True)
    return {'patch': array(m, (192, d), P(data)), 'position': array(m, (16, d)), 'scale': array(m, (d,)),
            'head': array(m, (d, 16), P(data)), 'blocks': placed(m, shapes, transformer_specs(shapes, tensor, data))}
  images = lambda m, spec, n=16: (array(m, (n, 32, 32, 3), spec), array(m, (n,), P(*spec[:1]), i32))
  yield 'vit/data', vit_loss, vit('x8'), images('x8', P('x'))
  yield 'vit/tensor', vit_loss, vit('x8', 'x'), images('x8', P())
  yield 'vit/fully_sharded', vit_loss, vit('x8', None, 'x'), images('x8', P('x'))
  yield 'vit/data_tensor', vit_loss, vit('x4y2', 'y'), images('x4y2', P('x'))

  def cnn(m, spec=P(), head=P()):
    channels = [3, 16, 32, 32]
    return {'convs': [array(m, (3, 3, i, o), spec) for i, o in zip(channels[:-1], channels[1:])],
            'head': array(m, (32, 16), head)}
  yield 'cnn/data', cnn_loss, cnn('x8'), images('x8', P('x'))
  yield 'cnn/spatial', cnn_loss, cnn('x8'), images('x8', P(None, 'x'), 4)
  yield 'cnn/data_spatial', cnn_loss, cnn('x4y2'), images('x4y2', P('x', 'y'))
  yield 'cnn/channels', cnn_loss, cnn('x8', P(None, None, None, 'x'), P('x')), images('x8', P())

  rnn = lambda m, into, hidden, out: {'in': array(m, (16, 64), into), 'hidden': array(m, (64, 64), hidden),
                                      'out': array(m, (64, 8), out)}
  yield 'rnn/data', rnn_loss, rnn('x8', P(), P(), P()), (array('x8', (12, 32, 16), P(None, 'x')),)
  yield 'rnn/tensor', rnn_loss, rnn('x8', P(None, 'x'), P(None, 'x'), P('x')), (array('x8', (12, 32, 16)),)
  moe = lambda m, up, down: {'router': array(m, (32, 8)), 'up': array(m, (8, 32, 64), up),
                             'down': array(m, (8, 64, 32), down)}
  yield 'moe/experts', moe_loss, moe('x8', P('x'), P('x')), (array('x8', (256, 32)),)
  yield 'moe/data', moe_loss, moe('x8', P(), P()), (array('x8', (256, 32), P('x')),)
  yield 'moe/data_experts', moe_loss, moe('x4y2', P('y'), P('y')), (array('x4y2', (256, 32), P('x')),)


def inference():
  """Forward passes: sequence parallelism, decoding with a cache."""
  d, heads, m = 64, 8, 'x8'
  shapes = transformer_shapes(d, 1, False)[0]
  whole = placed(m, shapes, transformer_specs([shapes])[0])
  cut = placed(m, shapes, transformer_specs([shapes], 'x')[0])
  yield 'block/sequence', lambda p, x: block(x, p, heads), (whole, array(m, (4, 64, d), P(None, 'x')))
  yield 'block/tensor', lambda p, x: block(x, p, heads), (cut, array(m, (4, 64, d)))
  yield 'block/tensor_sequence', lambda p, x: lax.with_sharding_constraint(
      block(x, p, heads), NamedSharding(mesh(m), P(None, 'x'))), (cut, array(m, (4, 64, d), P(None, 'x')))

  def decode(p, cache, x, i):
    k = lax.dynamic_update_slice(cache['k'], (x @ p['k']).reshape(4, 1, heads, d // heads), (0, i, 0, 0))
    v = lax.dynamic_update_slice(cache['v'], (x @ p['v']).reshape(4, 1, heads, d // heads), (0, i, 0, 0))
    q = (x @ p['q']).reshape(4, heads, d // heads)
    scores = jnp.where(jnp.arange(128) <= i, jnp.einsum('bhd,bthd->bht', q, k), -1e30)
    out = jnp.einsum('bht,bthd->bhd', jax.nn.softmax(scores), v).reshape(4, d) @ p['o']
    return out, {'k': k, 'v': v}
  cache = lambda spec: {n: array(m, (4, 128, heads, d // heads), spec) for n in 'kv'}
  at = array(m, (), P(), jnp.int32)
  yield 'decode/heads', decode, (cut, cache(P(None, None, 'x')), array(m, (4, d)), at)
  yield 'decode/sequence', decode, (whole, cache(P(None, 'x')), array(m, (4, d)), at)
  yield 'embedding_bag', lambda t, i: t[i].mean(1), (array(m, (512, 32), P('x')), array(m, (64, 4), P(), jnp.int32))
  yield 'cross_entropy/vocabulary', lambda h, w, t: -jnp.mean(jnp.take_along_axis(
      jax.nn.log_softmax(h @ w), t[:, None], 1)), (array(m, (64, 32)), array(m, (32, 512), P(None, 'x')),
                                                    array(m, (64,), P(), jnp.int32))


def programs():
  for name, function, arguments, m in ops():
    yield Program('ops', name, function, tuple(array(m, *a) for a in arguments), mesh(m))
  for name, function, arguments in inference():
    yield Program('inference', name, function, arguments, mesh('x8'))
  for name, loss, params, batch in models():
    m = jax.tree.leaves(params)[0].sharding.mesh
    kept = specs_of(params)
    yield Program('steps', name, sgd(loss), (params, *batch), m, (kept, P()))
    if name.startswith(('mlp', 'gpt/', 'vit/fully', 'cnn/data')) and name != 'mlp/features':
      yield Program('steps', name + '_adam', adam(loss), (params, params, params, *batch), m, (kept, kept, kept, P()))
    if name in ('mlp/data', 'mlp/fully_sharded', 'gpt/data', 'gpt/tensor', 'gpt/fully_sharded'):
      yield Program('steps', name + '_clipped', clipped(loss), (params, *batch), m, (kept, P()))
