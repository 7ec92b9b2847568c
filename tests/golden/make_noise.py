"""noise.json, noise.npz: jax_privacy 2.0.0's privatizers and streaming matrices.

  privatizers   {name, stddev, seed, leaves, updates}: three updates of the tree {a: (2), b: (2, 2)} with
                the gradients `leaves`; the results' leaves, one array per leaf with a first dimension
                of three
  keys          the words of the key in the state after each update of the first of them
  matrices      {name, coef..., products, rows}: products with `sequence`, and the leading 6 x 6 part in
                float64. What a name means is in tests/privacy/streaming_matrix_test.cc
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy import noise_addition
from jax_privacy.matrix_factorization import banded, buffered_toeplitz, streaming_matrix, toeplitz

import golden

golden.setup()
topic = golden.Topic('noise')
rng = np.random.default_rng(0)
N = 6

DIAG = [0.5, 2.0, -1.5]
RATES = [0.1, 0.2, 0.05]
COEF = [1.0, 0.5, 0.25, 0.125]
DECAY, SCALE = [0.9, 0.3], [0.4, 0.2]
PARAMS = np.float64([[1, .5, .25], [.9, .4, .3], [1.1, .6, .2], [1, .5, .1], [.8, .3, 0], [1.2, 0, 0]])
ROWS = np.tril(rng.normal(size=(N, N))).round(3)
GENERAL = rng.normal(size=(3, 5)).round(3)


def matrices(dtype):
  a = lambda x: jnp.asarray(x, dtype)
  blt = buffered_toeplitz.BufferedToeplitz(buf_decay=a(DECAY), output_scale=a(SCALE))
  prefix = streaming_matrix.prefix_sum()
  return {
      'identity': streaming_matrix.identity(),
      'prefix_sum': prefix,
      'diagonal': streaming_matrix.diagonal(a(DIAG)),
      'momentum': streaming_matrix.momentum_sgd_matrix(0.9, a(RATES)),
      'toeplitz_inverse': toeplitz.inverse_as_streaming_matrix(a(COEF)),
      'one_band': toeplitz.inverse_as_streaming_matrix(a([2.0])),
      'column_normalized': toeplitz.inverse_as_streaming_matrix(a(COEF), N),
      'banded_inverse': banded.ColumnNormalizedBanded(params=a(PARAMS)).inverse_as_streaming_matrix(),
      'buffered': blt.as_streaming_matrix(),
      'buffered_inverse': blt.inverse_as_streaming_matrix(),
      'product': prefix @ toeplitz.inverse_as_streaming_matrix(a(COEF)),
      'scaled': streaming_matrix.scale_rows_and_columns(prefix, a(DIAG), a(RATES)),
      'times': prefix * 3.0,
  }


gradients = {'a': np.float32(rng.normal(size=2)), 'b': np.float32(rng.normal(size=(2, 2)))}
keys = []


def updates(name, privatizer):
  state, out = privatizer.init(gradients), []
  for _ in range(3):
    noisy, state = privatizer.update(gradients, state)
    if name == 'gaussian':
      keys.append(np.asarray(jax.random.key_data(state[0])))
    out.append(jax.tree.leaves(noisy))
  return [topic.array(f'{name}_{i}', np.stack(leaf)) for i, leaf in enumerate(zip(*out))]


m = matrices(np.float32)
made = {name: noise_addition.matrix_factorization_privatizer(m[name], stddev=2.0, prng_key=0)
        for name in ['toeplitz_inverse', 'banded_inverse', 'buffered_inverse', 'product']}
made['gaussian'] = noise_addition.gaussian_privatizer(stddev=2.0, prng_key=0)
made['dense'] = noise_addition.matrix_factorization_privatizer(
    jnp.asarray(ROWS, np.float32), stddev=2.0, prng_key=0)
made['general'] = noise_addition.matrix_factorization_privatizer(
    jnp.asarray(GENERAL, np.float32), stddev=2.0, prng_key=0)
privatizers = [{'name': name, 'updates': updates(name, p)} for name, p in sorted(made.items())]

sequence = np.float32(rng.normal(size=(N, 3)))
products = {name: np.asarray(a @ jnp.asarray(sequence)) for name, a in m.items()}
jax.config.update('jax_enable_x64', True)
rows = {name: np.asarray(a.materialize(N)) for name, a in matrices(np.float64).items()}
topic.write({
    'dense_rows': topic.array('dense_rows', ROWS),
    'general_rows': topic.array('general_rows', GENERAL),
    'params': topic.array('params', PARAMS),
    'gradients': [topic.array(f'gradient_{k}', v) for k, v in gradients.items()],
    'privatizers': privatizers,
    'keys': topic.array('keys', np.stack(keys)),
    'sequence': topic.array('sequence', sequence),
    'matrices': [{'name': name, 'products': topic.array(f'products_{name}', products[name]),
                  'rows': topic.array(f'rows_{name}', rows[name])} for name in sorted(products)],
})
