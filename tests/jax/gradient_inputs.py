"""Shared by gradient_programs.py and gradient_networks.py: random arrays, the sum that is differentiated, and JAX's gradients of it."""

import jax
import jax.numpy as jnp
import numpy as np

_rng = np.random.default_rng(0)


NARROW = ("float16", "bfloat16")


def inexact(x):
    return jnp.issubdtype(jnp.result_type(x), jnp.inexact)


def weighted_sum(results):
    """Returns the sum that `tessera grad --seed 0` differentiates."""
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
    """Returns the weighted sum of the results of `flat`, and JAX's gradients by the leaves `wrt`: in forward mode for while loops, which have no
  reverse mode."""
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
