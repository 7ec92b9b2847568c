"""transforms.json, transforms.npz: derivatives and batching of functions of two arrays, in float64.

"x": float64[3, 4], "w": float64[4, 3], "xs": float64[2, 3, 4]: array references.
"functions": a list of {"name", "doc", "value", "grad_x", "grad_w", "second": the gradient by x of
sum(grad_x * sin(x)), "tangent": the jvp along (cos(x), w), "mapped": vmap of grad_x over xs}.
tests/compile/transforms_golden_test.cc has the same functions under the same names.
"""
import inspect

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import golden

golden.setup(x64=True)
topic = golden.Topic('transforms')
rng = np.random.default_rng(5)
X, W = rng.normal(size=(3, 4)), rng.normal(size=(4, 3))
XS = rng.normal(size=(2, 3, 4))


def rnn(x, w):

  def step(h, v):
    n = jnp.tanh(v + h @ w @ w.T)
    return n, (n**2).sum()

  h, ys = lax.scan(step, jnp.zeros(4), x)
  return h.sum() + (ys * ys).sum()


def attention(x, w):
  q, k = x @ w, x @ (w * w)
  s = jnp.where(jnp.tril(jnp.ones((3, 3), bool)), q @ k.T / 2, -1e30)
  return (jax.nn.softmax(s, -1) @ x).sum(0) @ w[:, 0]


def layer_norm(x, w):
  m = x.mean(-1, keepdims=True)
  v = ((x - m)**2).mean(-1, keepdims=True)
  return jnp.sin(((x - m) / jnp.sqrt(v + 1e-5)) @ w).sum()


def nested(x, w):
  inner = jax.grad(lambda v: jnp.sum(jnp.sin(v) * v))
  return jnp.sum(inner(x) @ w)


def branches(x, w):
  return lax.cond(
      x[0, 0] > 0, lambda a, b: jnp.sum(jnp.sin(a @ b)), lambda a, b: jnp.sum(jnp.cos(a @ b)), x, w)


def power(x, w):
  return lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ w @ x), x).sum()


FUNCTIONS = {
    'matmul': lambda x, w: jnp.sum(jnp.sin(x @ w)),
    'mlp': lambda x, w: jnp.sum(jnp.square(jax.nn.relu(x @ w) @ w.T)),
    'gelu': lambda x, w: jnp.sum(jax.nn.gelu(x @ w)),
    'silu': lambda x, w: jnp.sum(jax.nn.silu(x) @ w),
    'softplus': lambda x, w: jnp.sum(jax.nn.softplus(x @ w)),
    'cross_entropy': lambda x, w: -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ w) * jnp.eye(3), -1)),
    'logsumexp': lambda x, w: jnp.sum(jax.nn.logsumexp(x, axis=1) @ (x @ w)),
    'elementary': lambda x, w: jnp.sum(jnp.exp(jnp.sin(x)) * jnp.arctan(w.T) + jnp.cosh(x) * jnp.log1p(w.T**2)),
    'erf': lambda x, w: jnp.sum(lax.erf(x) * lax.erf(w.T)) + jnp.sum(lax.erf_inv(jnp.tanh(x) / 2)),
    'powers': lambda x, w: jnp.sum(jnp.power(jnp.abs(x) + 1, w.T)) + jnp.sum(x**3),
    'two_arguments': lambda x, w: jnp.sum(jnp.arctan2(x, w.T)) + jnp.sum(jnp.logaddexp(x, w.T)) + jnp.sum(jnp.hypot(x, w.T)),
    'extrema': lambda x, w: jnp.max(x) * jnp.min(w) + jnp.sum(jnp.maximum(x, w.T) * jnp.clip(w.T, -.5, .5)),
    'product': lambda x, w: jnp.sum(jnp.prod(x, axis=0)) + jnp.sum(jnp.prod(w, axis=1)),
    'variance': lambda x, w: jnp.var(x) + jnp.sum(jnp.std(w, axis=0)) + jnp.sum(jnp.mean(x, axis=1)**2),
    'shapes': lambda x, w: jnp.sum(jnp.concatenate([x.T, jnp.flip(w, 1)], 1) ** 2) + jnp.sum(jnp.roll(x, 1, 0) * jnp.pad(w.T[:, 1:], ((0, 0), (1, 0)))),
    'slices': lambda x, w: jnp.sum(lax.dynamic_slice(x, (1, 1), (2, 2)) @ w[2:4]) * jnp.sum(jnp.tile(w, (2, 1))[3:5]),
    'updates': lambda x, w: jnp.sum(lax.dynamic_update_slice(x, w[:2, :2] * 2, (0, 1))**2),
    'einsum': lambda x, w: jnp.einsum('ij,jk,il->', x, w, jnp.sin(x)),
    'guarded': lambda x, w: jnp.sum(jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), x * 2) @ w),
    'stopped': lambda x, w: jnp.sum(x * lax.stop_gradient(x)) * jnp.sum(w),
    'checkpointed': lambda x, w: jnp.sum(jax.checkpoint(lambda a, b: jnp.tanh(jnp.sin(a) @ b))(x, w)**2),
    'layer_norm': layer_norm,
    'attention': attention,
    'rnn': rnn,
    'nested': nested,
    'branches': branches,
    'power': power,
    'norms': lambda x, w: jnp.sum(x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True))) + jnp.sqrt(jnp.sum(w * w)),
}

out = []
for name, f in FUNCTIONS.items():
  gx, gw = jax.grad(f, argnums=(0, 1))(X, W)
  second = jax.grad(lambda x: jnp.sum(jax.grad(f)(x, W) * jnp.sin(x)))(X)
  tangent = jax.jvp(f, (X, W), (jnp.cos(X), jnp.asarray(W)))[1]
  mapped = jax.vmap(jax.grad(f), in_axes=(0, None))(XS, W)
  values = dict(value=f(X, W), grad_x=gx, grad_w=gw, second=second, tangent=tangent, mapped=mapped)
  out.append(
      dict(
          name=name,
          doc=inspect.getsource(f).strip().split('\n')[0],
          **{k: topic.array(f'{name}_{k}', np.asarray(v)) for k, v in values.items()}))
topic.write({
    'x': topic.array('x', X),
    'w': topic.array('w', W),
    'xs': topic.array('xs', XS),
    'functions': out
})
