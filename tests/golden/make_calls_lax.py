"""calls_lax.json, calls_lax.npz: calls of jax.lax, jax.nn, jax.image and jax.random, by the source file that has the
functions here.

"sections": {section: [case]} as golden.Calls makes them; <section>_test.cc of tests/numpy and tests/random makes the
same calls under the same names.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn, random

import golden

golden.setup()
rng = np.random.default_rng(37)
topic = golden.Calls('calls_lax')


def floats(*shape):
  return rng.uniform(-2, 2, shape)


A, B, V, K = floats(3, 5), floats(3, 5), floats(6), floats(2, 3, 4)
I = np.int32([[7, -3, 4, 4], [0, 9, -1, 7]])
IMAGE = floats(1, 2, 6, 5)

S = 'lax_shapes'
call = lambda *a, **k: topic.call(S, *a, **k)
call('broadcast', lambda x: lax.broadcast(x, (2, 1)), A)
call('broadcast_to_rank', lambda x: lax.broadcast_to_rank(x, 4), A)
call('broadcasted_iota', lambda: lax.broadcasted_iota(jnp.int32, (2, 3), 1))
call('collapse', lambda x: lax.collapse(x, 1, 3), K)
call('collapse_all', lambda x: lax.collapse(x, -2), K)
call('shape_as_value', lambda: lax.shape_as_value((3, 0, 5)))
call('sort_key_val', lambda x, y: lax.sort_key_val(x, y, dimension=0), A, B)
call('index_take', lambda x, i, j: lax.index_take(x, (i, j), (0, 2)), K, np.int32([0, 1, -1]), np.int32([3, 5, 0]))
call('mulhi', lambda x, y: (x.astype(np.int64) * y >> 32).astype(np.int32) if x.dtype == np.int64 else jnp.int32(
    (np.int64(I) * np.int64(I[::-1] * 123456789) >> 32)), I, I[::-1] * np.int32(123456789), traced=False)
call('reduce_xor', lambda x: lax.reduce_xor(x, (0,)), I)
call('approx_max_k', lambda x: lax.approx_max_k(x, 2), A)
call('approx_min_k', lambda x: lax.approx_min_k(x, 2, reduction_dimension=0), A)
DN = lax.ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
AT = np.int32([[1], [4], [1], [9]])
for name in ('add', 'sub', 'mul', 'min', 'max'):
  f = getattr(lax, f'scatter_{name}')
  call(f'scatter_{name}', lambda x, u, f=f, n=name: f(x, jnp.asarray(AT), u, DN, unique_indices=n == 'mul'), V,
       floats(4), gradient=name != 'mul')
call('scatter_apply', lambda x: lax.scatter_apply(x, jnp.int32([[1], [4]]), jnp.sin, DN, update_shape=(2,)), V,
     gradient=False)
call('patches', lambda x: lax.conv_general_dilated_patches(x, (2, 3), (1, 2), 'SAME'), IMAGE)
call('patches_layout', lambda x: lax.conv_general_dilated_patches(
    x, (2,), (1,), [(1, 0)], dimension_numbers=('NTC', 'OIT', 'NTC')), K)
call('local', lambda x, w: lax.conv_general_dilated_local(x, w, (1, 1), 'VALID', (2, 2)), IMAGE, floats(3, 8, 5, 4),
     tolerance=4)
call('ragged_dot', lambda x, w: lax.ragged_dot(x, w, jnp.int32([2, 0, 3])), floats(6, 4), floats(3, 4, 2), tolerance=4)
KEY = np.uint32([1, 2, 3, 4])
for algorithm in ('RNG_DEFAULT', 'RNG_THREE_FRY', 'RNG_PHILOX'):
  call(f'rng_bit_generator_{algorithm}',
       lambda k, a=algorithm: lax.rng_bit_generator(k, (3, 5), algorithm=getattr(lax.RandomAlgorithm, a)), KEY,
       gradient=False)
call('rng_bit_generator_8', lambda k: lax.rng_bit_generator(k, (7,), dtype=np.uint8), KEY)
call('lu_pivots_to_permutation', lambda p: lax.linalg.lu_pivots_to_permutation(p, 5), np.int32([[2, 4, 2], [0, 1, 4]]))
SPD = floats(4, 4)
SPD = SPD @ SPD.T + np.eye(4)
R = np.linalg.cholesky(SPD).T
call('cholesky_update', lax.linalg.cholesky_update, R, floats(4), tolerance=10, gradient=False)
call('symmetric_product', lambda a, c: lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5, symmetrize_output=True),
     floats(2, 3, 4), np.broadcast_to(np.eye(3), (2, 3, 3)), tolerance=4, gradient=False)
call('qdwh', lambda x: lax.linalg.qdwh(x)[:2], floats(5, 3), tolerance=40, gradient=False)

S = 'activations'
X = np.array([-3.0, -1.0, -0.2, 0.0, 0.4, 1.0, 2.5])
call('hard_swish', nn.hard_swish, X + 0.01)
call('squareplus', nn.squareplus, X)
call('squareplus_b', lambda x: nn.squareplus(x, 1.0), X)
call('sparse_plus', nn.sparse_plus, X + 0.01)
call('sparse_sigmoid', nn.sparse_sigmoid, X + 0.01)
call('log1mexp', nn.log1mexp, np.array([1e-6, 0.3, 0.7, 2.0, 30.0]))
call('logmeanexp', nn.logmeanexp, A)
call('logmeanexp_axis', lambda x: nn.logmeanexp(x, axis=1, keepdims=True), A)
call('logmeanexp_where', lambda x: nn.logmeanexp(x, axis=0, where=x > -1.5), A)

S = 'image'
for method in ('nearest', 'linear', 'cubic', 'lanczos3', 'lanczos5'):
  call(f'resize_{method}', lambda x, m=method: jax.image.resize(x, (1, 2, 9, 3), m), IMAGE, tolerance=10)
call('resize_sharp', lambda x: jax.image.resize(x, (1, 2, 3, 3), 'linear', antialias=False), IMAGE, tolerance=4)
call('resize_same', lambda x: jax.image.resize(x, (3, 5), 'cubic'), A)
call('scale_and_translate', lambda x, s, t: jax.image.scale_and_translate(x, (1, 2, 7, 4), (2, 3), s, t, 'cubic'),
     IMAGE, np.array([1.3, 0.6]), np.array([0.4, -0.7]), tolerance=20)

S = 'distributions'
WORDS = np.uint32([17, 4])


def sampler(name, function, *inputs, **k):
  call(name, lambda words, *a: function(random.wrap_key_data(words), *a), WORDS, *inputs, **k)


POSITIVE = np.array([0.3, 1.0, 2.5, 7.0])
sampler('ball', lambda k: random.ball(k, 3, shape=(4,)), tolerance=4)
sampler('ball_1', lambda k: random.ball(k, 2, p=1.0, shape=(3,)), tolerance=4)
sampler('chisquare', random.chisquare, POSITIVE, tolerance=4, gradient=False)
sampler('f', lambda k, a: random.f(k, a, 3.0), POSITIVE, tolerance=10, gradient=False)
sampler('t', random.t, POSITIVE, tolerance=10, gradient=False)
sampler('maxwell', lambda k: random.maxwell(k, (5,)), tolerance=4)
sampler('double_sided_maxwell', lambda k, s: random.double_sided_maxwell(k, 1.0, s, (2,)), POSITIVE, tolerance=4)
sampler('generalized_normal', lambda k: random.generalized_normal(k, 1.5, (5,)), tolerance=10)
sampler('geometric', lambda k, p: random.geometric(k, p, (3, 4)), np.array([0.1, 0.5, 0.9, 0.99]))
sampler('lognormal', lambda k, s: random.lognormal(k, s), POSITIVE, tolerance=20)
sampler('pareto', random.pareto, POSITIVE, tolerance=20)
sampler('rayleigh', lambda k, s: random.rayleigh(k, s, (3, 4)), POSITIVE, tolerance=4)
sampler('triangular', lambda k, m: random.triangular(k, -1.0, m, 8.0, (3, 4)), POSITIVE, tolerance=4)
sampler('wald', random.wald, POSITIVE, tolerance=40)
sampler('weibull_min', lambda k, c: random.weibull_min(k, 2.0, c, (3, 4)), POSITIVE, tolerance=10)
sampler('binomial', lambda k, p: random.binomial(k, 20.0, p, (3, 4)), np.array([0.1, 0.5, 0.9, 0.0]), gradient=False)
sampler('binomial_many', lambda k, n: random.binomial(k, n, 0.3, (3, 4)), np.array([5.0, 100.0, 1e4, 1e6]),
        gradient=False)
sampler('binomial_bad', lambda k, p: random.binomial(k, 5.0, p), np.array([-0.1, np.nan, 0.5]), gradient=False)
sampler('multinomial', lambda k, p: random.multinomial(k, 50.0, p), np.array([[0.2, 0.5, 0.3], [0.9, 0.0, 0.1]]),
        gradient=False)

topic.write()
