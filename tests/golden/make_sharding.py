"""sharding.json, sharding.npz, stablehlo/*.mlir: what jit makes of sharded inputs.

"programs": name -> {"doc": the expression, "ops": StableHLO and Shardy ops it uses, "inputs",
  "outputs": array references}.
"cases": a list of
  {"program", "mesh": {"names", "shape"},
   "in": a spec for each input; null for one that is not placed (its sharding is free),
   "out": the inferred spec of each output,
   "out_map": for each output, for each device, the [start, stop) it holds of each dimension,
   "collectives": how many of each kind JAX's own program has,
   "text": the lowered program, a file below stablehlo/, or null}.
A spec has one list of mesh axes, major first, for each dimension. Devices 0..7 stand in the mesh in
row-major order. Inputs are multiples of 1/4 between -2 and 2, so that sums and dots are exact in
any order.
"""
import functools
import itertools
import re

import jax
import jax.numpy as jnp
from jax import lax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import golden

golden.setup()
topic = golden.Topic('sharding')
MESHES = {
    shape: jax.make_mesh(shape, tuple('xyz'[:len(shape)]), axis_types=(AxisType.Auto,) * len(shape))
    for shape in ((8,), (2, 4), (2, 2, 2))
}
M8, M24, M222 = MESHES
U = P.UNCONSTRAINED
XY = ('x', 'y')
programs, cases, texts = {}, [], {}
rng = np.random.default_rng(0)


def data(shape, dtype=np.float32):
  if dtype == bool:
    return rng.integers(0, 2, shape).astype(bool)
  if np.issubdtype(dtype, np.integer):
    return rng.integers(-9, 10, shape).astype(dtype)
  return (rng.integers(-8, 9, shape) / 4).astype(dtype)


def spec_of(sharding, rank):
  dims = [[] if d is None else [d] if isinstance(d, str) else list(d) for d in sharding.spec]
  return dims + [[]] * (rank - len(dims))


def map_of(sharding, shape):
  """Device id -> [[start, stop], ...]."""
  indices = {d.id: i for d, i in sharding.devices_indices_map(shape).items()}
  return [[[*s.indices(n)[:2]] for s, n in zip(indices[d], shape)] for d in sorted(indices)]


def program(name,
            doc,
            function,
            shapes,
            variants,
            dtypes=None,
            keep_texts=True,
            out=None,
            with_mesh=False,
            tolerance=0):
  """`variants`: pairs of mesh shape and input specs. `with_mesh`: `function` takes the mesh first."""
  dtypes = dtypes or [np.float32] * len(shapes)
  inputs = [data(s, d) for s, d in zip(shapes, dtypes)]
  plain = None
  for number, (mesh_shape, specs) in enumerate(variants):
    mesh = MESHES[mesh_shape]
    body = (lambda *a: function(mesh, *a)) if with_mesh else lambda *a: function(*a)
    body.__name__ = name
    placed = [
        jnp.asarray(x) if s is None else jax.device_put(x, NamedSharding(mesh, s))
        for x, s in zip(inputs, specs)
    ]
    options = {} if out is None else {
        'out_shardings': jax.tree.map(lambda s: NamedSharding(mesh, s), out)
    }
    lowered = jax.jit(body, **options).lower(*placed)
    compiled = lowered.compile()
    results = jax.block_until_ready(jax.tree.leaves(compiled(*placed)))
    text = lowered.as_text()
    if plain is None:
      plain = jax.tree.leaves(jax.jit(body)(*inputs)) if not with_mesh else results
      programs[name] = {
          'doc':
              doc,
          'ops':
              sorted(
                  set(re.findall(r'\b((?:stablehlo|sdy|chlo)\.[a-z_0-9]+)\b', text)) -
                  {'sdy.mesh', 'sdy.sharding', 'stablehlo.mesh'}),
          'inputs': [topic.array(f'{name}.in{i}', x) for i, x in enumerate(inputs)],
          'outputs': [topic.array(f'{name}.out{i}', x) for i, x in enumerate(plain)],
      }
    for a, b in zip(plain, results):
      np.testing.assert_allclose(np.asarray(a),
                                 np.asarray(b),
                                 rtol=tolerance,
                                 atol=tolerance,
                                 err_msg=name)
    hlo = compiled.as_text()
    kinds = ['all-reduce', 'all-gather', 'all-to-all', 'collective-permute', 'reduce-scatter']
    counts = {
        k: len(re.findall(rf'= \S+ {k}(?:-start)?\(|= \([^)]*\) {k}(?:-start)?\(', hlo))
        for k in kinds
    }
    file = None
    if keep_texts or number == 0:
      file = f'{name}.mlir' if number == 0 else f'{name}.{number}.mlir'
      texts[file] = text
    cases.append({
        'program': name,
        'mesh': {
            'names': list(mesh.axis_names),
            'shape': list(mesh_shape)
        },
        'in': [
            None if s is None else spec_of(NamedSharding(mesh, s), x.ndim)
            for s, x in zip(specs, inputs)
        ],
        'out': [spec_of(r.sharding, r.ndim) for r in results],
        'out_map': [map_of(r.sharding, r.shape) for r in results],
        'collectives': {
            k: n for k, n in counts.items() if n
        },
        'text': file
    })


def one(*specs, mesh=M24):
  """Variants of a function of one argument."""
  return [(mesh, (s,)) for s in specs]


MATRIX = one(P('x', 'y'), P('y', 'x'), P('x'), P(None, 'y'), P(XY), P(None, XY)) + one(
    P('x'), P(None, 'x'), mesh=M8) + one(P('x', 'z'), P(('z', 'y'), 'x'), mesh=M222)
CUBE = one(P('x', 'y'), P(None, 'x', 'y'), P('y', None, 'x'), P(None, XY)) + one(
    P('x', 'y', 'z'), P(('x', 'z'), None, 'y'), mesh=M222)


def elementwise():
  program('sine', '2 * sin(x) + 1', lambda x: 2 * jnp.sin(x) + 1, [(8, 16)], MATRIX, tolerance=1e-6)
  program('add', 'x + y', lambda x, y: x + y, [(8, 16), (8, 16)],
          [(M24, (P('x', 'y'), P('x', 'y'))), (M24, (P('x'), P())), (M24, (P(), P(None, 'y'))),
           (M24, (P('x'), P(None, 'y'))), (M24, (P('x', 'y'), None)), (M24, (None, P(XY))),
           (M24, (P('x'), P(XY))), (M222, (P('x', 'y'), P('x', 'y'))),
           (M222, (P('x'), P(('x', 'z')))), (M8, (P('x'), P('x')))])
  program('add_conflict', 'x + y', lambda x, y: x + y,
          [(8, 16), (8, 16)], [(M24, (P('x', 'y'), P('y', 'x'))), (M24, (P('x'), P('y'))),
                               (M24, (P('x'), P(None, 'x'))), (M8, (P('x'), P(None, 'x'))),
                               (M222, (P('x', 'y'), P('y', 'z')))])
  program('bias', 'x + b', lambda x, b: x + b, [(8, 16), (16,)], [(M24, (P('x', 'y'), P('y'))),
                                                                  (M24, (P('x', 'y'), P())),
                                                                  (M24, (P('x'), P('y'))),
                                                                  (M24, (P(), P('x'))),
                                                                  (M24, (P('x'), None)),
                                                                  (M24, (P(None, 'x'), P('y'))),
                                                                  (M8, (P('x'), P('x')))])
  program('column_times_row', 'c * r', lambda c, r: c * r, [(8, 1), (1, 16)],
          [(M24, (P('x'), P(None, 'y'))), (M24, (P('x'), P(None, 'x'))), (M24, (P(XY), P()))])
  program('scalar', 'x * s', lambda x, s: x * s, [(8, 16), ()], [(M24, (P('x', 'y'), P())),
                                                                 (M24, (P('x', 'y'), None))])
  program('where',
          'where(m, x, y)',
          jnp.where, [(8, 16), (8, 16), (8, 16)], [(M24, (P('x'), P('x', 'y'), P('x', 'y'))),
                                                   (M24, (P('x'), None, None)),
                                                   (M24, (P(), P('x'), P(None, 'y'))),
                                                   (M24, (P(), P('y'), P('y')))],
          dtypes=[bool, np.float32, np.float32])
  program('compare', 'x < y', lambda x, y: x < y, [(8, 16), (8, 16)],
          [(M24, (P('x', 'y'), P('x', 'y'))), (M24, (P('x'), P()))])
  program('clip', 'clip(x, -1, 1)', lambda x: jnp.clip(x, -1, 1), [(8, 16)],
          one(P('x', 'y'), P(None, XY)))
  program('astype', 'astype(x, int32)', lambda x: x.astype(jnp.int32), [(8, 16)],
          one(P('x', 'y'), P('y')))
  program('plus_iota', 'x + arange(16)', lambda x: x + jnp.arange(16.0), [(8, 16)],
          one(P('x', 'y'), P('x')))
  program('two_outputs', '(x + 1, sum(x, 0))', lambda x: (x + 1, x.sum(0)), [(8, 16)],
          one(P('x', 'y'), P('y')))


def reductions():
  for axis in (0, 1):
    program(f'sum_axis{axis}', f'sum(x, {axis})', lambda x: x.sum(axis), [(8, 16)], MATRIX)
  program('sum_all', 'sum(x)', lambda x: x.sum(), [(8, 16)],
          one(P('x', 'y'), P(XY)) + one(P('x'), mesh=M8))
  program('sum_keepdims', 'sum(x, 1, keepdims)', lambda x: x.sum(1, keepdims=True), [(8, 16)],
          one(P('x', 'y'), P(None, 'y')))
  program('sum_axes02', 'sum(x, (0, 2))', lambda x: x.sum((0, 2)), [(8, 8, 8)], CUBE)
  program('max_axis1', 'max(x, 1)', lambda x: x.max(1), [(8, 8, 8)], CUBE)
  program('mean_axis0', 'mean(x, 0)', lambda x: x.mean(0), [(8, 16)], one(P('x', 'y'), P('y', 'x')))
  program('any_axis0', 'any(x > 1, 0)', lambda x: (x > 1).any(0), [(8, 16)],
          one(P('x', 'y'), P(None, 'x')))
  for axis in (0, 1):
    program(f'argmax_axis{axis}', f'argmax(x, {axis})', lambda x: x.argmax(axis), [(8, 16)],
            one(P('x', 'y'), P('x'), P(None, 'y')))
  program('cumsum_axis0', 'cumsum(x, 0)', lambda x: x.cumsum(0), [(8, 16)],
          one(P('x', 'y'), P(None, 'y')))
  program('logsumexp',
          'logsumexp(x, 1)',
          lambda x: jax.nn.logsumexp(x, 1), [(8, 16)],
          one(P('x', 'y'), P('x')),
          tolerance=1e-6)


def shapes():
  program('transpose', 'transpose(x)', lambda x: x.T, [(8, 16)], MATRIX)
  program('transpose_201', 'transpose(x, (2, 0, 1))', lambda x: x.transpose(2, 0, 1), [(8, 8, 8)],
          CUBE)
  program('reshape_merge', 'reshape(x, 128)', lambda x: x.reshape(128), [(8, 16)], MATRIX)
  program('reshape_merge_major', 'reshape(x, (64, 8))', lambda x: x.reshape(64, 8), [(8, 8, 8)],
          CUBE)
  program('reshape_merge_minor', 'reshape(x, (8, 64))', lambda x: x.reshape(8, 64), [(8, 8, 8)],
          CUBE)
  program('reshape_split', 'reshape(x, (4, 2, 16))', lambda x: x.reshape(4, 2, 16), [(8, 16)],
          MATRIX)
  program(
      'reshape_split_vector', 'reshape(x, (2, 4, 8))', lambda x: x.reshape(2, 4, 8), [(64,)],
      one(P('x'), P('y'), P(XY), P(
          ('y', 'x'))) + one(P('x'), mesh=M8) + one(P(('x', 'y', 'z')), P(('z', 'x')), mesh=M222))
  program('reshape_regroup', 'reshape(x, (16, 8))', lambda x: x.reshape(16, 8), [(8, 16)],
          one(P('x'), P('y'), P(XY), P('x', 'y'), P(None, 'y')))
  program('expand_dims', 'x[:, None, :]', lambda x: x[:, None, :], [(8, 16)],
          one(P('x', 'y'), P(None, XY)))
  program('squeeze', 'squeeze(x, 1)', lambda x: x.squeeze(1), [(8, 1, 16)],
          one(P('x', None, 'y'), P(None, None, 'x')))
  program('broadcast_to', 'broadcast_to(x, (4, 8, 16))', lambda x: jnp.broadcast_to(x, (4, 8, 16)),
          [(8, 16)], one(P('x', 'y'), P(XY)))
  program('concatenate_axis0', 'concatenate(x, y, 0)', lambda x, y: jnp.concatenate([x, y], 0),
          [(8, 16), (8, 16)], [(M24, (P(None, 'y'), P(None, 'y'))), (M24, (P('x'), P('x'))),
                               (M24, (P('x', 'y'), P('x', 'y'))), (M24, (P(None, 'x'), P()))])
  program('concatenate_uneven', 'concatenate(x, y, 1)', lambda x, y: jnp.concatenate([x, y], 1),
          [(8, 16), (8, 8)], [(M24, (P('x'), P('x'))), (M24, (P('x', 'y'), P('x', 'y')))])
  program('stack', 'stack(x, y)', lambda x, y: jnp.stack([x, y]), [(8, 16), (8, 16)],
          [(M24, (P('x', 'y'), P('x', 'y'))), (M24, (P('x'), P()))])
  program('slice', 'x[:, 4:12]', lambda x: x[:, 4:12], [(8, 16)],
          one(P('x'), P('x', 'y'), P(None, 'x')))
  program('slice_first_half', 'x[:4]', lambda x: x[:4], [(8, 16)], one(P('x'), P(None, 'y'), P(XY)))
  program('slice_strided', 'x[:, ::2]', lambda x: x[:, ::2], [(8, 16)], one(P('x'), P(None, 'x')))
  program('reverse', 'flip(x, 0)', lambda x: jnp.flip(x, 0), [(8, 16)],
          one(P(None, 'y'), P('x', 'y')))
  program('pad', 'pad(x, ((0, 0), (2, 6)))', lambda x: jnp.pad(x, ((0, 0), (2, 6))), [(8, 16)],
          one(P('x'), P('x', 'y'), P(None, 'x')))
  program('tile', 'tile(x, (2, 1))', lambda x: jnp.tile(x, (2, 1)), [(8, 16)],
          one(P('x', 'y'), P(None, 'y')))
  program('dynamic_slice',
          'dynamic_slice(x, (i, 0), (4, 16))',
          lambda x, i: lax.dynamic_slice(x, (i, 0), (4, 16)), [(8, 16), ()],
          [(M24, (P(None, 'y'), P())), (M24, (P('x', 'y'), P())), (M24, (P('x'), P()))],
          dtypes=[np.float32, np.int32])
  program('dynamic_update_slice',
          'dynamic_update_slice(x, u, (i, 0))',
          lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0)), [(8, 16), (2, 16), ()],
          [(M24, (P(None, 'y'), P(None, 'y'), P())), (M24, (P('x', 'y'), P(), P())),
           (M24, (P(None, 'x'), P(), P()))],
          dtypes=[np.float32, np.float32, np.int32])
  program('tril', 'tril(x)', jnp.tril, [(16, 16)], one(P('x', 'y'), P('y')))
  program('split', 'split(x, 2, axis=1)', lambda x: tuple(jnp.split(x, 2, axis=1)), [(8, 16)],
          one(P('x'), P('x', 'y')))


def dots():
  two_axes = [
      P(),
      P('x'),
      P('y'),
      P(None, 'x'),
      P(None, 'y'),
      P('x', 'y'),
      P('y', 'x'),
      P(XY),
      P(None, XY)
  ]
  pairs = [(M24, pair) for pair in itertools.product(two_axes, repeat=2)]
  pairs += [(M8, pair) for pair in itertools.product([P(), P('x'), P(None, 'x')], repeat=2)]
  three = [P('x', 'y'), P('z'), P(('x', 'z'), 'y'), P(None, ('y', 'z'))]
  pairs += [(M222, pair) for pair in itertools.product(three, repeat=2)]
  program('matmul', 'x @ w', jnp.matmul, [(8, 16), (16, 24)], pairs, keep_texts=False)
  program('matmul_transposed', 'x @ transpose(x)', lambda x: x @ x.T, [(8, 16)], MATRIX)
  program('matvec', 'w @ v', jnp.matmul, [(8, 16), (16,)], [(M24, (P('x', 'y'), P('y'))),
                                                            (M24, (P('x', 'y'), P())),
                                                            (M24, (P(None, 'x'), P('x'))),
                                                            (M24, (P('x'), None))])
  program('inner', 'dot(u, v)', jnp.dot, [(16,), (16,)], [(M24, (P('x'), P('x'))),
                                                          (M8, (P('x'), P('x'))),
                                                          (M24, (P(XY), P('x')))])
  program('outer', 'outer(u, v)', jnp.outer, [(8,), (16,)], [(M24, (P('x'), P('y'))),
                                                             (M24, (P('x'), P('x'))),
                                                             (M24, (P(XY), P()))])
  program('batch_matmul', 'a @ b, a: (8, 4, 16), b: (8, 16, 4)', jnp.matmul,
          [(8, 4, 16), (8, 16, 4)], [(M24, (P('x'), P('x'))), (M24, (P('x', 'y'), P('x'))),
                                     (M24, (P('x', None, 'y'), P('x', 'y'))), (M24, (P(), P('y'))),
                                     (M222, (P('x', 'y', 'z'), P('x', 'z'))),
                                     (M222, (P('x', 'y'), P('x', None, 'z')))])
  program('einsum_attention_scores', 'einsum(bqhd,bkhd->bhqk)',
          lambda q, k: jnp.einsum('bqhd,bkhd->bhqk', q, k), [(4, 8, 4, 8), (4, 8, 4, 8)],
          [(M24, (P('x', None, 'y'), P('x', None, 'y'))), (M24, (P('x', 'y'), P('x'))),
           (M222, (P('x', 'y', 'z'), P('x', None, 'z')))])
  program('tensordot', 'tensordot(x, y, ((0, 1), (1, 0)))',
          lambda x, y: jnp.tensordot(x, y, ((0, 1), (1, 0))), [(8, 16, 4), (16, 8, 4)],
          [(M24, (P('x', 'y'), P('y', 'x'))), (M24, (P('x'), P(None, 'x'))),
           (M24, (P(None, None, 'x'), P(None, None, 'y')))])
  program('matmul_chain', '(x @ w) @ v', lambda x, w, v: (x @ w) @ v, [(8, 16), (16, 32), (32, 16)],
          [(M24, (P('x'), P(None, 'y'), P('y'))), (M24, (P('x'), P(), P())),
           (M24, (P('x', 'y'), P('y'), P())), (M24, (P('x'), P('y'), P(None, 'y'))),
           (M222, (P('x'), P('y', 'z'), P('z', 'y')))])


def layer_norm(x, g, b):
  centred = x - x.mean(-1, keepdims=True)
  return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g + b


def attention(x, wq, wk, wv, wo):
  b, t, d = x.shape
  heads = lambda w: (x @ w).reshape(b, t, 4, d // 4)
  scores = jnp.einsum('bqhd,bkhd->bhqk', heads(wq), heads(wk)) / 2
  out = jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(scores, -1), heads(wv))
  return out.reshape(b, t, d) @ wo


def layers():
  program('softmax',
          'softmax(x, -1)',
          lambda x: jax.nn.softmax(x, -1), [(8, 16)],
          one(P('x', 'y'), P('x'), P(None, 'y')) + one(P('x'), mesh=M8),
          tolerance=1e-6)
  program('layer_norm',
          'layer_norm(x, g, b)',
          layer_norm, [(8, 16), (16,), (16,)], [(M24, (P('x'), P(), P())),
                                                (M24, (P('x', 'y'), P('y'), P('y'))),
                                                (M24, (P(XY), None, None)),
                                                (M222, (P('x', 'y'), P('y'), P()))],
          tolerance=1e-5)
  program('gelu', 'gelu(x)', jax.nn.gelu, [(8, 16)], one(P('x', 'y'), P(XY)), tolerance=1e-6)
  program('dense_sigmoid',
          'sigmoid(x @ w + b)',
          lambda x, w, b: jax.nn.sigmoid(x @ w + b), [(32,), (32, 4), (4,)],
          [(M8, (P('x'), P('x'), None)), (M24, (P('x'), P('x'), P('y'))),
           (M24, (P('y'), P('y'), P()))],
          tolerance=1e-6)
  program(
      'mlp',
      'relu(x @ w1 + b1) @ w2 + b2',
      lambda x, w1, b1, w2, b2: jax.nn.relu(x @ w1 + b1) @ w2 + b2,
      [(8, 16), (16, 32), (32,), (32, 8), (8,)],
      [
          (M8, (P('x'), P(), P(), P(), P())),  # data parallel
          (M24, (P('x'), P(None, 'y'), P('y'), P('y'), P())),  # data and tensor parallel
          (M24, (P('x'), P('x', 'y'), P('y'), P(
              'y', 'x'), P())),  # weights sharded over the batch axis as well
          (M24, (P('x'), None, None, None, None)),
          (M24, (P(XY), P(), P(), P(), P())),
          (M222, (P('x', 'y'), P('y', 'z'), P('z'), P('z', 'y'), P('y')))
      ])
  program('mlp_gradient',
          'grad of sum((relu(x @ w1) @ w2)^2) by (w1, w2)',
          lambda x, w1, w2: jax.grad(lambda w1, w2: ((jax.nn.relu(x @ w1) @ w2)**2).sum(), (0, 1))
          (w1, w2), [(8, 16), (16, 32), (32, 8)], [(M8, (P('x'), P(), P())),
                                                   (M24, (P('x'), P(None, 'y'), P('y'))),
                                                   (M24, (P('x'), P('x', 'y'), P('y', 'x'))),
                                                   (M24, (P('x'), None, None))],
          tolerance=1e-6)
  program('attention',
          'multi-head attention of x: (4, 8, 16), 4 heads',
          attention, [(4, 8, 16)] + [(16, 16)] * 4,
          [(M24, (P('x'), P(None, 'y'), P(None, 'y'), P(None, 'y'), P('y'))),
           (M24, (P('x'), P(), P(), P(), P())),
           (M222, (P('x', 'y'), P(None, 'z'), P(None, 'z'), P(None, 'z'), P('z')))],
          tolerance=1e-4)
  program('mean_squared_error', 'mean((x @ w - y) ** 2)', lambda x, w, y: ((x @ w - y)**2).mean(),
          [(8, 16), (16, 4), (8, 4)], [(M8, (P('x'), P(), P('x'))),
                                       (M24, (P('x', 'y'), P('y'), P('x')))])


def constraints():
  fixed = functools.partial(program, with_mesh=True)
  place = lambda mesh, x, spec: lax.with_sharding_constraint(x, NamedSharding(mesh, spec))
  fixed('constrain_replicated',
        'constraint(mesh, sin(x), P())',
        lambda mesh, x: place(mesh, jnp.sin(x), P()), [(8, 16)],
        one(P('x', 'y'), P(XY)),
        tolerance=1e-6)
  fixed('constrain_swapped', 'constraint(mesh, x + 1, P(y, x))',
        lambda mesh, x: place(mesh, x + 1, P('y', 'x')), [(8, 16)],
        one(P('x', 'y'), P('x'), P(None, 'y')))
  fixed('constrain_sum', 'constraint(mesh, sum(x, 0), P((x, y)))',
        lambda mesh, x: place(mesh, x.sum(0), P(XY)), [(8, 16)], one(P('x', 'y'), P('y')))
  fixed('constrain_open', 'constraint(mesh, x * 2, P(unconstrained, y))',
        lambda mesh, x: place(mesh, x * 2, P(U, 'y')), [(8, 16)], one(P('x'), P()))
  fixed('constrain_hidden', 'constraint(mesh, x @ w, P(x, y)) @ v',
        lambda mesh, x, w, v: place(mesh, x @ w, P('x', 'y')) @ v, [(8, 16), (16, 32), (32, 8)],
        [(M24, (P('x'), P(), P())), (M24, (None, P(None, 'y'), P('y'))),
         (M222, (P('x'), P('z'), None))])
  fixed('constrain_inputs',
        'sigmoid(constraint(mesh, x, P(x)) @ constraint(mesh, w, P(x)))',
        lambda mesh, x, w: jax.nn.sigmoid(place(mesh, x, P('x')) @ place(mesh, w, P('x'))),
        [(32,), (32, 4)], [(M8, (P(), P())), (M8, (P('x'), P()))],
        tolerance=1e-6)
  fixed('constrain_backwards', 'constraint(mesh, x + y, P(x)) with y not placed',
        lambda mesh, x, y: place(mesh, x + y, P('x')), [(8, 16),
                                                        (8, 16)], [(M24, (P(), None)),
                                                                   (M24, (P(None, 'y'), None))])
  program('out_shardings',
          'jit(x + 1, out_shardings = P(y, x))',
          lambda x: x + 1, [(8, 16)],
          one(P('x', 'y'), P()),
          out=P('y', 'x'))


for group in (elementwise, reductions, shapes, dots, layers, constraints):
  group()
golden.write_texts('', texts)
print(f'{len(programs)} programs, {len(cases)} cases, {len(texts)} texts of '
      f'{sum(map(len, texts.values())) / 1024:.0f} KiB')
topic.write({'programs': programs, 'cases': cases})
