"""ops.json, ops.npz, stablehlo/ops/*.mlir: the ops that are not elementwise, one small program
each.

"programs": a list of {"name", "op": the StableHLO op it shows, "attributes": its attributes under
  StableHLO's names, "inputs",
"outputs": array references, "text": the lowered program, a file below stablehlo/}. "exact": false
  where the order of a sum may change the last bits. The text is the whole truth; "attributes" save
  a test the parser.
"""
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import golden

golden.setup(x64=True)
topic = golden.Topic('ops')
programs, texts = [], {}
rng = np.random.default_rng(0)
NAN, INF = np.nan, np.inf


def quarters(*shape, dtype='float32'):
  """Multiples of 1/4 (of 1 for integers): sums and products of a few are exact."""
  values = rng.integers(-8, 9, shape)
  return (values if dtype in golden.INTS else values / 4).astype(golden.np_dtype(dtype))


def program(name, op, function, *inputs, exact=True, **attributes):
  function = (lambda f: lambda *a: f(*a))(function)
  function.__name__ = name
  lowered = jax.jit(function, keep_unused=True).lower(*inputs)
  outputs = jax.tree.leaves(lowered.compile()(*inputs))
  text = lowered.as_text()
  assert re.search(rf'\b({op})\b', text), f'{name} has no {op}:\n{text}'
  texts[f'{name}.mlir'] = text
  programs.append({
      'name': name,
      'op': op,
      'exact': exact,
      'attributes': attributes,
      'inputs': [topic.array(f'{name}.in{i}', x) for i, x in enumerate(inputs)],
      'outputs': [topic.array(f'{name}.out{i}', x) for i, x in enumerate(outputs)],
      'text': f'ops/{name}.mlir'
  })


def dots():

  def dot(name, a, b, contracting, batching=((), ()), to=None, exact=True):
    program(name,
            'dot_general',
            lambda a, b: lax.dot_general(a, b, (contracting, batching), preferred_element_type=to),
            a,
            b,
            exact=exact,
            lhs_contracting_dimensions=list(contracting[0]),
            rhs_contracting_dimensions=list(contracting[1]),
            lhs_batching_dimensions=list(batching[0]),
            rhs_batching_dimensions=list(batching[1]))

  dot('dot_matmul', quarters(4, 5), quarters(5, 3), ((1,), (0,)))
  dot('dot_transposed', quarters(5, 4), quarters(3, 5), ((0,), (1,)))
  dot('dot_inner', quarters(6), quarters(6), ((0,), (0,)))
  dot('dot_outer', quarters(3), quarters(4), ((), ()))
  dot('dot_two_contracting', quarters(2, 3, 4), quarters(4, 2, 5), ((0, 2), (1, 0)))
  dot('dot_batch', quarters(2, 3, 4), quarters(2, 4, 5), ((2,), (1,)), ((0,), (0,)))
  dot('dot_batch_permuted', quarters(3, 4, 2), quarters(5, 2, 4), ((1,), (2,)), ((2,), (1,)))
  dot('dot_two_batch', quarters(2, 3, 4, 5), quarters(3, 5, 2, 6), ((3,), (1,)), ((0, 1), (2, 0)))
  dot('dot_batch_only', quarters(4, 3), quarters(4, 3), ((), ()), ((0, 1), (0, 1)))
  dot('dot_empty_contraction', quarters(3, 0), quarters(0, 2), ((1,), (0,)))
  dot('dot_empty_result', quarters(0, 3), quarters(3, 2), ((1,), (0,)))
  for dtype in ('float64', 'float16', 'bfloat16', 'int32', 'int8', 'uint16', 'complex64'):
    a, b = quarters(4, 6, dtype=dtype), quarters(6, 3, dtype=dtype)
    dot(f'dot_{dtype}', a * (1 + 0.5j) if dtype == 'complex64' else a, b, ((1,), (0,)))
  dot('dot_int8_to_int32',
      np.full((2, 8), 100, np.int8),
      np.full((8, 2), 100, np.int8), ((1,), (0,)),
      to=np.int32)
  dot('dot_bfloat16_to_float32',
      quarters(4, 64, dtype='bfloat16'),
      quarters(64, 4, dtype='bfloat16'), ((1,), (0,)),
      to=np.float32)
  dot('dot_nan', np.float32([[NAN, 0], [INF, 1]]), np.float32([[0, 1], [1, 0]]), ((1,), (0,)))
  dot('dot_large',
      np.float32(rng.normal(size=(33, 130))),
      np.float32(rng.normal(size=(130, 17))), ((1,), (0,)),
      exact=False)


def reductions():
  x = quarters(3, 4, 5)
  bodies = {'add': lax.add, 'multiply': lax.mul, 'maximum': lax.max, 'minimum': lax.min}

  def reduce(name, body, inputs, inits, dimensions, exact=True):
    function = lambda *a: lax.reduce(tuple(a[:len(inputs)]), tuple(a[len(inputs):]), body,
                                     dimensions)
    program(name, 'reduce', function, *inputs, *inits, exact=exact, dimensions=list(dimensions))

  for dimensions in ((0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2), ()):
    reduce('reduce_add_' + ('none' if not dimensions else ''.join(map(str, dimensions))),
           lambda a, b: (a[0] + b[0],), [x], [np.float32(0)], dimensions)
  for name, init in (('multiply', 1), ('maximum', -INF), ('minimum', INF)):
    body = bodies[name]
    reduce(f'reduce_{name}', lambda a, b: (body(a[0], b[0]),), [x], [np.float32(init)], (1,))
    reduce(f'reduce_{name}_nan', lambda a, b: (body(a[0], b[0]),),
           [np.float32([[1, NAN, 3], [2, -0.0, 0.0], [INF, -INF, 0]])], [np.float32(init)], (1,))
  reduce('reduce_add_init', lambda a, b: (a[0] + b[0],), [x], [np.float32(10)], (0, 1))
  reduce('reduce_add_int8_wraps', lambda a, b: (a[0] + b[0],), [np.full((3, 5), 100, np.int8)],
         [np.int8(0)], (1,))
  reduce('reduce_multiply_int32', lambda a, b: (a[0] * b[0],), [quarters(4, 3, dtype='int32')],
         [np.int32(1)], (0,))
  reduce('reduce_add_complex', lambda a, b: (a[0] + b[0],),
         [(quarters(4, 3) * (1 - 2j)).astype(np.complex64)], [np.complex64(0)], (0,))
  reduce('reduce_add_empty', lambda a, b: (a[0] + b[0],), [np.zeros((0, 3), np.float32)],
         [np.float32(0)], (0,))
  flags = rng.integers(0, 2, (4, 5)).astype(bool)
  reduce('reduce_and', lambda a, b: (a[0] & b[0],), [flags | (np.arange(5) < 2)], [np.bool_(True)],
         (0,))
  reduce('reduce_or', lambda a, b: (a[0] | b[0],), [flags & (np.arange(4) < 2)[:, None]],
         [np.bool_(False)], (1,))
  reduce('reduce_xor', lambda a, b: (a[0] ^ b[0],), [quarters(4, 5, dtype='int16')], [np.int16(0)],
         (0,))
  reduce('reduce_region', lambda a, b: (a[0] + b[0] - a[0] * b[0],),
         [np.float32(rng.integers(0, 2, (4, 6)) / 2)], [np.float32(0)], (1,))
  reduce('reduce_two', lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])),
         [x, quarters(3, 4, 5, dtype='int32')], [np.float32(0), np.int32(-100)], (0, 2))
  reduce('reduce_large',
         lambda a, b: (a[0] + b[0],), [np.float32(rng.normal(size=(3, 1000)))], [np.float32(0)],
         (1,),
         exact=False)
  ties = np.float32([[1, 3, 3, 2], [5, 5, 5, 5], [NAN, 9, NAN, 1], [-0.0, 0.0, -0.0, 0.0],
                     [-INF, -INF, INF, INF], [2, 1, NAN, 7]])
  for axis in (0, 1):
    for kind, function in (('argmax', lax.argmax), ('argmin', lax.argmin)):
      program(f'{kind}_axis{axis}',
              'reduce',
              lambda x: function(x, axis, np.int32),
              ties,
              dimensions=[axis])
      program(f'{kind}_int_axis{axis}',
              'reduce',
              lambda x: function(x, axis, np.int64),
              quarters(4, 7, dtype='int8'),
              dimensions=[axis])
  program('argmax_bool', 'reduce', lambda x: lax.argmax(x, 1, np.int32), flags, dimensions=[1])


def layouts():
  x = quarters(3, 4)
  cube = quarters(2, 3, 4)
  for name, config in (('edges', ((1, 2, 0), (0, 1, 0))), ('negative', ((-1, 0, 0), (0, -2, 0))),
                       ('interior', ((0, 0, 2), (0, 0, 1))), ('mixed', ((-1, 3, 1), (2, -3, 2))),
                       ('negative_interior', ((-2, -1, 1), (-1, -1, 1))),
                       ('none', ((0, 0, 0), (0, 0, 0))), ('to_empty', ((-3, 0, 0), (0, 0, 0)))):
    program(f'pad_{name}',
            'pad',
            lambda x, v: lax.pad(x, v, config),
            x,
            np.float32(7),
            edge_padding_low=[c[0] for c in config],
            edge_padding_high=[c[1] for c in config],
            interior_padding=[c[2] for c in config])
  program('pad_empty',
          'pad',
          lambda x, v: lax.pad(x, v, ((2, 1, 3),)),
          np.zeros((0,), np.int32),
          np.int32(4),
          edge_padding_low=[2],
          edge_padding_high=[1],
          interior_padding=[3])
  for name, start, limit, stride in (('plain', (1, 0, 1), (2, 3, 3),
                                      (1, 1, 1)), ('strided', (0, 1, 0), (2, 3, 4), (1, 1, 3)),
                                     ('empty', (0, 2, 0), (2, 2, 4), (1, 1, 1))):
    program(f'slice_{name}',
            'slice',
            lambda x: lax.slice(x, start, limit, stride),
            cube,
            start_indices=list(start),
            limit_indices=list(limit),
            strides=list(stride))
  for dims in ((0,), (1, 2), (0, 1, 2), ()):
    if dims:
      program('reverse_' + ''.join(map(str, dims)),
              'reverse',
              lambda x: lax.rev(x, dims),
              cube,
              dimensions=list(dims))
  for permutation in ((0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0), (1, 2, 0)):
    program('transpose_' + ''.join(map(str, permutation)),
            'transpose',
            lambda x: lax.transpose(x, permutation),
            cube,
            permutation=list(permutation))
  parts = [quarters(2, n, 3, dtype='int16') for n in (1, 0, 3, 2)]
  program('concatenate_4', 'concatenate', lambda *a: lax.concatenate(a, 1), *parts, dimension=1)
  program('concatenate_major',
          'concatenate',
          lambda a, b: lax.concatenate([a, b], 0),
          quarters(1, 4),
          quarters(3, 4),
          dimension=0)
  for name, operand, shape, dims in (('scalar', quarters(), (2, 3),
                                      ()), ('row', quarters(3), (2, 3),
                                            (1,)), ('column', quarters(2), (2, 3), (0,)),
                                     ('ones', quarters(2, 1, 3), (2, 4, 3),
                                      (0, 1, 2)), ('gap', quarters(2, 3), (2, 5, 3),
                                                   (0, 2)), ('empty', quarters(1), (0,), (0,))):
    program(f'broadcast_{name}',
            'broadcast_in_dim',
            lambda x: lax.broadcast_in_dim(x, shape, dims),
            operand,
            broadcast_dimensions=list(dims),
            shape=list(shape))
  for name, shape in (('merge', (6, 4)), ('split', (2, 3, 2, 2)), ('flat', (24,)),
                      ('regroup', (4, 6)), ('ones', (2, 1, 3, 4, 1))):
    program(f'reshape_{name}', 'reshape', lambda x: lax.reshape(x, shape), cube, shape=list(shape))
  for dtype, shape, dimension in (('int32', (3, 4), 0), ('int32', (3, 4), 1), ('float32', (5,), 0),
                                  ('uint8', (2, 300), 1), ('bfloat16', (300,), 0),
                                  ('float64', (2, 2, 2), 2), ('complex64', (4,), 0), ('int8',
                                                                                      (200,), 0)):
    program(f'iota_{dtype}_{dimension}',
            'iota',
            lambda: lax.broadcasted_iota(golden.np_dtype(dtype), shape, dimension),
            iota_dimension=dimension,
            shape=list(shape),
            dtype=dtype)
  program('select_full', 'select', lax.select, quarters(3, 4) > 0, x, -x)
  program('select_scalar', 'select', lax.select, np.bool_(False), x, -x)


def indexed():
  x = np.arange(20, dtype=np.float32).reshape(4, 5)
  for name, index in (('inside', (1, 2)), ('low', (-3, -1)), ('high', (3, 4)),
                      ('far', (1000, -1000)), ('limits', (2**31 - 1, -2**31))):
    starts = [np.int32(i) for i in index]
    program(f'dynamic_slice_{name}',
            'dynamic_slice',
            lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3), allow_negative_indices=False),
            x,
            *starts,
            slice_sizes=[2, 3])
    program(f'dynamic_update_slice_{name}', 'dynamic_update_slice',
            lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j), allow_negative_indices=False),
            x, -np.ones((2, 3), np.float32), *starts)
  for dtype, index in (('int8', -5), ('uint8', 255), ('int64', 2**40), ('uint32', 2**32 - 1),
                       ('int64', -2**63)):
    start = np.array(index, dtype)
    program(f'dynamic_slice_{dtype}_{"low" if index < 0 else "high"}',
            'dynamic_slice',
            lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3), allow_negative_indices=False),
            x,
            start,
            slice_sizes=[2, 3])
  program('dynamic_slice_whole',
          'dynamic_slice',
          lambda x, i: lax.dynamic_slice(x, (i, i), (4, 5), allow_negative_indices=False),
          x,
          np.int32(1),
          slice_sizes=[4, 5])
  program('dynamic_slice_empty',
          'dynamic_slice',
          lambda x, i: lax.dynamic_slice(x, (i, i), (0, 5), allow_negative_indices=False),
          x,
          np.int32(9),
          slice_sizes=[0, 5])


def whole_programs():
  """Several ops at once, with a called function."""
  x = np.float32(rng.normal(size=(4, 8)))
  program('softmax', 'reduce', lambda x: jax.nn.softmax(x, -1), x, exact=False)
  program('layer_norm',
          'rsqrt',
          lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5),
          x,
          exact=False)
  program('gelu', 'tanh', jax.nn.gelu, x, exact=False)
  program('tril', 'select', jnp.tril, x)
  program('one_hot', 'compare', lambda i: jax.nn.one_hot(i, 5), np.int32([0, 4, 2, 7, -1]))
  program('mlp', 'dot_general', lambda x, w, b, v: jax.nn.relu(x @ w + b) @ v, quarters(4, 8),
          quarters(8, 16), quarters(16), quarters(16, 3))
  program('calls',
          'dot_general',
          lambda x: jax.jit(lambda y: y @ y.T)(jnp.sin(x)) + jnp.sin(x).sum(),
          x,
          exact=False)


def gathers():
  x, wild = quarters(5, 4), np.int32([3, -1, 0, 9, 3])

  def gradient(f):
    return jax.grad(lambda *a: (f(*a) * jnp.arange(1., 1 + f(*a).size).reshape(f(*a).shape)).sum())

  program('index_rows', 'gather', lambda x, i: x[i], x, wild)
  program('index_pairs', 'gather', lambda x, i: x[i, i[::-1]], x, wild)
  program('index_parted', 'gather', lambda x, i: x[i, 1:3, i], quarters(3, 4, 3), np.int32([2, 0]))
  program('take', 'gather', lambda x, i: jnp.take(x, i, axis=1), x, wild)
  program('take_along_axis', 'gather', lambda x, i: jnp.take_along_axis(x, i, 1), x, wild[:, None])
  program('gather_gradient', 'scatter', gradient(lambda x, i: x[i]), x, wild)
  program('take_along_axis_gradient', 'scatter',
          gradient(lambda x, i: jnp.take_along_axis(x, i, 1)), x, np.int32([[3], [0], [1], [1], [2]]))
  program('gather_vmap', 'gather', jax.vmap(lambda x, i: x[i]), x, np.int32([[3, 0]] * 5))
  u = quarters(5, 4)
  for kind in ('set', 'add', 'multiply', 'min', 'max'):
    i = np.int32([3, -1, 0, 9, 1]) if kind == 'set' else wild
    program(f'scatter_{kind}', 'scatter', lambda x, i, u: getattr(x.at[i], kind)(u), x, i, u)
    program(f'scatter_{kind}_clip', 'scatter',
            lambda x, i, u: getattr(x.at[i], kind)(u, mode='clip'), x, i[:3], u[:3])
  for kind in ('set', 'add', 'min', 'max'):
    program(f'scatter_{kind}_gradient', 'scatter',
            jax.grad(lambda x, u, i: (getattr(x.at[i], kind)(u) * x).sum(), (0, 1)), x, u,
            np.int32([3, 2, 0, 9, 1]), exact=False)
  program('scatter_vmap', 'scatter', jax.vmap(lambda x, i, u: x.at[i].add(u)), x,
          np.int32([[3, 0]] * 5), quarters(5, 2))
  program('scatter_window', 'scatter',
          lambda x, u: x.at[1:3, ::2].add(u), x, quarters(2, 2))


def sorts():
  x = np.float32([[1, NAN, -0., 0], [-INF, INF, -1, 3], [2, 2, -NAN, 1]])
  program('sort', 'sort', lambda x: lax.sort(x), x)
  program('sort_axis0', 'sort', lambda x: jnp.sort(x, axis=0), x)
  program('argsort', 'sort', jnp.argsort, x)
  program('argsort_int', 'sort', jnp.argsort, np.int8([5, -3, 5, 0, 127, -128]))
  program('sort_pairs', 'sort', lambda a, b: lax.sort((a, b), num_keys=2), np.int32([2, 1, 2, 1]),
          np.float32([0.5, NAN, -1, 2]))
  program('sort_by_key', 'sort', lambda a, b: lax.sort((a, b), num_keys=1), np.int32([2, 1, 2, 1]),
          np.float32([0.5, 3, -1, 2]))
  program('top_k', 'sort|chlo', lambda x: lax.top_k(x, 2), np.abs(x))
  program('median', 'sort', jnp.median, quarters(3, 5), exact=False)
  program('sort_gradient', 'sort', jax.grad(lambda x: (jnp.sort(x) * jnp.arange(5.)).sum()),
          np.float32([3, 1, 2, 5, 4]))


def windows():
  x, inf = quarters(2, 6, 5, 3), np.float32(np.inf)

  def pool(f, init):
    return lambda x: lax.reduce_window(x, init, f, (1, 2, 3, 1), (1, 2, 1, 1), 'SAME')

  program('max_pool', 'reduce_window', pool(lax.max, -inf), x)
  program('min_pool', 'reduce_window', pool(lax.min, inf), x)
  program('sum_pool', 'reduce_window', pool(lax.add, np.float32(0)), x)
  distinct = rng.permutation(180).reshape(2, 6, 5, 3).astype(np.float32)
  program('max_pool_gradient', 'select_and_scatter',
          jax.grad(lambda x: (pool(lax.max, -inf)(x) * jnp.arange(3.)).sum()), distinct)
  program('sum_pool_gradient', 'reduce_window',
          jax.grad(lambda x: (pool(lax.add, np.float32(0))(x) * jnp.arange(3.)).sum()), x)
  program('window_dilated', 'reduce_window', lambda x: lax.reduce_window(
      x, np.float32(0), lax.add, (2, 2), (2, 1), [(1, 0), (0, 2)], (1, 2), (2, 1)), quarters(6, 5))
  program('window_product', 'reduce_window', lambda x: lax.reduce_window(
      x, np.float32(1), lax.mul, (2,), (1,), 'VALID'), quarters(6))
  for name in ('cumsum', 'cumprod', 'cummax', 'cummin', 'cumlogsumexp'):
    for reverse in (False, True):
      program(f'{name}{"_reverse" if reverse else ""}', 'reduce_window',
              lambda x: getattr(lax, name)(x, 1, reverse), quarters(3, 6), exact=False)


def convolutions():

  def conv(name, lhs, rhs, strides, padding, dims=('NHWC', 'HWIO', 'NHWC'), gradient=True, **more):
    f = lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=dims, **more)
    program(f'conv_{name}', 'convolution', f, lhs, rhs)
    if gradient:
      program(f'conv_{name}_gradient', 'convolution',
              jax.grad(lambda x, w: (f(x, w) * f(x, w)).sum(), (0, 1)), lhs, rhs, exact=False)

  image, kernel = quarters(2, 6, 5, 2), quarters(3, 2, 2, 4)
  conv('same', image, kernel, (1, 1), 'SAME')
  conv('strided', image, kernel, (2, 1), [(1, 0), (-1, 2)])
  conv('dilated', image, kernel, (1, 2), [(2, 1), (0, 1)], lhs_dilation=(2, 1), rhs_dilation=(1, 2))
  conv('nchw', quarters(2, 2, 6, 5), quarters(4, 2, 3, 2), (1, 1), 'VALID', ('NCHW', 'OIHW', 'NCHW'))
  conv('groups', quarters(2, 5, 5, 4), quarters(3, 3, 2, 6), (1, 1), 'SAME', feature_group_count=2)
  conv('depthwise', quarters(2, 5, 5, 4), quarters(3, 3, 1, 4), (2, 2), 'SAME', feature_group_count=4)
  conv('batch_groups', quarters(4, 5, 5, 2), quarters(3, 3, 2, 4), (1, 1), 'SAME',
       batch_group_count=2)
  conv('1d', quarters(2, 7, 2), quarters(3, 2, 3), (1,), 'SAME', ('NHC', 'HIO', 'NHC'))
  conv('0d', quarters(2, 3), quarters(4, 3), (), 'VALID', ('NC', 'OI', 'NC'), gradient=False)
  program('conv_transpose', 'convolution',
          lambda x, w: lax.conv_transpose(x, w, (2, 2), 'SAME'), image, kernel)
  program('conv_vmap', 'convolution',
          jax.vmap(lambda x, w: lax.conv_general_dilated(
              x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))),
          quarters(3, 1, 4, 4, 2), quarters(3, 2, 2, 2, 2))


for group in (dots, reductions, layouts, indexed, whole_programs, gathers, sorts, windows,
              convolutions):
  group()
golden.write_texts('ops', texts)
print(f'{len(programs)} programs')
topic.write({'programs': programs})
