"""The functions of check_gradients.py: name -> (function, arguments). Small, smooth where they are differentiated.

Each family is a generator of (name, function, arguments); programs() puts them together under family/name.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

_rng = np.random.default_rng(0)


NARROW = ("float16", "bfloat16")


def inexact(x):
    return jnp.issubdtype(jnp.result_type(x), jnp.inexact)


def weighted_sum(results):
    """The sum that `tessera grad --seed 0` differentiates."""
    total = 0.0
    for r, y in enumerate(jax.tree.leaves(results)):
        if not inexact(y):
            continue
        y = jnp.real(jnp.asarray(y))
        wide = jnp.float32 if y.dtype.name in NARROW else y.dtype
        weights = jnp.cos(jnp.arange(y.size, dtype=wide) + r).astype(y.dtype)
        total = total + jnp.sum((weights.reshape(y.shape) * y).astype(wide))
    return total


def reference(flat, leaves, wrt):
    """That sum of what `flat` returns, and JAX's gradients by the leaves `wrt`: in forward mode where a while loop has no reverse one."""
    loss = lambda *x: weighted_sum(flat(*x))
    try:
        value, gradients = jax.jit(jax.value_and_grad(loss, wrt))(*leaves)
    except ValueError as error:
        if "Reverse-mode differentiation does not work for lax.while_loop" not in str(error):
            raise
        value, gradients = jax.jit(loss)(*leaves), jax.jit(jax.jacfwd(loss, wrt))(*leaves)
    return [np.asarray(value), *map(np.asarray, gradients)]


def normal(*shape):
    return _rng.standard_normal(shape)


def uniform(low, high, *shape):
    return _rng.uniform(low, high, shape)


def ints(high, *shape):
    return _rng.integers(0, high, shape, dtype=np.int32)


def unary():
    any_real = "sin cos tan tanh sinh cosh arctan arcsinh exp expm1 square abs sign cbrt negative sinc deg2rad rad2deg".split()
    for name in any_real:
        yield name, getattr(jnp, name), (normal(3, 4),)
    for name in "log log1p log2 log10 sqrt reciprocal".split():
        yield name, getattr(jnp, name), (uniform(0.3, 3, 3, 4),)
    for name in "arcsin arccos arctanh".split():
        yield name, getattr(jnp, name), (uniform(-0.9, 0.9, 3, 4),)
    yield "arccosh", jnp.arccosh, (uniform(1.2, 3, 5),)
    yield "exp2", jnp.exp2, (normal(5),)
    yield "rsqrt", lax.rsqrt, (uniform(0.3, 3, 5),)
    yield "logistic", lax.logistic, (normal(5),)
    yield "floor", jnp.floor, (normal(5) * 3,)
    yield "round", jnp.round, (normal(5) * 3,)
    yield "integer_pow_3", lambda x: x**3, (normal(5),)
    yield "integer_pow_-2", lambda x: x**-2, (uniform(0.5, 2, 5),)
    yield "erf", lax.erf, (normal(5),)
    yield "erfc", lax.erfc, (normal(5),)
    yield "erf_inv", lax.erf_inv, (uniform(-0.9, 0.9, 5),)
    yield "nan_to_num", jnp.nan_to_num, (normal(5),)
    yield "real_if_complex", lambda x: jnp.real(x + 1j * x**2), (normal(5),)
    yield "reduce_precision", lambda x: lax.reduce_precision(x, 8, 23) ** 2, (normal(5),)


def binary():
    a, b = normal(3, 4), uniform(0.5, 2, 3, 4)
    for name in "add subtract multiply divide maximum minimum hypot arctan2 logaddexp logaddexp2 copysign fmax fmin".split():
        yield name, getattr(jnp, name), (a, b)
    yield "power", jnp.power, (uniform(0.5, 2, 3, 4), normal(3, 4))
    yield "remainder", jnp.remainder, (a, b)
    yield "fmod", jnp.fmod, (a, b)
    yield "float_power", jnp.float_power, (uniform(0.5, 2, 5), normal(5))
    yield "xlogy", jax.scipy.special.xlogy, (uniform(0.5, 2, 5), uniform(0.5, 2, 5))
    yield "xlog1py", jax.scipy.special.xlog1py, (uniform(0.5, 2, 5), uniform(0.5, 2, 5))
    yield "broadcast_rows", lambda x, y: x * y[None, :], (normal(3, 4), normal(4))
    yield "broadcast_scalar", lambda x, y: x + y, (normal(3, 4), normal())
    yield "where", lambda x, y: jnp.where(x > 0.1, x * y, y), (a, b)
    yield "clip", lambda x: jnp.clip(x, -0.5, 0.5) * x, (normal(6),)
    yield "clamp_by_arrays", lambda lo, x, hi: lax.clamp(lo, x, hi), (normal(6) - 1, normal(6), normal(6) + 1)
    yield "heaviside", lambda x, y: x * jnp.heaviside(x, y), (normal(5), normal(5))
    yield "nextafter_free_mix", lambda x, y: jnp.sin(x) * y / (1 + x * x), (normal(5), normal(5))


def special():
    s = jax.scipy.special
    pos = uniform(0.6, 3, 5)
    for name in "gammaln digamma gamma entr i0 i0e i1 i1e ndtr log_ndtr expit".split():
        yield name, getattr(s, name), (pos,)
    yield "logit", s.logit, (uniform(0.1, 0.9, 5),)
    yield "ndtri", s.ndtri, (uniform(0.1, 0.9, 5),)
    yield "betaln", s.betaln, (pos, uniform(0.6, 3, 5))
    yield "zeta", lambda q: s.zeta(3.0, q), (pos,)
    yield "polygamma", lambda x: s.polygamma(1, x), (pos,)
    yield "gammainc", lambda x: s.gammainc(2.5, x), (pos,)
    yield "gammaincc", lambda x: s.gammaincc(2.5, x), (pos,)
    yield "betainc", lambda x: s.betainc(2.0, 3.0, x), (uniform(0.1, 0.9, 4),)
    yield "multigammaln", lambda x: s.multigammaln(x + 3, 2), (pos,)
    yield "kl_div", s.kl_div, (pos, uniform(0.6, 3, 5))
    yield "rel_entr", s.rel_entr, (pos, uniform(0.6, 3, 5))
    yield "logsumexp", s.logsumexp, (normal(3, 4),)
    yield "logsumexp_weighted", lambda x, b: s.logsumexp(x, axis=1, b=b), (normal(3, 4), uniform(0.5, 1, 3, 4))
    yield "spence", s.spence, (pos,)
    yield "expi", s.expi, (pos,)
    yield "norm_logpdf", jax.scipy.stats.norm.logpdf, (normal(5), normal(5), pos)
    yield "norm_cdf", jax.scipy.stats.norm.cdf, (normal(5),)
    yield "gamma_logpdf", lambda x, a: jax.scipy.stats.gamma.logpdf(x, a), (pos, uniform(1, 3, 5))
    yield "beta_logpdf", lambda x: jax.scipy.stats.beta.logpdf(x, 2.0, 3.0), (uniform(0.1, 0.9, 5),)
    yield "t_logpdf", lambda x: jax.scipy.stats.t.logpdf(x, 4.0), (normal(5),)
    yield "dirichlet_like", lambda x: jnp.sum((x - 1) * jnp.log(x)) - jnp.sum(s.gammaln(x)) + s.gammaln(jnp.sum(x)), (pos,)


def reductions():
    x = normal(3, 4, 5)
    for name in "sum mean prod max min var std nansum nanmean nanmax ptp".split():
        yield name, lambda x, f=getattr(jnp, name): f(x, axis=1), (x,)
    yield "sum_all", lambda x: jnp.sum(x), (x,)
    yield "max_all", lambda x: jnp.max(x), (x,)
    yield "max_of_ties", lambda x: jnp.max(jnp.stack([x, x, x - 1]), axis=0), (normal(4),)
    yield "min_of_ties", lambda x: jnp.min(jnp.stack([x, x + 1, x]), axis=0), (normal(4),)
    yield "prod_with_zero", lambda x: jnp.prod(x * jnp.array([1.0, 0.0, 2.0, 1.0])), (normal(4),)
    yield "prod_with_zeros", lambda x: jnp.prod(x * jnp.array([1.0, 0.0, 0.0, 1.0])), (normal(4),)
    yield "median", lambda x: jnp.median(x, axis=1), (normal(3, 5),)
    yield "quantile", lambda x: jnp.quantile(x, 0.3, axis=0), (normal(6, 2),)
    yield "percentile", lambda x: jnp.percentile(x, jnp.array([20.0, 70.0]), axis=0), (normal(6, 2),)
    yield "average_weighted", lambda x, w: jnp.average(x, axis=0, weights=w), (normal(4, 3), uniform(0.5, 1, 4))
    for name in "cumsum cumprod".split():
        yield name, lambda x, f=getattr(jnp, name): f(x, axis=1), (x,)
        yield name + "_reverse", lambda x, f=getattr(lax, name): f(x, axis=1, reverse=True), (x,)
    for name in "cummax cummin cumlogsumexp".split():
        yield name, lambda x, f=getattr(lax, name): f(x, axis=1), (x,)
        yield name + "_reverse", lambda x, f=getattr(lax, name): f(x, axis=0, reverse=True), (x,)
    yield "norm", lambda x: jnp.sqrt(jnp.sum(x * x, axis=-1)), (x,)
    yield "norm_1", lambda x: jnp.sum(jnp.abs(x)), (x,)
    yield "linalg_norm_fro", lambda x: jnp.linalg.norm(x), (normal(3, 4),)
    yield "linalg_norm_inf", lambda x: jnp.linalg.norm(x, ord=jnp.inf, axis=1), (normal(3, 4),)
    yield "trace", jnp.trace, (normal(4, 4),)
    yield "corrcoef", jnp.corrcoef, (normal(3, 6),)
    yield "cov", jnp.cov, (normal(3, 6),)
    yield "trapezoid", jnp.trapezoid, (normal(7),)
    yield "reduce_window_sum", lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "VALID"), (normal(4, 5),)
    yield "reduce_window_max", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "SAME"), (normal(5, 5),)
    yield "reduce_window_min_strided", lambda x: lax.reduce_window(x, jnp.inf, lax.min, (3,), (2,), ((1, 1),)), (normal(7),)
    yield "logsumexp_keepdims", lambda x: x - jax.nn.logsumexp(x, axis=-1, keepdims=True), (x,)


def structure():
    x = normal(3, 4)
    yield "reshape", lambda x: jnp.reshape(x, (2, 6)) ** 2, (x,)
    yield "transpose", lambda x: jnp.transpose(x, (2, 0, 1)) ** 2, (normal(2, 3, 4),)
    yield "swapaxes", lambda x: jnp.swapaxes(x, 0, 1) ** 2, (x,)
    yield "flip", lambda x: jnp.flip(x, 1) * x, (x,)
    yield "roll", lambda x: jnp.roll(x, 2, 1) * x, (x,)
    yield "roll_2d", lambda x: jnp.roll(x, (1, 2), (0, 1)) * x, (x,)
    yield "rot90", lambda x: jnp.rot90(x) ** 2, (x,)
    yield "concatenate", lambda x, y: jnp.concatenate([x, y, x], 0) ** 2, (x, normal(2, 4))
    yield "stack", lambda x, y: jnp.stack([x, y * x], 1) ** 2, (x, normal(3, 4))
    yield "split", lambda x: [p * (i + 1) for i, p in enumerate(jnp.split(x, 2, 1))], (x,)
    yield "tile", lambda x: jnp.tile(x, (2, 3)) ** 2, (x,)
    yield "repeat", lambda x: jnp.repeat(x, 3, axis=1) ** 2, (x,)
    yield "repeat_counts", lambda x: jnp.repeat(x, np.array([1, 0, 2, 3]), axis=1) ** 2, (x,)
    yield "broadcast_to", lambda x: jnp.broadcast_to(x, (5, 3, 4)) ** 2, (x,)
    yield "expand_squeeze", lambda x: jnp.squeeze(x[:, None, :, None], 1) ** 2, (x,)
    for mode in ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "mean"]:
        yield f"pad_{mode}", lambda x, m=mode: jnp.pad(x, ((1, 2), (2, 1)), mode=m) ** 2, (x,)
    yield "pad_interior", lambda x, v: lax.pad(x, v, ((1, -1, 2), (0, 1, 1))) ** 2, (x, normal())
    yield "slice", lambda x: x[1:, ::2] ** 2, (x,)
    yield "slice_negative_stride", lambda x: x[::-1, 3:0:-2] ** 2, (x,)
    yield "diag", lambda x: jnp.diag(x) ** 2, (normal(4),)
    yield "diagonal", lambda x: jnp.diagonal(x, 1) ** 2, (normal(4, 5),)
    yield "tril", lambda x: jnp.tril(x, -1) ** 2, (normal(4, 4),)
    yield "triu", lambda x: jnp.triu(x) @ x, (normal(4, 4),)
    yield "kron", jnp.kron, (normal(2, 2), normal(3, 2))
    yield "outer", jnp.outer, (normal(3), normal(4))
    yield "meshgrid", lambda x, y: jnp.multiply(*jnp.meshgrid(x, y)) ** 2, (normal(3), normal(4))
    yield "diff", lambda x: jnp.diff(x, n=2) ** 2, (x,)
    yield "gradient", lambda x: jnp.gradient(x, axis=1) ** 2, (normal(3, 5),)
    yield "interp", lambda x, fp: jnp.interp(x, jnp.arange(5.0), fp) ** 2, (uniform(0.1, 3.9, 6), normal(5))
    yield "convolve", jnp.convolve, (normal(7), normal(3))
    yield "correlate", lambda a, b: jnp.correlate(a, b, mode="same"), (normal(7), normal(3))
    yield "polyval", jnp.polyval, (normal(4), normal(5))
    yield "vander", lambda x: jnp.vander(x, 4), (normal(3),)
    yield "unstack", lambda x: sum(i * p**2 for i, p in enumerate(jnp.unstack(x))), (x,)
    yield "dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, np.int32(1)), (2, 2)) ** 2, (normal(5, 4), np.int32(2))
    yield "dynamic_slice_clamped", lambda x, i: lax.dynamic_slice(x, (i, np.int32(1)), (2, 2)) ** 2, (normal(5, 4), np.int32(9))
    yield "dynamic_update_slice", lambda x, u, i: lax.dynamic_update_slice(x, u, (i, np.int32(1))) ** 2, (normal(5, 4), normal(2, 2), np.int32(2))
    yield "tri_products", lambda x: jnp.cross(x, x[::-1]), (normal(4, 3),)


def products():
    yield "dot", jnp.dot, (normal(3, 4), normal(4, 5))
    yield "vecdot", jnp.dot, (normal(4), normal(4))
    yield "matvec", jnp.matmul, (normal(3, 4), normal(4))
    yield "batched_matmul", jnp.matmul, (normal(2, 3, 4), normal(2, 4, 5))
    yield "broadcast_matmul", jnp.matmul, (normal(2, 1, 3, 4), normal(5, 4, 2))
    yield "tensordot", lambda a, b: jnp.tensordot(a, b, ((0, 2), (1, 0))), (normal(2, 3, 4), normal(4, 2, 5))
    yield "inner", jnp.inner, (normal(3, 4), normal(2, 4))
    for spec, shapes in {
        "ij,jk->ki": [(2, 3), (3, 4)], "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "ijk->kj": [(2, 3, 4)],
        "ii->i": [(4, 4)], "ii": [(4, 4)], "i,j,k->kij": [(2,), (3,), (4,)], "bhqd,bhkd->bhqk": [(2, 2, 3, 4), (2, 2, 5, 4)],
        "abc,cd,de->abe": [(2, 3, 4), (4, 3), (3, 2)], "ij,ij->": [(3, 4), (3, 4)], "aij,ajk->aik": [(3, 2, 2), (3, 2, 2)],
    }.items():
        yield "einsum " + spec, functools.partial(jnp.einsum, spec), tuple(normal(*s) for s in shapes)
    yield "dot_general_two_batch", lambda a, b: lax.dot_general(a, b, (((3,), (2,)), ((0, 2), (0, 1)))), (normal(2, 3, 4, 5), normal(2, 4, 5, 6))
    yield "multi_dot", lambda *m: jnp.linalg.multi_dot(m), (normal(2, 3), normal(3, 4), normal(4, 2))
    yield "matrix_power", lambda x: jnp.linalg.matrix_power(x, 3), (normal(3, 3),)
    yield "dot_preferred_f32", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float64), (normal(3, 4).astype(np.float32), normal(4, 2).astype(np.float32))
    yield "quadratic_form", lambda a, x: x @ (a @ x), (normal(4, 4), normal(4))


def convolutions():
    x, k = normal(2, 3, 8, 8), normal(4, 3, 3, 3)
    conv = lax.conv_general_dilated
    for padding in ["VALID", "SAME"]:
        for stride in [1, 2]:
            yield f"2d_{padding}_{stride}", lambda x, k, p=padding, s=stride: conv(x, k, (s, s), p), (x, k)
    yield "2d_padded", lambda x, k: conv(x, k, (2, 1), ((2, 1), (0, 3))), (x, k)
    yield "2d_rhs_dilated", lambda x, k: conv(x, k, (1, 1), "VALID", rhs_dilation=(2, 2)), (x, k)
    yield "2d_lhs_dilated", lambda x, k: conv(x, k, (1, 1), ((2, 2), (2, 2)), lhs_dilation=(2, 2)), (normal(1, 3, 4, 4), k)
    yield "2d_grouped", lambda x, k: conv(x, k, (1, 1), "SAME", feature_group_count=3), (x, normal(6, 1, 3, 3))
    yield "2d_batch_grouped", lambda x, k: conv(x, k, (1, 1), "SAME", batch_group_count=2), (x, normal(4, 3, 3, 3))
    yield "2d_nhwc", lambda x, k: conv(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), (normal(2, 6, 6, 3), normal(3, 3, 3, 4))
    yield "1d", lambda x, k: conv(x, k, (1,), "SAME"), (normal(2, 3, 9), normal(4, 3, 3))
    yield "1d_strided_dilated", lambda x, k: conv(x, k, (2,), ((1, 2),), rhs_dilation=(2,)), (normal(2, 3, 11), normal(4, 3, 3))
    yield "3d", lambda x, k: conv(x, k, (1, 1, 1), "VALID"), (normal(1, 2, 4, 4, 4), normal(3, 2, 2, 2, 2))
    yield "transpose", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), (normal(1, 4, 4, 3), normal(3, 3, 3, 2))
    yield "transpose_valid", lambda x, k: lax.conv_transpose(x, k, (2,), "VALID"), (normal(1, 5, 3), normal(3, 3, 2))
    yield "depthwise_separable", lambda x, d, p: conv(conv(x, d, (1, 1), "SAME", feature_group_count=3), p, (1, 1), "VALID"), (x, normal(3, 1, 3, 3), normal(5, 3, 1, 1))
    yield "max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), (x,)
    yield "max_pool_overlapping", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME"), (x,)
    yield "avg_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "SAME") / 4, (x,)
    yield "patches", lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID") ** 2, (normal(1, 2, 4, 4),)


def indexing():
    x, i = normal(6, 4), np.array([3, 0, 5, 3], np.int32)
    yield "take", lambda x, i: jnp.take(x, i, axis=0) ** 2, (x, i)
    yield "take_axis_1", lambda x, i: jnp.take(x, i, axis=1) ** 2, (x, ints(4, 2, 3))
    for mode in ["clip", "wrap", "fill"]:
        yield f"take_{mode}", lambda x, i, m=mode: jnp.take(x, i, axis=0, mode=m, fill_value=0.0) ** 2, (x, np.array([7, -2, 3], np.int32))
    yield "gather_rows", lambda x, i: x[i] ** 2, (x, i)
    yield "gather_negative", lambda x, i: x[i] ** 2, (x, np.array([-1, -6, 2], np.int32))
    yield "gather_points", lambda x, i, j: x[i, j] ** 2, (x, ints(6, 5), ints(4, 5))
    yield "gather_mixed", lambda x, i: x[i, 1:3] ** 2, (x, i)
    yield "gather_outer", lambda x, i, j: x[i[:, None], j] ** 2, (x, i, ints(4, 3))
    yield "gather_3d", lambda x, i, j: x[:, i, j] ** 2, (normal(2, 3, 4), ints(3, 5), ints(4, 5))
    yield "take_along_axis", lambda x, i: jnp.take_along_axis(x, i, 1) ** 2, (x, ints(4, 6, 2))
    yield "mask", lambda x: jnp.where(x > 0, x, 0.0) ** 2, (x,)
    yield "index_scalar", lambda x, i: x[i] ** 2, (x, np.int32(4))
    yield "at_set", lambda x, v, i: (x.at[i].set(v)) ** 2, (x, normal(3, 4), np.array([1, 4, 0], np.int32))
    yield "at_set_slice", lambda x, v: (x.at[1:3].set(v)) ** 2, (x, normal(2, 4))
    yield "at_add", lambda x, v, i: (x.at[i].add(v)) ** 2, (x, normal(4, 4), i)
    yield "at_add_points", lambda x, v, i, j: (x.at[i, j].add(v)) ** 2, (x, normal(5), ints(6, 5), ints(4, 5))
    yield "at_multiply", lambda x, v, i: x.at[i].multiply(v, unique_indices=True), (x, normal(3, 4), np.array([1, 4, 0], np.int32))
    yield "at_max", lambda x, v, i: (x.at[i].max(v)) ** 2, (x, normal(3, 4), np.array([1, 4, 0], np.int32))
    yield "at_min", lambda x, v, i: (x.at[i].min(v)) ** 2, (x, normal(3, 4), np.array([1, 4, 0], np.int32))
    yield "at_get_fill", lambda x, i: x.at[i].get(mode="fill", fill_value=0.0) ** 2, (x, np.array([2, 9], np.int32))
    yield "at_set_drop", lambda x, v, i: (x.at[i].set(v, mode="drop")) ** 2, (x, normal(2, 4), np.array([2, 9], np.int32))
    yield "segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 3) ** 2, (normal(7, 2), ints(3, 7))
    yield "segment_max", lambda x, i: jax.ops.segment_max(x, i, 3), (normal(9, 2), np.arange(9, dtype=np.int32) % 3)
    yield "one_hot_embedding", lambda t, i: jax.nn.one_hot(i, 6, dtype=t.dtype) @ t, (x, i)
    yield "embedding_sum", lambda t, i: jnp.sum(t[i], axis=1) ** 2, (x, ints(6, 3, 4))
    yield "nd_gather_vmapped", lambda x, i: jax.vmap(lambda a, k: a[k])(x, i) ** 2, (normal(3, 5, 2), ints(5, 3, 4))
    yield "scatter_add_vmapped", lambda x, v, i: jax.vmap(lambda a, b, k: a.at[k].add(b))(x, v, i) ** 2, (normal(3, 5), normal(3, 4), ints(5, 3, 4))
    yield "choose", lambda x, i: jnp.choose(i, [x, x**2, x**3], mode="clip"), (normal(5), ints(3, 5))
    yield "select_n", lambda i, a, b, c: lax.select_n(i, a, b**2, c * a), (ints(3, 5), normal(5), normal(5), normal(5))
    yield "put_along_axis", lambda x, v, i: jnp.put_along_axis(x, i, v, 1, inplace=False) ** 2, (x, normal(6, 1), ints(4, 6, 1))
    yield "permute", lambda x, i: x[i] * x, (normal(6), np.array([2, 0, 5, 1, 4, 3], np.int32))
    yield "fill_diagonal", lambda x, v: jnp.fill_diagonal(x, v, inplace=False) ** 2, (normal(4, 4), normal())


def sorting():
    x = normal(4, 7)
    yield "sort", lambda x: jnp.sort(x, axis=1) ** 2, (x,)
    yield "sort_descending", lambda x: jnp.sort(x, axis=0, descending=True) ** 2, (x,)
    yield "sort_two", lambda k, v: lax.sort((k, v), num_keys=1), (x, normal(4, 7))
    yield "argsort_take", lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1) * x, (x,)
    yield "top_k", lambda x: lax.top_k(x, 3)[0] ** 2, (x,)
    yield "top_k_masked_softmax", lambda x: jax.nn.softmax(jnp.where(x >= lax.top_k(x, 3)[0][:, -1:], x, -jnp.inf)), (x,)
    yield "argmax_take", lambda x: jnp.take_along_axis(x, jnp.argmax(x, 1)[:, None], 1) ** 2, (x,)
    yield "nanmedian", lambda x: jnp.nanmedian(x, axis=1), (x,)
    yield "sorted_loss", lambda x, y: jnp.mean(jnp.abs(jnp.sort(x, 1) - jnp.sort(y, 1))), (x, normal(4, 7))
    yield "partition", lambda x: jnp.partition(x, 3, axis=1)[:, :3] ** 2, (x,)
    yield "unique_counts_free", lambda x: jnp.sort(jnp.ravel(x))[::3], (x,)


def fourier():
    f = jnp.fft
    yield "fft", lambda x: jnp.abs(f.fft(x)) ** 2, (normal(3, 8),)
    yield "ifft", lambda x: jnp.real(f.ifft(x + 1j * x**2)), (normal(3, 6),)
    yield "rfft", lambda x: jnp.abs(f.rfft(x)), (normal(3, 8),)
    yield "rfft_odd", lambda x: jnp.abs(f.rfft(x)) ** 2, (normal(3, 7),)
    yield "irfft", lambda a, b: f.irfft(lax.complex(a, b)) ** 2, (normal(2, 5), normal(2, 5))
    yield "irfft_odd", lambda a, b: f.irfft(lax.complex(a, b), n=7) ** 2, (normal(2, 4), normal(2, 4))
    yield "fft2", lambda x: jnp.abs(f.fft2(x)) ** 2, (normal(4, 6),)
    yield "rfft2", lambda x: jnp.real(f.rfft2(x)) * 2, (normal(4, 6),)
    yield "fftn", lambda x: jnp.real(f.fftn(x)) ** 2, (normal(2, 3, 4),)
    yield "irfftn", lambda x: f.irfftn(f.rfftn(x) * 2), (normal(2, 3, 4),)
    yield "fftshift", lambda x: jnp.real(f.fftshift(f.fft(x))) ** 2, (normal(8),)
    yield "circular_convolution", lambda x, y: f.irfft(f.rfft(x) * f.rfft(y), n=8), (normal(8), normal(8))
    yield "spectral_filter", lambda x, h: f.irfft2(f.rfft2(x) * h, s=(4, 6)), (normal(4, 6), normal(4, 4))
    yield "hilbert", lambda x: jnp.abs(f.ifft(f.fft(x) * jnp.array([1, 2, 2, 2, 1, 0, 0, 0]))), (normal(8),)
    yield "power_spectrum", lambda x: jnp.log(jnp.abs(f.rfft(x)) ** 2 + 1), (normal(2, 16),)


def loops():
    x = normal(5, 3)
    yield "scan", lambda c, xs: lax.scan(lambda c, x: (jnp.tanh(c + x), c * x), c, xs), (normal(3), x)
    yield "scan_reverse", lambda c, xs: lax.scan(lambda c, x: (jnp.tanh(c + x), c * x), c, xs, reverse=True), (normal(3), x)
    yield "scan_unroll_2", lambda c, xs: lax.scan(lambda c, x: (jnp.sin(c) * x, c), c, xs, unroll=2), (normal(3), x)
    yield "scan_unroll_uneven", lambda c, xs: lax.scan(lambda c, x: (jnp.sin(c) * x, c), c, xs, unroll=3), (normal(3), x)
    yield "scan_no_xs", lambda c: lax.scan(lambda c, _: (jnp.sin(c), c), c, None, length=6), (normal(3),)
    yield "scan_constants", lambda w, c, xs: lax.scan(lambda c, x: (jnp.tanh(w @ c + x), c.sum()), c, xs), (normal(3, 3), normal(3), x)
    yield "scan_tree", lambda c, xs: lax.scan(lambda c, x: ({"a": c["a"] * x[0], "b": c["b"] + x[1]}, c["a"] - c["b"]), c, xs), ({"a": normal(3), "b": normal(3)}, (x, normal(5, 3)))
    yield "scan_nested", lambda c, xs: lax.scan(lambda c, x: (lax.scan(lambda d, y: (jnp.sin(d + y), d), c, x)[0], c), c, xs), (normal(), normal(4, 3))
    yield "scan_nested_ys", lambda c, xs: lax.scan(lambda c, x: lax.scan(lambda d, y: (jnp.sin(d + y), d * y), c, x), c, xs), (normal(), normal(4, 3))
    yield "scan_integer_carry", lambda c, xs: lax.scan(lambda s, x: ((s[0] + 1, s[1] * x / (1 + s[0])), s[1]), (0, c), xs)[1], (normal(3), x)
    yield "scan_of_dots", lambda h, w: lax.scan(lambda h, w: (jnp.tanh(h @ w), None), h, w)[0], (normal(2, 4), normal(6, 4, 4))
    yield "scan_checkpoint", lambda h, w: lax.scan(jax.checkpoint(lambda h, w: (jnp.tanh(h @ w), None)), h, w)[0], (normal(2, 4), normal(6, 4, 4))
    yield "scan_length_1", lambda c, xs: lax.scan(lambda c, x: (c * x, c + x), c, xs), (normal(3), normal(1, 3))
    yield "scan_length_0", lambda c, xs: lax.scan(lambda c, x: (c * x, c + x), c, xs)[0] ** 2, (normal(3), normal(0, 3))
    yield "scan_with_cond", lambda c, xs: lax.scan(lambda c, x: (lax.cond(x > 0, lambda c: c * x, lambda c: jnp.sin(c), c), c), c, xs), (normal(), normal(6))
    yield "scan_reading_index", lambda c, xs: lax.scan(lambda c, i: (c * xs[i], c + xs[-1]), c, jnp.arange(5)), (normal(3), x)
    yield "scan_big_constants", lambda c, t, i: lax.scan(lambda c, k: (jnp.tanh(c + t[k]), None), c, i)[0], (normal(3), normal(7, 3), ints(7, 5))
    yield "fori_loop", lambda x: lax.fori_loop(0, 6, lambda i, c: jnp.sin(c) + i * c, x), (normal(3),)
    yield "fori_loop_offset", lambda x: lax.fori_loop(3, 9, lambda i, c: c + jnp.cos(c * i), x), (normal(3),)
    yield "fori_loop_negative", lambda x: lax.fori_loop(-3, 2, lambda i, c: c + jnp.cos(c * i), x), (normal(3),)
    yield "fori_loop_reads", lambda c, xs: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * xs[i], c), (normal(3), x)
    yield "fori_loop_reads_backwards", lambda c, xs: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * xs[4 - i], c), (normal(3), x)
    yield "fori_loop_reads_neighbours", lambda c, xs: lax.fori_loop(1, 4, lambda i, c: jnp.sin(c) * (xs[i - 1] - 2 * xs[i] + xs[i + 1]), c), (normal(3), x)
    yield "fori_loop_strided", lambda c, xs: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * xs[2 * i], c), (normal(3), x)
    yield "fori_loop_blocks", lambda c, xs: lax.fori_loop(0, 3, lambda i, c: c + jnp.sin(lax.dynamic_slice_in_dim(xs, 2 * i, 2)).sum(0) * c, c), (normal(3), normal(6, 3))
    yield "fori_loop_past_the_end", lambda c, xs: lax.fori_loop(0, 7, lambda i, c: jnp.sin(c) * lax.dynamic_index_in_dim(xs, i, keepdims=False), c), (normal(3), x)
    yield "fori_loop_writes", lambda x: lax.fori_loop(0, 5, lambda i, a: a.at[i].set(jnp.sin(a[i]) * 2), x), (x,)
    yield "fori_loop_writes_next", lambda x: lax.fori_loop(1, 5, lambda i, a: a.at[i].set(jnp.sin(a[i - 1]) * a[i]), x), (x,)
    yield "fori_loop_fills", lambda c: lax.fori_loop(0, 5, lambda i, s: (jnp.sin(s[0]), lax.dynamic_update_index_in_dim(s[1], s[0] * i, i, 0)), (c, jnp.zeros((5, 3)))), (normal(3),)
    yield "fori_loop_fills_part", lambda c, a: lax.fori_loop(1, 4, lambda i, s: (jnp.sin(s[0]), lax.dynamic_update_index_in_dim(s[1], s[0] * i, i, 0)), (c, a)), (normal(3), x)
    yield "fori_loop_fills_twice", lambda c, a: lax.fori_loop(0, 6, lambda i, s: (jnp.sin(s[0]), lax.dynamic_update_index_in_dim(s[1], s[0] * i, i // 2, 0)), (c, a)), (normal(3), x)
    yield "while_counted", lambda x: lax.while_loop(lambda s: s[0] < 7, lambda s: (s[0] + 2, jnp.sin(s[1]) * s[0]), (0, x))[1], (normal(3),)
    yield "while_down", lambda x: lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, jnp.sin(s[1]) * s[0]), (5, x))[1], (normal(3),)
    yield "while_not_equal", lambda x: lax.while_loop(lambda s: s[0] != 6, lambda s: (s[0] + 3, jnp.cos(s[1])), (0, x))[1], (normal(3),)
    yield "while_at_least", lambda x: lax.while_loop(lambda s: 4 >= s[0], lambda s: (s[0] + 1, jnp.cos(s[1])), (np.int32(1), x))[1], (normal(3),)
    yield "while_uint8", lambda x: lax.while_loop(lambda s: s[0] < 200, lambda s: (s[0] + np.uint8(50), jnp.cos(s[1])), (np.uint8(0), x))[1], (normal(3),)
    yield "while_zero_trips", lambda x: lax.while_loop(lambda s: s[0] < 0, lambda s: (s[0] + 1, jnp.cos(s[1])), (3, x))[1] ** 2, (normal(3),)
    yield "map", lambda x: lax.map(lambda r: jnp.sin(r) * r.sum(), x), (x,)
    yield "map_batched", lambda x: lax.map(lambda r: jnp.sin(r) * r.sum(), x, batch_size=2), (x,)
    yield "cond_true", lambda p, x: lax.cond(p, lambda x: jnp.sin(x), lambda x: x**2, x), (np.bool_(True), normal(3))
    yield "cond_false", lambda p, x: lax.cond(p, lambda x: jnp.sin(x), lambda x: x**2, x), (np.bool_(False), normal(3))
    yield "cond_on_value", lambda x, y: lax.cond(x.sum() > 0, lambda x, y: x * y, lambda x, y: x - y, x, y), (normal(3), normal(3))
    for i in range(3):
        yield f"switch_{i}", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x**3], x), (np.int32(i), normal(3))
    yield "cond_of_scan", lambda p, c, xs: lax.cond(p, lambda c, xs: lax.scan(lambda c, x: (c * x, c), c, xs)[1], lambda c, xs: xs * c, c, xs), (np.bool_(True), normal(3), x)
    yield "associative_scan", lambda x: lax.associative_scan(lambda a, b: a * b + jnp.sin(b) * 0, x), (x,)
    yield "associative_scan_affine", lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b)), (normal(7, 2), normal(7, 2))
    yield "associative_scan_reverse", lambda x: lax.associative_scan(jnp.maximum, x, reverse=True), (x,)
    yield "scan_vmapped", lambda c, xs: jax.vmap(lambda c, xs: lax.scan(lambda c, x: (jnp.tanh(c + x), c), c, xs))(c, xs), (normal(4), normal(4, 6))
    yield "fori_vmapped", lambda x: jax.vmap(lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.sin(c) * (i + 1), x))(x), (normal(4, 2),)
    yield "newton_sqrt", lambda x: lax.fori_loop(0, 8, lambda i, y: 0.5 * (y + x / y), x), (uniform(1, 4, 3),)
    yield "euler_ode", lambda y, w: lax.scan(lambda y, t: (y + 0.1 * jnp.tanh(w @ y) * jnp.cos(t), y), y, jnp.linspace(0, 1, 8)), (normal(3), normal(3, 3))
    yield "rk4_ode", lambda y, k: lax.fori_loop(0, 5, lambda i, y: _rk4(lambda v: jnp.array([v[1], -k * v[0]]), y, 0.1), y), (normal(2), uniform(1, 2))
    yield "power_iteration", lambda a: lax.fori_loop(0, 6, lambda i, v: (a @ v) / jnp.sqrt(jnp.sum((a @ v) ** 2)), jnp.ones(3)), (normal(3, 3),)
    yield "kalman", _kalman, (normal(6), uniform(0.5, 1), uniform(0.5, 1))
    yield "viterbi_like", lambda t, e: lax.scan(lambda a, o: (jax.nn.logsumexp(a[:, None] + t, axis=0) + o, None), e[0], e[1:])[0], (normal(4, 4), normal(6, 4))
    yield "ctc_like_dp", lambda x: lax.fori_loop(1, 5, lambda i, d: d.at[i].set(jnp.minimum(d[i - 1], d[i]) + x[i]), x), (x,)


def _rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))


def _kalman(z, q, r):
    def step(s, z):
        m, p = s
        p = p + q
        k = p / (p + r)
        m = m + k * (z - m)
        return (m, (1 - k) * p), m

    return lax.scan(step, (jnp.zeros(()), jnp.ones(())), z)[1]


def activations():
    for name in ("relu relu6 sigmoid softplus sparse_plus sparse_sigmoid soft_sign silu log_sigmoid leaky_relu hard_sigmoid hard_silu hard_tanh "
                 "elu celu selu gelu squareplus mish glu softmax log_softmax logsumexp standardize").split():
        if hasattr(jax.nn, name):
            yield name, getattr(jax.nn, name), (normal(3, 6) * 2,)
    yield "gelu_exact", lambda x: jax.nn.gelu(x, approximate=False), (normal(5),)
    yield "swish_gate", lambda x, g: jax.nn.silu(g) * x, (normal(5), normal(5))
    yield "softmax_where", lambda x: jax.nn.softmax(x, where=x > -1.0), (normal(3, 6),)
    yield "softmax_axis_0", lambda x: jax.nn.softmax(x, axis=0), (normal(3, 6),)
    yield "cross_entropy", lambda x, y: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1)), (normal(4, 5), ints(5, 4))
    yield "log1mexp", lambda x: jax.nn.log1mexp(x) if hasattr(jax.nn, "log1mexp") else jnp.log(-jnp.expm1(-x)), (uniform(0.3, 2, 4),)
    yield "dot_product_attention", lambda q, k, v: jax.nn.dot_product_attention(q, k, v), (normal(2, 5, 2, 4), normal(2, 6, 2, 4), normal(2, 6, 2, 4))
    yield "dot_product_attention_causal", lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), (normal(2, 5, 2, 4), normal(2, 5, 2, 4), normal(2, 5, 2, 4))
    yield "dot_product_attention_grouped", lambda q, k, v: jax.nn.dot_product_attention(q, k, v), (normal(1, 4, 4, 4), normal(1, 4, 2, 4), normal(1, 4, 2, 4))
    yield "dot_product_attention_bias", lambda q, k, v, b: jax.nn.dot_product_attention(q, k, v, bias=b), (normal(1, 4, 2, 4), normal(1, 4, 2, 4), normal(1, 4, 2, 4), normal(1, 2, 4, 4))


def _layer_norm(x, g, b):
    m = x.mean(-1, keepdims=True)
    return (x - m) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def _attention(p, x, heads=2):
    t, d = x.shape
    q, k, v = (jnp.reshape(x @ p[n], (t, heads, d // heads)) for n in "qkv")
    s = jnp.einsum("qhd,khd->hqk", q, k) / np.sqrt(d // heads)
    s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -1e9)
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(s), v).reshape(t, d) @ p["o"]


def _block(p, x):
    x = x + _attention(p, _layer_norm(x, p["g1"], p["b1"]))
    return x + jax.nn.gelu(_layer_norm(x, p["g2"], p["b2"]) @ p["w1"]) @ p["w2"]


def _block_params(d, *lead):
    p = {n: normal(*lead, d, d) / 2 for n in "qkvo"}
    p |= {n: uniform(0.8, 1.2, *lead, d) for n in ["g1", "g2"]} | {n: normal(*lead, d) / 5 for n in ["b1", "b2"]}
    return p | {"w1": normal(*lead, d, 2 * d) / 2, "w2": normal(*lead, 2 * d, d) / 2}


def _flash(q, k, v, block):
    def step(i, s):
        m, l, o = s
        kb, vb = (lax.dynamic_slice_in_dim(a, i * block, block) for a in (k, v))
        x = q @ kb.T
        n = jnp.maximum(m, x.max(-1))
        e, c = jnp.exp(x - n[:, None]), jnp.exp(m - n)
        return n, l * c + e.sum(-1), o * c[:, None] + e @ vb

    m, l, o = lax.fori_loop(0, k.shape[0] // block, step, (jnp.full(q.shape[0], -1e30), jnp.zeros(q.shape[0]), jnp.zeros_like(q)))
    return o / l[:, None]


def _lstm(p, xs):
    def step(s, x):
        h, c = s
        i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    n = p["h"].shape[0]
    return lax.scan(step, (jnp.zeros(n), jnp.zeros(n)), xs)[1]


def _gru(p, h, xs):
    def step(h, x):
        z, r = jax.nn.sigmoid(x @ p["xz"] + h @ p["hz"]), jax.nn.sigmoid(x @ p["xr"] + h @ p["hr"])
        h = (1 - z) * h + z * jnp.tanh(x @ p["xn"] + (r * h) @ p["hn"])
        return h, h

    return lax.scan(step, h, xs)


def models():
    mlp = [(normal(4, 8) / 2, normal(8)), (normal(8, 8) / 2, normal(8)), (normal(8, 3) / 2, normal(3))]

    def run_mlp(p, x):
        for w, b in p[:-1]:
            x = jax.nn.relu(x @ w + b)
        return x @ p[-1][0] + p[-1][1]

    x = normal(5, 4)
    yield "mlp", run_mlp, (mlp, x)
    yield "mlp_mse", lambda p, x, y: jnp.mean((run_mlp(p, x) - y) ** 2), (mlp, x, normal(5, 3))
    yield "mlp_cross_entropy", lambda p, x, y: -jnp.mean(jax.nn.log_softmax(run_mlp(p, x))[jnp.arange(5), y]), (mlp, x, ints(3, 5))
    yield "mlp_l2", lambda p, x: jnp.sum(run_mlp(p, x)) + 0.1 * sum(jnp.sum(w**2) for w in jax.tree.leaves(p)), (mlp, x)
    yield "cnn", lambda k1, k2, w, x: (jax.nn.relu(lax.conv(jax.nn.relu(lax.conv(x, k1, (1, 1), "SAME")), k2, (2, 2), "SAME")).reshape(2, -1) @ w), (normal(4, 1, 3, 3), normal(4, 4, 3, 3), normal(64, 3), normal(2, 1, 8, 8))
    yield "batch_norm", lambda g, b, x: g * (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5) + b, (normal(4), normal(4), x)
    yield "layer_norm", _layer_norm, (normal(5, 4), normal(4), normal(4))
    yield "rms_norm", lambda x, g: x * lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * g, (normal(5, 4), normal(4))
    yield "group_norm", lambda x: ((y := x.reshape(2, 2, 2, 9)) - y.mean((2, 3), keepdims=True)) / jnp.sqrt(y.var((2, 3), keepdims=True) + 1e-5), (normal(2, 4, 3, 3),)
    yield "rnn", lambda w, u, h, xs: lax.scan(lambda h, x: (jnp.tanh(h @ w + x @ u), h), h, xs), (normal(4, 4) / 2, normal(3, 4), normal(4), normal(6, 3))
    yield "lstm", _lstm, ({"x": normal(3, 16) / 2, "h": normal(4, 16) / 2, "b": normal(16) / 2}, normal(6, 3))
    yield "lstm_batched", jax.vmap(_lstm, (None, 0)), ({"x": normal(3, 16) / 2, "h": normal(4, 16) / 2, "b": normal(16) / 2}, normal(2, 6, 3))
    yield "gru", _gru, ({a + b: normal(3 if a == "x" else 4, 4) / 2 for a in "xh" for b in "zrn"}, normal(4), normal(6, 3))
    yield "attention", _attention, (_block_params(8), normal(5, 8))
    yield "transformer_block", _block, (_block_params(8), normal(5, 8))
    yield "transformer_scan", lambda p, x: lax.scan(lambda x, p: (_block(p, x), None), x, p)[0], (_block_params(8, 3), normal(5, 8))
    yield "transformer_scan_remat", lambda p, x: lax.scan(jax.checkpoint(lambda x, p: (_block(p, x), None)), x, p)[0], (_block_params(8, 3), normal(5, 8))
    yield "language_model", lambda p, e, t: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(_block(p, e[t[:-1]]) @ e.T), t[1:, None], 1)), (_block_params(8), normal(11, 8) / 2, ints(11, 6))
    yield "flash_attention", lambda q, k, v: _flash(q, k, v, 2), (normal(4, 3), normal(6, 3), normal(6, 3))
    yield "moe", lambda g, w, x: jnp.einsum("te,teo->to", jax.nn.softmax(x @ g), jnp.einsum("ti,eio->teo", x, w)), (normal(4, 3), normal(3, 4, 2), x)
    yield "moe_top_2", lambda g, w, x: _top_2(g, w, x), (normal(4, 3), normal(3, 4, 2), x)
    yield "vae_loss", lambda e, d, x, eps: _vae(e, d, x, eps), (normal(4, 6) / 2, normal(3, 4) / 2, x, normal(5, 3))
    yield "graph_network", lambda w, x, s, r: jax.nn.relu(jax.ops.segment_sum(jnp.tanh(x[s] @ w), r, 5) + x @ w), (normal(4, 4), x, ints(5, 8), ints(5, 8))
    yield "rotary", lambda x: _rotary(x), (normal(5, 8),)
    yield "state_space", lambda a, b, c, x: _state_space(a, b, c, x), (uniform(-1, -0.1, 4), normal(4), normal(4), normal(9))
    yield "resnet_block", lambda k1, k2, x: jax.nn.relu(x + lax.conv(jax.nn.relu(lax.conv(x, k1, (1, 1), "SAME")), k2, (1, 1), "SAME")), (normal(3, 3, 3, 3) / 3, normal(3, 3, 3, 3) / 3, normal(2, 3, 5, 5))
    yield "contrastive", lambda a, b: _contrastive(a, b), (normal(4, 3), normal(4, 3))
    yield "mixture_density", lambda p, m, s, y: -jax.nn.logsumexp(jax.nn.log_softmax(p) + jax.scipy.stats.norm.logpdf(y[:, None], m, jnp.exp(s)), axis=1), (normal(5, 3), normal(5, 3), normal(5, 3), normal(5))
    yield "nerf_encoding", lambda x: jnp.concatenate([f(2.0**i * x) for i in range(3) for f in (jnp.sin, jnp.cos)], -1), (normal(4, 3),)
    yield "sgd_unrolled", lambda w, x, y: lax.fori_loop(0, 4, lambda i, w: w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w), w), (normal(4), x, normal(5))
    yield "adam_step", lambda w, m, v, g: _adam(w, m, v, g), (normal(4), normal(4), uniform(0.1, 1, 4), normal(4))
    yield "implicit_bilinear_resize", lambda x: jax.image.resize(x, (6, 7), "bilinear"), (normal(3, 4),)
    yield "resize_cubic", lambda x: jax.image.resize(x, (5, 6), "cubic"), (normal(3, 4),)
    yield "resize_down", lambda x: jax.image.resize(x, (3, 2), "linear"), (normal(6, 5),)
    yield "map_coordinates", lambda x, c: jax.scipy.ndimage.map_coordinates(x, [c[0], c[1]], order=1), (normal(5, 6), uniform(0.2, 3.8, 2, 7))


def _top_2(g, w, x):
    scores, which = lax.top_k(x @ g, 2)
    return jnp.einsum("tk,ti,tkio->to", jax.nn.softmax(scores), x, w[which])


def _vae(e, d, x, eps):
    m, s = jnp.split(x @ e, 2, axis=1)
    y = (m + jnp.exp(s) * eps) @ d
    return jnp.mean((y - x) ** 2) + 0.5 * jnp.mean(jnp.exp(2 * s) + m**2 - 1 - 2 * s)


def _rotary(x):
    t = jnp.arange(5.0)[:, None] * 0.1 ** jnp.arange(4.0)
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * jnp.cos(t) - b * jnp.sin(t), a * jnp.sin(t) + b * jnp.cos(t)], -1)


def _state_space(a, b, c, x):
    step = lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1])
    d = jnp.broadcast_to(jnp.exp(a), (9, 4))
    return lax.associative_scan(step, (d, x[:, None] * b))[1] @ c


def _contrastive(a, b):
    a, b = (v / jnp.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
    s = a @ b.T / 0.1
    return -jnp.mean(jnp.diag(jax.nn.log_softmax(s))) - jnp.mean(jnp.diag(jax.nn.log_softmax(s.T)))


def _adam(w, m, v, g):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - 0.1 * (m / 0.1) / (jnp.sqrt(v / 0.01) + 1e-8), m, v


def derivatives():
    """Functions with derivatives of their own, and derivatives themselves, of which the gradient is the second."""

    @jax.custom_jvp
    def softplus(x):
        return jnp.logaddexp(x, 0.0)

    softplus.defjvp(lambda p, t: (softplus(p[0]), t[0] * jax.nn.sigmoid(p[0])))

    @jax.custom_vjp
    def product(x, y):
        return jnp.sin(x) * y

    product.defvjp(lambda x, y: (product(x, y), (x, y)), lambda r, g: (g * jnp.cos(r[0]) * r[1], g * jnp.sin(r[0])))
    x = normal(4)
    yield "custom_jvp", softplus, (x,)
    yield "custom_vjp", product, (x, normal(4))
    yield "custom_jvp_in_scan", lambda c, xs: lax.scan(lambda c, x: (softplus(c * x), c), c, xs), (normal(), x)
    yield "remat", jax.checkpoint(lambda x: jnp.sin(jnp.cos(x) * x)), (x,)
    yield "remat_policy", jax.checkpoint(lambda x, w: jnp.sin(w @ jnp.cos(w @ x)), policy=jax.checkpoint_policies.dots_saveable), (x, normal(4, 4))
    f = lambda x: jnp.sum(jnp.tanh(x) ** 3 * x)
    yield "grad", jax.grad(f), (x,)
    yield "grad_grad", jax.grad(lambda x: jnp.sum(jax.grad(f)(x) ** 2)), (x,)
    yield "hessian", jax.hessian(f), (x,)
    yield "jacfwd", jax.jacfwd(lambda x: jnp.sin(x) * x[::-1]), (x,)
    yield "jacrev", jax.jacrev(lambda x: jnp.sin(x) * x[::-1]), (x,)
    yield "jvp", lambda x, t: jax.jvp(lambda x: jnp.tanh(x) ** 2, (x,), (t,)), (x, normal(4))
    yield "vjp", lambda x, t: jax.vjp(lambda x: jnp.tanh(x) ** 2, x)[1](t), (x, normal(4))
    yield "grad_of_scan", lambda c, xs: jax.grad(lambda c, xs: jnp.sum(lax.scan(lambda c, x: (jnp.tanh(c + x), c * x), c, xs)[1]), (0, 1))(c, xs), (normal(3), normal(5, 3))
    yield "grad_of_scan_of_dots", lambda h, w: jax.grad(lambda w: jnp.sum(lax.scan(lambda h, w: (jnp.tanh(h @ w), None), h, w)[0]))(w), (normal(2, 3), normal(4, 3, 3))
    yield "jvp_of_while", lambda x: jax.jvp(lambda x: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) + i, x), (x,), (x,))[1], (x,)
    yield "grad_of_conv", lambda x, k: jax.grad(lambda k: jnp.sum(jnp.tanh(lax.conv(x, k, (1, 1), "SAME"))))(k), (normal(1, 2, 5, 5), normal(3, 2, 3, 3))
    yield "grad_of_gather", lambda t, i: jax.grad(lambda t: jnp.sum(jnp.sin(t[i]) ** 2))(t), (normal(5, 3), ints(5, 4))
    yield "grad_of_sort", lambda x: jax.grad(lambda x: jnp.sum(jnp.sort(x) ** 3 * jnp.arange(4.0)))(x), (x,)
    yield "grad_of_softmax", lambda x: jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) ** 2))(x), (normal(3, 4),)
    yield "grad_of_max", lambda x: jax.grad(lambda x: jnp.sum(jnp.max(x, 1) ** 2))(x), (normal(3, 4),)
    yield "grad_of_attention", lambda p, x: jax.grad(lambda p: jnp.sum(_attention(p, x) ** 2))(p), (_block_params(4), normal(3, 4))
    yield "hvp", lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1], (x, normal(4))
    yield "per_example_grads", lambda w, x: jax.vmap(jax.grad(lambda w, x: jnp.tanh(w @ x)), (None, 0))(w, x), (normal(4), normal(5, 4))
    yield "grad_of_cumsum", lambda x: jax.grad(lambda x: jnp.sum(jnp.cumsum(x) ** 3))(x), (x,)
    yield "grad_of_fft", lambda x: jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 4))(x), (normal(8),)
    yield "grad_of_cond", lambda p, x: jax.grad(lambda x: lax.cond(p, lambda x: jnp.sum(jnp.sin(x)), lambda x: jnp.sum(x**3), x))(x), (np.bool_(True), x)


def complexes():
    z, w = normal(4) + 1j * normal(4), normal(4) + 1j * normal(4)
    for name in "exp sin cos tanh square conj log sqrt".split():
        yield name, getattr(jnp, name), (z,)
    yield "abs", jnp.abs, (z,)
    yield "angle", jnp.angle, (z,)
    yield "multiply", jnp.multiply, (z, w)
    yield "divide", jnp.divide, (z, w)
    yield "abs_squared", lambda z: jnp.real(z * jnp.conj(z)), (z,)
    yield "real_imag", lambda z: jnp.real(z) ** 2 + jnp.imag(z) ** 3, (z,)
    yield "dot", jnp.dot, (normal(3, 4) + 1j * normal(3, 4), z)
    yield "vdot", jnp.vdot, (z, w)
    yield "fft", jnp.fft.fft, (z,)
    yield "scan", lambda c, xs: lax.scan(lambda c, x: (c * x, c), c, xs), (z[0], w)
    yield "power", lambda z: z**3, (z,)


def narrow():
    """float32, and the smaller floats: compared to their own precision."""
    for dtype in ["float32", "bfloat16", "float16"]:
        cast = lambda *shape, d=dtype: np.asarray(jnp.asarray(normal(*shape), d))
        yield f"{dtype}_dot", lambda a, b: jnp.tanh(a @ b), (cast(4, 5), cast(5, 3))
        yield f"{dtype}_softmax", jax.nn.softmax, (cast(3, 4),)
        yield f"{dtype}_scan", lambda c, xs: lax.scan(lambda c, x: (jnp.tanh(c + x), c), c, xs), (cast(3), cast(5, 3))
    yield "mixed", lambda a, b: (a.astype(jnp.bfloat16) @ b).astype(jnp.float32).sum(), (np.float32(normal(4, 5)), np.asarray(jnp.asarray(normal(5, 3), "bfloat16")))


def sharded():
    """On eight devices."""
    auto = jax.sharding.AxisType.Auto
    mesh, grid = jax.make_mesh((8,), ("x",), (auto,)), jax.make_mesh((2, 4), ("a", "b"), (auto,) * 2)
    sm = functools.partial(jax.shard_map, mesh=mesh)
    both = functools.partial(jax.shard_map, mesh=grid)
    x, w = normal(16, 6), normal(6, 4)
    yield "shard_map_pointwise", sm(lambda x: jnp.sin(x) * x, in_specs=P("x"), out_specs=P("x")), (x,)
    yield "shard_map_psum", sm(lambda x: lax.psum(jnp.sum(x**2), "x"), in_specs=P("x"), out_specs=P()), (x,)
    yield "shard_map_pmean", sm(lambda x: lax.pmean(jnp.sum(x**2), "x"), in_specs=P("x"), out_specs=P()), (x,)
    yield "shard_map_replicated_weight", sm(lambda w, x: jnp.tanh(x @ w), in_specs=(P(), P("x")), out_specs=P("x")), (w, x)
    yield "shard_map_data_parallel_loss", sm(lambda w, x: lax.pmean(jnp.mean(jnp.tanh(x @ w) ** 2), "x"), in_specs=(P(), P("x")), out_specs=P()), (w, x)
    yield "shard_map_tensor_parallel", sm(lambda x, w, v: lax.psum(jnp.tanh(x @ w) @ v, "x"), in_specs=(P(), P(None, "x"), P("x", None)), out_specs=P()), (normal(3, 6), normal(6, 16), normal(16, 2))
    yield "shard_map_all_gather", sm(lambda x, w: lax.all_gather(x, "x", tiled=True) * w, in_specs=(P("x"), P("x")), out_specs=P("x")), (normal(8), normal(64))
    yield "shard_map_psum_scatter", sm(lambda x: lax.psum_scatter(x**2, "x", tiled=True), in_specs=P(None, "x"), out_specs=P("x")), (normal(8, 16),)
    yield "shard_map_ppermute", sm(lambda x: lax.ppermute(jnp.sin(x), "x", [(i, (i + 1) % 8) for i in range(8)]) * x, in_specs=P("x"), out_specs=P("x")), (normal(16),)
    yield "shard_map_ppermute_partial", sm(lambda x: lax.ppermute(jnp.sin(x), "x", [(i, i + 1) for i in range(7)]) * x, in_specs=P("x"), out_specs=P("x")), (normal(16),)
    yield "shard_map_all_to_all", sm(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True) ** 2, in_specs=P("x"), out_specs=P(None, "x")), (normal(8, 16),)
    yield "shard_map_axis_index", sm(lambda x: x * lax.axis_index("x"), in_specs=P("x"), out_specs=P("x")), (normal(16),)
    yield "shard_map_softmax", sm(_parallel_softmax, in_specs=P(None, "x"), out_specs=P(None, "x")), (normal(3, 16),)
    yield "shard_map_scan", sm(lambda c, xs: lax.scan(lambda c, x: (jnp.tanh(c + x), c * x), c, xs), in_specs=(P("x"), P(None, "x")), out_specs=(P("x"), P(None, "x"))), (normal(8), normal(5, 8))
    yield "shard_map_scan_psum", sm(lambda c, xs: lax.scan(lambda c, x: (c + lax.psum(jnp.sin(x).sum(), "x"), None), c, xs)[0], in_specs=(P(), P(None, "x")), out_specs=P()), (normal(), normal(5, 8))
    yield "shard_map_fori_ring", sm(_ring_sum, in_specs=P("x"), out_specs=P("x")), (normal(16),)
    yield "shard_map_ring_attention", sm(_ring_attention, in_specs=(P("x"),) * 3, out_specs=P("x")), (normal(16, 4), normal(16, 4), normal(16, 4))
    yield "shard_map_cond", sm(lambda x: lax.cond(lax.psum(x.sum(), "x") > 0, jnp.sin, lambda x: x**2, x), in_specs=P("x"), out_specs=P("x")), (normal(16),)
    yield "shard_map_two_axes", both(lambda x, w: lax.psum(jnp.tanh(x @ w), "b"), in_specs=(P("a", "b"), P("b", None)), out_specs=P("a", None)), (normal(4, 8), normal(8, 3))
    yield "shard_map_two_axes_mean", both(lambda x: lax.pmean(jnp.sum(x**3), ("a", "b")), in_specs=P("a", "b"), out_specs=P()), (normal(4, 8),)
    yield "shard_map_partial_manual", jax.shard_map(lambda x: lax.psum(jnp.sin(x), "a"), mesh=grid, in_specs=P("a"), out_specs=P(), axis_names={"a"}), (normal(4, 8),)
    yield "shard_map_unchecked", sm(lambda x: lax.psum(jnp.sum(x**2), "x"), in_specs=P("x"), out_specs=P(), check_vma=False), (x,)
    yield "shard_map_unchecked_weight", sm(lambda w, x: lax.pmean(jnp.mean(jnp.tanh(x @ w)), "x"), in_specs=(P(), P("x")), out_specs=P(), check_vma=False), (w, x)
    yield "shard_map_fsdp", sm(lambda w, x: lax.pmean(jnp.mean(jnp.tanh(x @ lax.all_gather(w, "x", tiled=True))), "x"), in_specs=(P("x"), P("x")), out_specs=P()), (normal(8, 3), normal(16, 8))
    yield "shard_map_grad_inside", sm(lambda w, x: lax.pmean(jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w), "x"), in_specs=(P(), P("x")), out_specs=P()), (w, x)
    put = lambda spec, m=grid: lambda v: lax.with_sharding_constraint(v, NamedSharding(m, spec))
    yield "auto_mlp", lambda w, v, x: jnp.sum(put(P("a", "b"))(jnp.tanh(put(P("a"))(x) @ w)) @ v), (normal(6, 8), normal(8, 2), normal(8, 6))
    yield "auto_scan", lambda h, w: lax.scan(lambda h, w: (put(P("a", "b"))(jnp.tanh(h @ w)), None), h, w)[0], (normal(4, 8), normal(3, 8, 8))
    yield "auto_attention", lambda q, k, v: put(P(None, "a"))(jnp.einsum("hqk,khd->qhd", jax.nn.softmax(jnp.einsum("qhd,khd->hqk", put(P(None, "a"))(q), k)), v)), (normal(4, 2, 3), normal(4, 2, 3), normal(4, 2, 3))
    yield "auto_reductions", lambda x: put(P("b"))(jnp.sum(put(P("a", "b"))(x) ** 2, 0)) + jnp.max(x, 0), (normal(4, 8),)


def _parallel_softmax(x):
    m = lax.pmax(lax.stop_gradient(jnp.max(x, 1, keepdims=True)), "x")
    e = jnp.exp(x - m)
    return e / lax.psum(jnp.sum(e, 1, keepdims=True), "x")


def _ring_sum(x):
    ring = [(i, (i + 1) % 8) for i in range(8)]

    def step(i, s):
        total, moving = s
        moving = lax.ppermute(moving, "x", ring)
        return total + jnp.sin(moving) * (i + 1), moving

    return lax.fori_loop(0, 7, step, (x, x))[0]


def _ring_attention(q, k, v):
    ring = [(i, (i + 1) % 8) for i in range(8)]

    def step(s, _):
        l, o, k, v = s
        e = jnp.exp(q @ k.T / 2)
        return (l + e.sum(-1), o + e @ v, lax.ppermute(k, "x", ring), lax.ppermute(v, "x", ring)), None

    l, o, _, _ = lax.scan(step, (q[:, 0] * 0, q * 0, k, v), None, length=8)[0]
    return o / l[:, None]


def factorizations():
    """What JAX computes by LAPACK: custom calls in the program."""
    square, tall, wide, batch = normal(4, 4), normal(5, 3), normal(3, 5), normal(2, 4, 4)
    z = normal(4, 3) + 1j * normal(4, 3)
    positive = square @ square.T + 4 * np.eye(4)
    la = jnp.linalg
    for name, x in (("square", square), ("tall", tall), ("wide", wide), ("batch", batch), ("f32", tall.astype(np.float32))):
        yield f"qr_{name}", la.qr, (x,)
    yield "qr_complete", lambda x: la.qr(x, mode="complete"), (tall,)
    yield "qr_complex", lambda x: [f(a) for a in la.qr(x) for f in (jnp.real, jnp.imag)], (z,)
    yield "qr_r", lambda x: la.qr(x, mode="r"), (tall,)
    yield "qr_orthogonal", lambda x, b: la.qr(x)[0].T @ b, (tall, normal(5, 2))
    yield "cholesky", la.cholesky, (positive,)
    yield "lu", lambda x: jax.lax.linalg.lu(x)[0], (square,)
    yield "eigh", la.eigh, (positive,)
    yield "svd", lambda x: la.svd(x, full_matrices=False), (tall,)
    yield "svdvals", lambda x: la.svd(x, compute_uv=False), (wide,)
    yield "solve", la.solve, (square, normal(4, 2))
    yield "inv", la.inv, (batch,)
    yield "det", la.det, (square,)
    yield "slogdet", lambda x: la.slogdet(x)[1], (batch,)
    yield "lstsq", lambda a, b: la.lstsq(a, b)[0], (tall, normal(5))
    yield "expm", jax.scipy.linalg.expm, (square / 4,)
    yield "triangular_solve", lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), (np.tril(positive), normal(4, 2))
    yield "eigvals", lambda x: [f(la.eigvals(x)) for f in (jnp.real, jnp.imag)], (square,)


FAMILIES = (unary, binary, special, reductions, structure, products, convolutions, indexing, sorting, fourier, loops, activations, models, derivatives,
            complexes, narrow, sharded, factorizations)


def programs():
    out = {}
    for family in FAMILIES:
        for name, function, arguments in family():
            key = f"{family.__name__}/{name}"
            assert key not in out, key
            out[key] = (function, arguments)
    return out
