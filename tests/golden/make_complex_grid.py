"""complex_grid.json, complex_grid.npz: unary functions of all x + iy, x and y among 0, -0, 1, -1, the
infinities and NaN, under their StableHLO names.

"z": the numbers. "functions": name -> JAX's result, in which the sign of a zero in the argument is
often lost, and NaN wherever one part is NaN.
"""
import jax
import numpy as np
from jax import lax

import golden

golden.setup(x64=True)
topic = golden.Topic('complex_grid')
NUMBERS = np.array([0., -0., 1., -1., np.inf, -np.inf, np.nan])
FUNCTIONS = {
    'abs': lax.abs,
    'cosine': lax.cos,
    'exponential': lax.exp,
    'exponential_minus_one': lax.expm1,
    'log': lax.log,
    'log_plus_one': lax.log1p,
    'logistic': lax.logistic,
    'negate': lax.neg,
    'rsqrt': lax.rsqrt,
    'sign': lax.sign,
    'sine': lax.sin,
    'sqrt': lax.sqrt,
    'tan': lax.tan,
    'tanh': lax.tanh,
    'acos': lax.acos,
    'acosh': lax.acosh,
    'asin': lax.asin,
    'asinh': lax.asinh,
    'atan': lax.atan,
    'atanh': lax.atanh,
    'cosh': lax.cosh,
    'sinh': lax.sinh,
}
z = np.empty((len(NUMBERS), len(NUMBERS)), np.complex128)
z.real, z.imag = NUMBERS[:, None], NUMBERS[None, :]
z = z.reshape(-1)
topic.write({
    'z': topic.array('z', z),
    'functions': {
        name: topic.array(name, jax.jit(function)(z)) for name, function in FUNCTIONS.items()
    }
})
