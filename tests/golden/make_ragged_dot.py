"""ragged_dot.json, ragged_dot.npz, stablehlo/ragged_dot/*.mlir: products with groups of rows in every
mode, lowered for TPUs, where they are chlo.ragged_dot; the values are the CPU's.

"programs": a list of {"name", "inputs", "outputs": array references, "text": the lowered program, a
  file below stablehlo/}.
"""
import jax
import numpy as np
from jax import lax

import golden

golden.setup()
topic = golden.Programs('ragged_dot')
rng = np.random.RandomState(0)


def random(*shape):
  return rng.randn(*shape).astype(np.float32)


def sizes(*values):
  return np.array(values, np.int32)


def product(contract, batch, ragged, group):
  numbers = lax.RaggedDotDimensionNumbers(
      dot_dimension_numbers=(contract, batch), lhs_ragged_dimensions=[ragged],
      rhs_group_dimensions=group)
  return lambda x, y, g: lax.ragged_dot_general(x, y, g, numbers)


def case(name, f, *inputs):
  topic.program(name, f, *inputs, platform='tpu')


rows = product(([1], [1]), ([], []), 0, [0])  # [m,k] [g,k,n] -> [m,n]
many = product(([2], [2]), ([0], [1]), 1, [0])  # [b,m,k] [g,b,k,n] -> [b,m,n]
case('rows', rows, random(7, 3), random(3, 3, 4), sizes(2, 4, 1))
case('rows_left_over', rows, random(7, 3), random(3, 3, 4), sizes(2, 0, 3))
case('rows_batched', many, random(2, 6, 3), random(3, 2, 3, 4), sizes([1, 2, 3], [4, 0, 1]))
# The ragged dimension stands after another one, and dimensions in other orders.
case('rows_prefix', product(([0], [2]), ([3], [0]), 2, [1]), random(3, 2, 5, 2), random(2, 3, 3, 4),
     rng.randint(0, 3, (2, 2, 3)).astype(np.int32))
case('contracting', product(([0], [0]), ([], []), 0, []), random(7, 3), random(7, 4), sizes(2, 4, 1))
case('contracting_batched', product(([2, 1], [0, 2]), ([0], [1]), 1, []), random(2, 6, 3),
     random(3, 2, 6, 4), rng.randint(0, 3, (2, 3, 3)).astype(np.int32))
case('batch', product(([2], [1]), ([0], [0]), 0, []), random(4, 2, 3), random(4, 3, 5), sizes(1, 3))
case('rows_gradient', jax.grad(lambda x, y, g: (rows(x, y, g)**2).sum(), (0, 1)), random(7, 3),
     random(3, 3, 4), sizes(2, 4, 1))
case('bfloat16', rows, jax.numpy.asarray(random(7, 3), 'bfloat16'),
     jax.numpy.asarray(random(3, 3, 4), 'bfloat16'), sizes(2, 4, 1))
topic.write()
