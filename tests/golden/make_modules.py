"""modules.json, modules.npz: initialisers, and the modules of flax.linen and flax.nnx.

  initializers  {name, seed, shape, dtype, out}
  linen, nnx    {name, params, stats, inputs, out, ...}: leaves as lists of arrays, in the order of
                the C++ structs' fields. What a name means is in the tests. `train` has the outputs
                and running statistics of one step in training, `out` those of evaluation
  attention     {name, inputs, out}: jax.nn.dot_product_attention
  conv_transposes  as linen
  pooling       {name, inputs, out, grad}: flax.linen's, and the gradient of the sum of the squares
  keys          the first keys of streams of nnx.Rngs
"""
import warnings

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import golden

warnings.simplefilter('ignore')
golden.setup()
topic = golden.Topic('modules')
rng = np.random.default_rng(0)
count = 0


def array(value):
  global count
  count += 1
  return topic.array(str(count), value)


def arrays(*values):
  return [array(v) for v in values]


def draw(*shape):
  return np.float32(rng.normal(size=shape))


init = jax.nn.initializers
INITIALIZERS = {
    'zeros': init.zeros,
    'ones': init.ones,
    'constant': init.constant(0.3),
    'normal': init.normal(),
    'uniform': init.uniform(),
    'truncated_normal': init.truncated_normal(0.5, lower=-1.0, upper=1.5),
    'lecun_normal': init.lecun_normal(),
    'lecun_uniform': init.lecun_uniform(),
    'glorot_normal': init.glorot_normal(),
    'glorot_uniform': init.glorot_uniform(),
    'he_normal': init.he_normal(),
    'he_uniform': init.he_uniform(),
    'embed': init.variance_scaling(1.0, 'fan_in', 'normal', out_axis=0),
    'fan_out': init.variance_scaling(2.0, 'fan_out', 'normal'),
    'fan_geo_avg': init.variance_scaling(2.0, 'fan_geo_avg', 'uniform', batch_axis=0),
}


# Of the dtypes that LAPACK has, of all sorts of shapes.
FACTORIZED = {
    'orthogonal': (init.orthogonal(), [(5, 7), (7, 5), (1, 1), (1, 6), (6, 1), (4, 4), (3, 3, 4, 6),
                                       (64, 48), (40, 100), (0, 3)]),
    'orthogonal_scaled': (init.orthogonal(scale=2.5, column_axis=0), [(5, 7), (6, 2, 4)]),
    'delta_orthogonal': (init.delta_orthogonal(), [(3, 4, 5), (2, 3, 4, 4), (1, 3, 2, 2, 6)]),
}


def initializers():
  for name, f in INITIALIZERS.items():
    for seed, shape, dtype in ((0, (5, 7), 'float32'), (1, (3, 3, 4, 6), 'float32'),
                               (2, (4, 3), 'bfloat16')):
      if name == 'fan_geo_avg' and len(shape) == 2:
        continue
      yield {
          'name': name,
          'seed': seed,
          'shape': shape,
          'dtype': dtype,
          'out': array(f(jax.random.key(seed), shape, jnp.dtype(dtype)))
      }
  for name, (f, shapes) in FACTORIZED.items():
    for seed, shape in enumerate(shapes):
      for dtype in ('float32', 'float64') if len(shape) == 2 else ('float32',):
        with jax.enable_x64(dtype == 'float64'):
          yield {
              'name': name,
              'seed': seed,
              'shape': shape,
              'dtype': dtype,
              'out': array(f(jax.random.key(seed), shape, jnp.dtype(dtype)))
          }


def keys():
  rngs = nnx.Rngs(3)
  yield from (jax.random.key_data(k).tolist() for k in (rngs.params(), rngs.dropout(), rngs()))
  rngs = nnx.Rngs(0, params=1)
  yield from (jax.random.key_data(k).tolist() for k in (rngs.params(), rngs.dropout(),
                                                         rngs.params()))


CONVS = {
    'conv': ((2, 5, 6, 4), 3, (3, 3), {}),
    'conv_strides': ((2, 5, 6, 4), 3, (3, 2), dict(strides=2, padding='VALID', use_bias=False)),
    'conv_padding': ((2, 5, 6, 4), 3, (3, 2), dict(strides=(2, 1), padding=((1, 2), (0, 1)))),
    'conv_groups': ((2, 5, 6, 4), 6, (3, 3), dict(feature_group_count=2)),
    'conv_dilated': ((2, 5, 6, 4), 3, (3, 3), dict(kernel_dilation=2, input_dilation=(1, 2), padding=((1, 2), (3, 0)))),
    'conv_circular': ((2, 5, 6, 4), 3, (3, 2), dict(padding='CIRCULAR')),
    'conv_reflect': ((2, 5, 6, 4), 3, (3, 2), dict(padding='REFLECT', kernel_dilation=(1, 2))),
    'conv_causal': ((2, 7, 4), 3, (3,), dict(padding='CAUSAL', kernel_dilation=2)),
    'conv_no_batch': ((5, 6, 4), 3, (3, 3), {}),
    'conv_two_batches': ((2, 3, 7, 4), 3, (3,), {}),
    'conv_3d': ((1, 3, 4, 3, 2), 3, (2, 2, 2), {}),
}


def nnx_modules():
  x = draw(3, 4)
  for name, options in {
      'linear': {},
      'linear_no_bias': dict(use_bias=False),
      'linear_bfloat16': dict(dtype=jnp.bfloat16)
  }.items():
    m = nnx.Linear(4, 5, rngs=nnx.Rngs(7), **options)
    leaves = [m.kernel[...]] + ([m.bias[...]] if m.bias is not None else [])
    yield {'name': name, 'params': arrays(*leaves), 'inputs': arrays(x), 'out': array(m(x))}
  for name, options in {'layer_norm': {}, 'layer_norm_no_scale': dict(use_scale=False)}.items():
    m = nnx.LayerNorm(4, rngs=nnx.Rngs(7), **options)
    yield {'name': name, 'params': [], 'inputs': arrays(x), 'out': array(m(x))}
  x = draw(6, 3, 4)
  for name, options in {'batch_norm': {}, 'batch_norm_axis': dict(axis=1, momentum=0.9)}.items():
    m = nnx.BatchNorm(3 if 'axis' in options else 4, rngs=nnx.Rngs(7), **options)
    y = m(x)
    z = m(x * 2)
    out = m(x, use_running_average=True)
    yield {
        'name': name,
        'inputs': arrays(x),
        'train': arrays(y, z),
        'stats': arrays(m.mean[...], m.var[...]),
        'out': array(out)
    }
  x = draw(8, 6)
  for name, options in {'dropout': {}, 'dropout_broadcast': dict(broadcast_dims=(0,))}.items():
    m = nnx.Dropout(0.4, rngs=nnx.Rngs(5), **options)
    yield {'name': name, 'inputs': arrays(x), 'train': arrays(m(x), m(x))}
  tokens = np.int32([[1, 0, 4], [2, -1, 7]])
  m = nnx.Embed(5, 3, rngs=nnx.Rngs(7))
  yield {
      'name': 'embed',
      'params': arrays(m.embedding[...]),
      'inputs': arrays(tokens),
      'out': array(m(tokens)),
      'attend': arrays(m.attend(jnp.ones((2, 3))))
  }
  m = nnx.Embed(1, 3, rngs=nnx.Rngs(7))
  yield {'name': 'embed_one', 'inputs': arrays(tokens), 'out': array(m(tokens))}
  for name, (shape, features, size, options) in CONVS.items():
    x = draw(*shape)
    m = nnx.Conv(shape[-1], features, size, rngs=nnx.Rngs(7), **options)
    leaves = [m.kernel[...]] + ([m.bias[...]] if m.bias is not None else [])
    yield {'name': name, 'params': arrays(*leaves), 'inputs': arrays(x), 'out': array(m(x))}
  yield from nnx_attention()
  # Two layers of one Rngs, and the gradients of a loss.
  rngs = nnx.Rngs(11)
  first, second = nnx.Linear(4, 3, rngs=rngs), nnx.Linear(3, 2, rngs=rngs)
  yield {
      'name': 'two_layers',
      'params': arrays(first.kernel[...], first.bias[...], second.kernel[...], second.bias[...])
  }


def nnx_attention():
  x, y = draw(2, 3, 8), draw(2, 4, 6)
  mask = rng.uniform(size=(2, 1, 3, 3)) < 0.7
  mask[..., 0] = True
  leaves = lambda m: arrays(*[
      v[...] for part in (m.query, m.key, m.value, m.query_ln, m.key_ln, m.out) if part is not None
      for v in (getattr(part, 'kernel', None), getattr(part, 'scale', None), part.bias)
      if v is not None
  ])
  cases = {
      'attention': ({}, (x,), {}),
      'attention_features': (dict(qkv_features=6, out_features=5, in_kv_features=6, num_heads=3),
                             (x, y), {}),
      'attention_grouped': (dict(num_heads=4, num_kv_heads=2), (x,), {}),
      'attention_normalized': (dict(normalize_qk=True, use_bias=False), (x,), {}),
      'attention_mask': ({}, (x, x, x), dict(mask=mask, is_causal=True)),
  }
  for name, (options, inputs, call) in cases.items():
    m = nnx.MultiHeadAttention(
        **dict(dict(num_heads=2, in_features=8, decode=False, rngs=nnx.Rngs(7)), **options))
    yield {
        'name': name,
        'params': leaves(m),
        'inputs': arrays(*inputs, *([mask] if call else [])),
        'out': array(m(*inputs, **call))
    }
  for name, options in (('attention_dropout', {}), ('attention_dropout_each', dict(
      broadcast_dropout=False, num_kv_heads=1))):
    m = nnx.MultiHeadAttention(
        2, 8, dropout_rate=0.5, deterministic=False, decode=False, rngs=nnx.Rngs(7), **options)
    first, second = m(x), m(x)
    m.deterministic = True
    yield {
        'name': name,
        'params': leaves(m),
        'inputs': arrays(x),
        'out': array(m(x)),
        'train': arrays(first, second)
    }
  m = nnx.MultiHeadAttention(2, 8, decode=True, rngs=nnx.Rngs(7))
  m.init_cache(x.shape)
  yield {
      'name': 'attention_decode',
      'params': leaves(m),
      'inputs': arrays(x),
      'out': array(jnp.concatenate([m(x[:, i:i + 1]) for i in range(3)], axis=1))
  }


def linen_case(name, module, x, train=None, train_rng=None, order=('kernel', 'bias')):
  """`order` lists the paths of the parameters."""
  variables = module.init(jax.random.key(3), *x)
  find = lambda path: _find(variables['params'], path)
  out = {
      'name': name,
      'params': arrays(*[find(p) for p in order]),
      'inputs': arrays(*x),
      'out': array(module.apply(variables, *x))
  }
  if train is not None:
    y, updates = train.apply(
        variables, *x, rngs={'dropout': jax.random.key(9)}, mutable=['batch_stats'])
    out['train'] = array(y)
    if 'batch_stats' in updates:
      out['stats'] = arrays(
          *[v for _, v in sorted(_flat(updates['batch_stats']).items())])
  return out


def _flat(tree, path=''):
  if not isinstance(tree, dict):
    return {path: tree}
  out = {}
  for k, v in tree.items():
    out.update(_flat(v, f'{path}/{k}'))
  return out


def _find(tree, path):
  for part in path.split('/'):
    tree = tree[part]
  return tree


def linen_modules():
  x = draw(3, 4)
  yield linen_case('dense', nn.Dense(5), (x,))
  yield linen_case('dense_no_bias', nn.Dense(5, use_bias=False), (x,), order=('kernel',))
  yield linen_case('dense_he', nn.Dense(5, kernel_init=init.he_uniform(),
                                        bias_init=init.normal(1.0)), (x,))
  yield linen_case('layer_norm', nn.LayerNorm(), (x,), order=('scale', 'bias'))
  x = draw(6, 3, 4)
  yield linen_case('batch_norm',
                   nn.BatchNorm(use_running_average=True), (x,),
                   nn.BatchNorm(use_running_average=False),
                   order=('scale', 'bias'))
  net = lambda train: nn.Sequential([
      nn.Dense(6), nn.relu,
      nn.LayerNorm(),
      nn.Dropout(0.3, deterministic=not train),
      nn.Sequential([nn.Dense(5), nn.BatchNorm(use_running_average=not train)]),
      nn.Dropout(0.3, deterministic=not train)
  ])
  yield linen_case('sequential',
                   net(False), (x,),
                   net(True),
                   order=('layers_0/kernel', 'layers_0/bias', 'layers_2/scale', 'layers_2/bias',
                          'layers_4/layers_0/kernel', 'layers_4/layers_0/bias',
                          'layers_4/layers_1/scale', 'layers_4/layers_1/bias'))
  order = [f'{a}/{b}' for a in ('query', 'key', 'value', 'out') for b in ('kernel', 'bias')]
  x = draw(2, 3, 8)
  attention = lambda rate, train: nn.MultiHeadAttention(
      num_heads=2, dropout_rate=rate, deterministic=not train)
  yield linen_case('attention', attention(0.0, False), (x,), order=order)
  yield linen_case('attention_dropout', attention(0.5, False), (x,), attention(0.5, True),
                   order=order)
  yield linen_case('attention_features',
                   nn.MultiHeadAttention(num_heads=3, qkv_features=6, out_features=5),
                   (x, draw(2, 4, 8)),
                   order=order)
  mask = nn.make_causal_mask(jnp.ones((2, 3)))
  m = nn.MultiHeadAttention(num_heads=2)
  variables = m.init(jax.random.key(3), x)
  yield {
      'name': 'attention_mask',
      'params': [],
      'inputs': arrays(x, np.asarray(mask) > 0),
      'out': array(m.apply(variables, x, mask=mask))
  }
  tokens = np.int32([[1, 0, 4], [2, 2, 3]])
  yield linen_case('embed', nn.Embed(5, 3), (tokens,), order=('embedding',))
  for name, (shape, features, size, options) in CONVS.items():
    yield linen_case(name,
                     nn.Conv(features, size, **options), (draw(*shape),),
                     order=('kernel',) if options.get('use_bias') is False else ('kernel', 'bias'))


def attention():
  q, k, v = draw(2, 5, 4, 3), draw(2, 6, 4, 3), draw(2, 6, 4, 3)
  few = draw(2, 6, 2, 3), draw(2, 6, 2, 3)
  bias, mask = draw(1, 4, 5, 6), rng.uniform(size=(2, 1, 5, 6)) < 0.7
  lengths = np.int32([5, 3]), np.int32([2, 6])
  f = jax.nn.dot_product_attention
  calls = {
      'plain': ((q, k, v), {}),
      'no_batch': ((q[0], k[0], v[0]), {}),
      'causal': ((q, k, v), dict(is_causal=True)),
      'grouped': ((q, *few), dict(scale=0.3)),
      'bias_mask': ((q, k, v, bias, mask), {}),
      'grouped_bias': ((q, *few, bias, mask), dict(is_causal=True)),
      'lengths': ((q, k, v, *lengths), {}),
      'window': ((q, k, v), dict(local_window_size=(2, 1))),
  }
  for name, (inputs, options) in calls.items():
    out = f(*inputs[:3], query_seq_lengths=inputs[3], key_value_seq_lengths=inputs[4]
           ) if name == 'lengths' else f(*inputs, **options)
    yield {'name': name, 'inputs': arrays(*inputs), 'out': array(out)}


def pooling():
  image, line = draw(2, 6, 7, 3), draw(2, 3, 9, 2)
  ties = np.float32(rng.integers(0, 3, size=(2, 6, 6, 2)))
  calls = {
      'max': (nn.max_pool, image, (2, 2), dict(strides=(2, 2))),
      'max_overlapping': (nn.max_pool, image, (3, 2), {}),
      'max_same': (nn.max_pool, image, (3, 3), dict(strides=(2, 2), padding='SAME')),
      'max_padding': (nn.max_pool, image, (2, 3), dict(strides=(1, 2), padding=((1, 0), (2, 1)))),
      'max_ties': (nn.max_pool, ties, (2, 2), dict(strides=(2, 2))),
      'max_ties_large': (nn.max_pool, ties, (5, 4), {}),
      'max_no_batch': (nn.max_pool, image[0], (2, 2), {}),
      'max_two_batches': (nn.max_pool, line, (4,), dict(strides=(3,))),
      'min': (nn.pooling.min_pool, image, (2, 2), dict(strides=(2, 2))),
      'min_same': (nn.pooling.min_pool, image, (3, 2), dict(padding='SAME')),
      'avg': (nn.avg_pool, image, (2, 2), dict(strides=(2, 2))),
      'avg_same': (nn.avg_pool, image, (3, 3), dict(strides=(2, 2), padding='SAME')),
      'avg_not_pad': (nn.avg_pool, image, (3, 3),
                      dict(strides=(2, 1), padding='SAME', count_include_pad=False)),
      'avg_padding': (nn.avg_pool, image, (2, 3),
                      dict(padding=((1, 0), (2, 1)), count_include_pad=False)),
      'avg_two_batches': (nn.avg_pool, line, (4,), dict(strides=(3,), padding='SAME')),
  }
  for name, (f, x, window, options) in calls.items():
    pool = lambda x, f=f, window=window, options=options: f(x, window, **options)
    yield {
        'name': name,
        'inputs': arrays(x),
        'out': array(pool(x)),
        'grad': array(jax.grad(lambda x: jnp.sum(pool(x)**2))(x))
    }


CONV_TRANSPOSES = {
    'conv_transpose': ((2, 4, 5, 4), (3, 2), dict(strides=(2, 3))),
    'conv_transpose_valid': ((2, 3, 5, 4), (3,), dict(strides=(2,), padding='VALID', use_bias=False)),
    'conv_transpose_padding': ((2, 4, 5, 4), (3, 2), dict(strides=(2, 2), padding=((2, 1), (0, 1)), kernel_dilation=(1, 2))),
    'conv_transpose_of_forward': ((2, 4, 5, 4), (3, 2), dict(strides=(2, 2), transpose_kernel=True)),
    'conv_transpose_of_forward_padding': ((2, 4, 5, 4), (3, 2), dict(padding=((2, 1), (0, 1)), transpose_kernel=True)),
}


def conv_transposes():
  for name, (shape, size, options) in CONV_TRANSPOSES.items():
    yield linen_case(name,
                     nn.ConvTranspose(3, size, **options), (draw(*shape),),
                     order=('kernel',) if options.get('use_bias') is False else ('kernel', 'bias'))


topic.write({
    'attention': list(attention()),
    'initializers': list(initializers()),
    'keys': list(keys()),
    'nnx': list(nnx_modules()),
    'linen': list(linen_modules()),
    'pooling': list(pooling()),
    'conv_transposes': list(conv_transposes())
})
