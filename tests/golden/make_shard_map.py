"""shard_map.json, shard_map.npz, stablehlo/shard_map/*.mlir: manual computations and collectives.

"programs": a list of {"name", "doc": the body, "mesh": {"names", "shape"}, "axis_names": the manual
  axes, "check_vma", "in_specs",
"out_specs", "inputs", "outputs": array references, "text": the lowered program, a file below
  stablehlo/}.
"errors": a list of {"name", "doc", "mesh", "in_specs", "out_specs", "inputs": shapes, "error":
  JAX's, its first line}.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, PartitionSpec as P

import golden

golden.setup()
topic = golden.Topic('shard_map')
MESHES = {
    shape: jax.make_mesh(shape, tuple('xyz'[:len(shape)]), axis_types=(AxisType.Auto,) * len(shape))
    for shape in ((8,), (2, 4), (2, 2, 2))
}
M8, M24, M222 = MESHES
programs, errors, texts = [], [], {}
rng = np.random.default_rng(0)


def quarters(*shape, dtype=np.float32):
  values = rng.integers(-8, 9, shape)
  return (values if np.issubdtype(dtype, np.integer) else values / 4).astype(dtype)


def plain(spec):
  return [[] if d is None else [d] if isinstance(d, str) else list(d) for d in spec]


def describe(shape):
  return {'names': list('xyz'[:len(shape)]), 'shape': list(shape)}


def program(name,
            doc,
            body,
            mesh,
            in_specs,
            out_specs,
            *inputs,
            axis_names=None,
            check_vma=True,
            tolerance=0):
  manual = set(axis_names or MESHES[mesh].axis_names)
  mapped = jax.shard_map(body,
                         mesh=MESHES[mesh],
                         in_specs=in_specs,
                         out_specs=out_specs,
                         axis_names=manual,
                         check_vma=check_vma)
  function = lambda *a: mapped(*a)
  function.__name__ = name
  lowered = jax.jit(function).lower(*inputs)
  outputs = jax.tree.leaves(jax.block_until_ready(lowered.compile()(*inputs)))
  texts[f'{name}.mlir'] = lowered.as_text()
  out_specs = out_specs if isinstance(out_specs, tuple) and not isinstance(out_specs, P) else (
      out_specs,)
  programs.append({
      'name': name,
      'doc': doc,
      'mesh': describe(mesh),
      'axis_names': sorted(manual),
      'check_vma': check_vma,
      'in_specs': [plain(s) for s in in_specs],
      'out_specs': [plain(s) for s in out_specs],
      'inputs': [topic.array(f'{name}.in{i}', x) for i, x in enumerate(inputs)],
      'outputs': [topic.array(f'{name}.out{i}', x) for i, x in enumerate(outputs)],
      'tolerance': tolerance,
      'text': f'shard_map/{name}.mlir'
  })


def refused(name, doc, body, mesh, in_specs, out_specs, *inputs):
  try:
    jax.jit(jax.shard_map(body, mesh=MESHES[mesh], in_specs=in_specs,
                          out_specs=out_specs)).lower(*inputs)
  except Exception as error:
    first_line = f'{type(error).__name__}: {error}'.splitlines()[0]
    errors.append({
        'name': name,
        'doc': doc,
        'mesh': describe(mesh),
        'in_specs': [plain(s) for s in in_specs],
        'out_specs': [plain(out_specs)],
        'inputs': [list(x.shape) for x in inputs],
        'error': first_line
    })
  else:
    raise AssertionError(name)


def reductions():
  v, m, c = quarters(32), quarters(8, 16), quarters(4, 8, 4)
  program('local', 'x * 2', lambda x: x * 2, M8, (P('x'),), P('x'), v)
  program('local_sum', 'sum(x, keepdims)', lambda x: x.sum(keepdims=True), M8, (P('x'),), P('x'), v)
  program('psum_scalar', 'psum(sum(x), x)', lambda x: lax.psum(x.sum(), 'x'), M8, (P('x'),), P(), v)
  program('psum_array', 'psum(x, x)', lambda x: lax.psum(x, 'x'), M8, (P('x'),), P(), v)
  program('psum_int', 'psum(x, x)', lambda x: lax.psum(x, 'x'), M8, (P('x'),), P(),
          quarters(16, dtype=np.int32))
  program('psum_one_axis', 'psum(x, x)', lambda x: lax.psum(x, 'x'), M24, (P('x', 'y'),),
          P(None, 'y'), m)
  program('psum_other_axis', 'psum(x, y)', lambda x: lax.psum(x, 'y'), M24, (P('x', 'y'),), P('x'),
          m)
  program('psum_two_axes', 'psum(x, (x, y))', lambda x: lax.psum(x, ('x', 'y')), M24,
          (P('x', 'y'),), P(), m)
  program('psum_outer_axes', 'psum(x, (x, z))', lambda x: lax.psum(x, ('x', 'z')), M222,
          (P('x', 'y', 'z'),), P(None, 'y'), c)
  program('psum_replicated', 'psum(x, x) where x varies over none', lambda x: lax.psum(x, 'x'), M8,
          (P(),), P(), quarters(3))
  program('psum_tuple', '(psum(x), psum(y))', lambda x, y: lax.psum((x, y), 'x'), M8,
          (P('x'), P('x')), (P(), P()), quarters(8), quarters(16))
  program('pmean', 'pmean(x, x)', lambda x: lax.pmean(x, 'x'), M8, (P('x'),), P(), v)
  program('pmax', 'pmax(x, x)', lambda x: lax.pmax(x, 'x'), M8, (P('x'),), P(), v)
  program('pmin', 'pmin(x, (x, y))', lambda x: lax.pmin(x, ('x', 'y')), M24, (P('x', 'y'),), P(), m)
  program('psum_groups',
          'psum(x, x, groups of 4)',
          lambda x: lax.psum(x, 'x', axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]),
          M8, (P('x'),),
          P('x'),
          v,
          check_vma=False)
  program('psum_groups_strided',
          'psum(x, x, even and odd devices)',
          lambda x: lax.psum(x, 'x', axis_index_groups=[[0, 2, 4, 6], [1, 3, 5, 7]]),
          M8, (P('x'),),
          P('x'),
          v,
          check_vma=False)


def gathers():
  v, m, c = quarters(32), quarters(8, 16), quarters(4, 8, 4)
  program('all_gather_tiled',
          'all_gather(x, x, tiled)',
          lambda x: lax.all_gather(x, 'x', tiled=True),
          M8, (P('x'),),
          P(),
          v,
          check_vma=False)
  program('all_gather_stacked',
          'all_gather(x, x)',
          lambda x: lax.all_gather(x, 'x'),
          M8, (P('x'),),
          P(),
          v,
          check_vma=False)
  program('all_gather_varying', 'all_gather(x, x, tiled), out varies',
          lambda x: lax.all_gather(x, 'x', tiled=True), M8, (P('x'),), P('x'), quarters(16))
  program('all_gather_axis1',
          'all_gather(x, y, axis 1, tiled)',
          lambda x: lax.all_gather(x, 'y', axis=1, tiled=True),
          M24, (P('x', 'y'),),
          P('x'),
          m,
          check_vma=False)
  program('all_gather_axis1_stacked',
          'all_gather(x, y, axis 1)',
          lambda x: lax.all_gather(x, 'y', axis=1),
          M24, (P('x', 'y'),),
          P('x'),
          m,
          check_vma=False)
  program('all_gather_two_axes',
          'all_gather(x, (x, y), tiled)',
          lambda x: lax.all_gather(x, ('x', 'y'), tiled=True),
          M24, (P(('x', 'y')),),
          P(),
          v,
          check_vma=False)
  program('all_gather_reversed_axes',
          'all_gather(x, (y, x), tiled)',
          lambda x: lax.all_gather(x, ('y', 'x'), tiled=True),
          M24, (P(('x', 'y')),),
          P(),
          v,
          check_vma=False)
  program('all_gather_groups',
          'all_gather(x, x, tiled, groups of 2)',
          lambda x: lax.all_gather(
              x, 'x', axis_index_groups=[[0, 1], [2, 3], [4, 5], [6, 7]], tiled=True),
          M8, (P('x'),),
          P('x'),
          v,
          check_vma=False)
  program('psum_scatter_tiled', 'psum_scatter(x, x, tiled)',
          lambda x: lax.psum_scatter(x, 'x', tiled=True), M8, (P(None, 'x'),), P('x'), m)
  program('psum_scatter_stacked', 'psum_scatter(x, x), x: (8, 2)',
          lambda x: lax.psum_scatter(x, 'x'), M8, (P(None, 'x'),), P('x'), m)
  program('psum_scatter_axis1', 'psum_scatter(x, y, dimension 1, tiled)',
          lambda x: lax.psum_scatter(x, 'y', scatter_dimension=1, tiled=True), M24, (P(
              ('x', 'y')),), P('x', 'y'), m)
  program('psum_scatter_two_axes', 'psum_scatter(x, (x, y), tiled)',
          lambda x: lax.psum_scatter(x, ('x', 'y'), tiled=True), M24, (P(None, ('x', 'y')),),
          P(('x', 'y')), m)
  program('psum_scatter_outer_axes', 'psum_scatter(x, (z, x), tiled)',
          lambda x: lax.psum_scatter(x, ('z', 'x'), tiled=True), M222, (P(None, ('x', 'z'), 'y'),),
          P(('z', 'x'), None, 'y'), c)


def exchanges():
  v, m, c = quarters(32), quarters(8, 16), quarters(4, 8, 4)
  program('all_to_all', 'all_to_all(x, x, 1, 0, tiled)',
          lambda x: lax.all_to_all(x, 'x', 1, 0, tiled=True), M8, (P('x'),), P(None, 'x'), m)
  program('all_to_all_same', 'all_to_all(x, x, 0, 0, tiled)',
          lambda x: lax.all_to_all(x, 'x', 0, 0, tiled=True), M8, (P('x'),), P('x'), quarters(64))
  program('all_to_all_untiled', 'all_to_all(x, x, 0, 1), x: (8, 2)',
          lambda x: lax.all_to_all(x, 'x', 0, 1), M8, (P(None, 'x'),), P('x'), m)
  program('all_to_all_axis', 'all_to_all(x, y, 0, 1, tiled)',
          lambda x: lax.all_to_all(x, 'y', 0, 1, tiled=True), M24, (P('x', 'y'),), P(('x', 'y')), m)
  program('all_to_all_two_axes', 'all_to_all(x, (x, y), 1, 0, tiled)',
          lambda x: lax.all_to_all(x, ('x', 'y'), 1, 0, tiled=True), M24, (P(('x', 'y')),),
          P(None, ('x', 'y')), m)
  program('all_to_all_groups',
          'all_to_all(x, x, 1, 0, tiled, groups of 4)',
          lambda x: lax.all_to_all(
              x, 'x', 1, 0, axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]], tiled=True),
          M8, (P('x'),),
          P('x'),
          m,
          check_vma=False)
  ring = [(i, (i + 1) % 8) for i in range(8)]
  program('ppermute_ring', 'ppermute(x, x, i -> i + 1 mod 8)', lambda x: lax.ppermute(x, 'x', ring),
          M8, (P('x'),), P('x'), v)
  program('ppermute_shift', 'ppermute(x, x, i -> i + 1), zero into 0',
          lambda x: lax.ppermute(x, 'x', ring[:-1]), M8, (P('x'),), P('x'), v)
  program('ppermute_swap', 'ppermute(x, y, 0 <-> 1, 2 <-> 3)',
          lambda x: lax.ppermute(x, 'y', [(0, 1), (1, 0), (2, 3), (3, 2)]), M24, (P('x', 'y'),),
          P('x', 'y'), m)
  program('ppermute_two_axes', 'ppermute(x, (x, y), i -> 7 - i)',
          lambda x: lax.ppermute(x,
                                 ('x', 'y'), [(i, 7 - i) for i in range(8)]), M24, (P('x', 'y'),),
          P('x', 'y'), m)
  program('pshuffle', 'pshuffle(x, x, reversed)',
          lambda x: lax.pshuffle(x, 'x', list(range(7, -1, -1))), M8, (P('x'),), P('x'), v)
  program('axis_index', 'x + axis_index(y)', lambda x: x + lax.axis_index('y'), M24, (P('x', 'y'),),
          P('x', 'y'), m)
  program('axis_index_two_axes', 'x + axis_index((y, x))', lambda x: x + lax.axis_index(('y', 'x')),
          M24, (P('x', 'y'),), P('x', 'y'), m)
  program('axis_size', 'x * axis_size((x, y))', lambda x: x * lax.axis_size(('x', 'y')), M24,
          (P('x', 'y'),), P('x', 'y'), m)


def layers():
  x, w, b = quarters(32), quarters(32, 4), quarters(4)
  program('layer',
          'sigmoid(psum(x @ w, x) + b)',
          lambda x, w, b: jax.nn.sigmoid(lax.psum(x @ w, 'x') + b),
          M8, (P('x'), P('x', None), P(None)),
          P(None),
          x,
          w,
          b,
          tolerance=1e-6)
  program('matmul_scatter', 'psum_scatter(x @ w, y, dimension 1, tiled)',
          lambda x, w: lax.psum_scatter(x @ w, 'y', scatter_dimension=1, tiled=True), M24,
          (P('x', 'y'), P('y', None)), P('x', 'y'), quarters(4, 8), quarters(8, 8))
  program('softmax_over_devices',
          'exp(x - pmax(max x)) / psum(sum)',
          lambda x: (lambda e: e / lax.psum(e.sum(), 'x'))(jnp.exp(x - lax.pmax(x.max(), 'x'))),
          M8, (P('x'),),
          P('x'),
          x,
          tolerance=1e-6)
  program('partial_manual',
          'psum(x, x) with y automatic',
          lambda x: lax.psum(jnp.sin(x), 'x'),
          M24, (P('x'),),
          P(),
          quarters(8, 16),
          axis_names={'x'},
          tolerance=1e-6)
  inner = lambda x: jax.shard_map(
      lambda v: lax.psum(v, 'y'), in_specs=P(None, 'y'), out_specs=P(), axis_names={'y'})(
          x) + lax.axis_index('x')
  program('nested',
          'manual y inside manual x: psum(v, y) + axis_index(x)',
          inner,
          M24, (P('x'),),
          P('x'),
          quarters(8, 16),
          axis_names={'x'})
  program('two_outputs', '(x + y, psum(x, x))', lambda x, y: (x + y, lax.psum(x, 'x')), M8,
          (P('x'), P()), (P('x'), P()), quarters(16), quarters(2))
  program(
      'ring_matmul', 'a scan-free ring: sum over steps of the shard that passes by',
      lambda x: sum(lax.ppermute(x, 'x', [(i, (i + k) % 8) for i in range(8)]) for k in range(8)),
      M8, (P('x'),), P('x'), quarters(16))


def wrong():
  v = np.zeros(32, np.float32)
  refused('claims_replication', 'x, out_spec P()', lambda x: x, M8, (P('x'),), P(), v)
  refused('claims_replication_of_one', 'psum(x, x), out_spec P()', lambda x: lax.psum(x, 'x'), M24,
          (P('x', 'y'),), P(), np.zeros((8, 16), np.float32))
  refused('indivisible', 'x', lambda x: x, M8, (P('x'),), P('x'), np.zeros(30, np.float32))
  refused('unknown_axis_in_spec', 'x', lambda x: x, M8, (P('w'),), P('w'), v)
  refused('unknown_axis_in_body', 'psum(x, w)', lambda x: lax.psum(x, 'w'), M8, (P('x'),), P(), v)
  refused('spec_beyond_rank', 'x', lambda x: x, M8, (P(None, 'x'),), P(None, 'x'), v)
  refused('out_spec_beyond_rank', 'sum(x)', lambda x: x.sum(), M8, (P('x'),), P('x'), v)
  refused('axis_twice', 'x', lambda x: x, M8, (P('x', 'x'),), P('x'), np.zeros((8, 8), np.float32))
  refused('scatter_indivisible', 'psum_scatter(x, x, tiled)',
          lambda x: lax.psum_scatter(x, 'x', tiled=True), M8, (P(None, 'x'),), P('x'),
          np.zeros((9, 16), np.float32))
  refused('all_to_all_indivisible', 'all_to_all(x, x, 1, 0, tiled)',
          lambda x: lax.all_to_all(x, 'x', 1, 0, tiled=True), M8, (P('x'),), P(None, 'x'),
          np.zeros((8, 9), np.float32))
  refused('ppermute_repeated_target', 'ppermute(x, x, 0 -> 1, 2 -> 1)',
          lambda x: lax.ppermute(x, 'x', [(0, 1), (2, 1)]), M8, (P('x'),), P('x'), v)
  refused('ppermute_out_of_range', 'ppermute(x, x, 0 -> 8)',
          lambda x: lax.ppermute(x, 'x', [(0, 8)]), M8, (P('x'),), P('x'), v)


for group in (reductions, gathers, exchanges, layers, wrong):
  group()
golden.write_texts('shard_map', texts)
print(f'{len(programs)} programs, {len(errors)} refused')
topic.write({'programs': programs, 'errors': errors})
