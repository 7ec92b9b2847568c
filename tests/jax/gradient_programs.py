"""The functions of check_gradients.py: name -> (function, arguments). They are small, and smooth where they are differentiated.

Each family is a generator of (name, function, arguments); programs() returns all of them under the names family/name.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gradient_inputs import ints, normal, uniform
from gradient_networks import activations, attention, block_params, models, sharded


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


def derivatives():
    """Functions with custom derivatives, and derivatives of functions, which gives second derivatives."""

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
    yield "grad_of_attention", lambda p, x: jax.grad(lambda p: jnp.sum(attention(p, x) ** 2))(p), (block_params(4), normal(3, 4))
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
    """Functions in float32 and narrower floats, which are compared to their own precision."""
    for dtype in ["float32", "bfloat16", "float16"]:
        cast = lambda *shape, d=dtype: np.asarray(jnp.asarray(normal(*shape), d))
        yield f"{dtype}_dot", lambda a, b: jnp.tanh(a @ b), (cast(4, 5), cast(5, 3))
        yield f"{dtype}_softmax", jax.nn.softmax, (cast(3, 4),)
        yield f"{dtype}_scan", lambda c, xs: lax.scan(lambda c, x: (jnp.tanh(c + x), c), c, xs), (cast(3), cast(5, 3))
    yield "mixed", lambda a, b: (a.astype(jnp.bfloat16) @ b).astype(jnp.float32).sum(), (np.float32(normal(4, 5)), np.asarray(jnp.asarray(normal(5, 3), "bfloat16")))


def factorizations():
    """Functions that JAX computes by LAPACK, as custom calls in the program."""
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
