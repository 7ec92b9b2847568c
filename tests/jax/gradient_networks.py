"""Families of programs for gradient_programs.py: parts of networks, whole networks, and programs on eight devices."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

from gradient_inputs import ints, normal, uniform


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


def attention(p, x, heads=2):
    t, d = x.shape
    q, k, v = (jnp.reshape(x @ p[n], (t, heads, d // heads)) for n in "qkv")
    s = jnp.einsum("qhd,khd->hqk", q, k) / np.sqrt(d // heads)
    s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -1e9)
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(s), v).reshape(t, d) @ p["o"]


def _block(p, x):
    x = x + attention(p, _layer_norm(x, p["g1"], p["b1"]))
    return x + jax.nn.gelu(_layer_norm(x, p["g2"], p["b2"]) @ p["w1"]) @ p["w2"]


def block_params(d, *lead):
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
    yield "attention", attention, (block_params(8), normal(5, 8))
    yield "transformer_block", _block, (block_params(8), normal(5, 8))
    yield "transformer_scan", lambda p, x: lax.scan(lambda x, p: (_block(p, x), None), x, p)[0], (block_params(8, 3), normal(5, 8))
    yield "transformer_scan_remat", lambda p, x: lax.scan(jax.checkpoint(lambda x, p: (_block(p, x), None)), x, p)[0], (block_params(8, 3), normal(5, 8))
    yield "language_model", lambda p, e, t: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(_block(p, e[t[:-1]]) @ e.T), t[1:, None], 1)), (block_params(8), normal(11, 8) / 2, ints(11, 6))
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


def sharded():
    """Programs on eight devices."""
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
