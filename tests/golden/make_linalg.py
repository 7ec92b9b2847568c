"""linalg.json, linalg.npz: jax.numpy.linalg and jax.scipy.linalg.expm, and derivatives of them.

"cases": {"name", "inputs", "outputs": array references, "grads": array references or null}. "grads" are
the gradients by the inputs of the sum over all outputs of real(out * weight), weight being
cos(0, 1, 2, ...) in the output's shape; null where there are none, or none that are unique.
"""
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

import golden

golden.setup(x64=True)
topic = golden.Topic('linalg')
cases = []
rng = np.random.RandomState(3)
la = jnp.linalg


def random(*shape, dtype=np.float64):
  x = rng.randn(*shape)
  return (x + 1j * rng.randn(*shape) if np.dtype(dtype).kind == 'c' else x).astype(dtype)


def case(name, function, *inputs, grad=True):
  outputs = jax.tree.leaves(function(*inputs))

  def loss(*x):
    total = 0.
    for out in jax.tree.leaves(function(*x)):
      if jnp.issubdtype(out.dtype, jnp.inexact):
        weights = jnp.cos(jnp.arange(out.size, dtype=jnp.float64)).reshape(out.shape)
        total += jnp.real(jnp.sum(out * weights))
    return total

  grads = None
  if grad:
    by = tuple(range(len(inputs)))
    grads = jax.grad(loss, argnums=by)(*inputs)
  key = f'{name}.{len(cases)}'
  cases.append({
      'name': name,
      'inputs': [topic.array(f'{key}.in{i}', x) for i, x in enumerate(inputs)],
      'outputs': [topic.array(f'{key}.out{i}', x) for i, x in enumerate(outputs)],
      'grads': grads and [topic.array(f'{key}.grad{i}', x) for i, x in enumerate(grads)],
  })


def positive(dtype):
  x = random(2, 4, 4, dtype=dtype)
  return x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(4)


for dtype in (np.float64, np.complex128):
  real = dtype == np.float64
  square, wide, tall = (random(2, *s, dtype=dtype) for s in ((4, 4), (3, 5), (5, 3)))
  small, one = random(3, 3, dtype=dtype), random(4, 4, dtype=dtype)
  case('cholesky', la.cholesky, positive(dtype))
  case('cholesky_upper', lambda x: la.cholesky(x, upper=True), positive(dtype))
  for x in (square, wide, tall):
    case('qr', la.qr, x)
  case('qr_complete', lambda x: la.qr(x, mode='complete'), tall)
  case('svd', lambda x: la.svd(x, full_matrices=False), tall, grad=real)
  case('svd', lambda x: la.svd(x, full_matrices=False), wide, grad=real)
  case('svdvals', la.svdvals, wide)
  case('eigh', la.eigh, square, grad=real)
  case('eigvalsh', la.eigvalsh, square)
  case('eigvals', la.eigvals, square)
  case('solve', la.solve, square, random(2, 4, 3, dtype=dtype))
  case('solve', la.solve, square, random(4, dtype=dtype))
  case('solve', la.solve, one, random(2, 4, 3, dtype=dtype))
  case('inv', la.inv, square)
  case('pinv', la.pinv, wide)
  case('pinv', la.pinv, tall)
  case('lstsq', lambda a, b: la.lstsq(a, b), tall[0], random(5, 2, dtype=dtype))
  case('lstsq', lambda a, b: la.lstsq(a, b), wide[0], random(3, dtype=dtype), grad=False)
  for x in (square, small, small[:2, :2], small[:1, :1]):
    case('det', la.det, x)
    case('slogdet', la.slogdet, x)
  case('expm', jax.scipy.linalg.expm, one)
  case('expm', jax.scipy.linalg.expm, square / 8)
  case('expm', jax.scipy.linalg.expm, one * 9)
  for n in (-3, -1, 0, 1, 2, 3, 5, 8):
    case(f'matrix_power_{n}', lambda x: la.matrix_power(x, n), square)
  case('norm', la.norm, square)
  for order in (None, 'fro', 'nuc', 1, -1, 2, -2, np.inf, -np.inf):
    case(f'matrix_norm_{order}', lambda x: la.norm(x, ord=order, axis=(0, 2), keepdims=True),
         random(3, 2, 4, dtype=dtype), grad=order != 'nuc' or real)
  for order in (None, 0, 1, 2, 3, -1.5, np.inf, -np.inf):
    case(f'vector_norm_{order}', lambda x: la.norm(x, ord=order, axis=1), wide, grad=order != 0)
  case('vector_norm_all', lambda x: la.vector_norm(x, ord=3), wide)
  for order in (None, 1, 2, -2, 'fro', np.inf):
    case(f'cond_{order}', lambda x: la.cond(x, p=order), square, grad=False)
  case('cross', la.cross, random(4, 3, dtype=dtype), random(3, dtype=dtype))
  case('cross_axis', lambda x, y: la.cross(x, y, axis=0), random(3, 2, dtype=dtype),
       random(3, 2, dtype=dtype))
  case('multi_dot', lambda *x: la.multi_dot(x), random(2, 6, dtype=dtype), random(6, 3, dtype=dtype),
       random(3, 5, dtype=dtype), random(5, dtype=dtype))
  case('outer', la.outer, random(3, dtype=dtype), random(2, dtype=dtype))
  case('trace', la.trace, wide)
  case('matrix_rank', la.matrix_rank, square, grad=False)
  case('inv', la.inv, square.astype(np.float32 if real else np.complex64))
low = random(4, 2) @ random(2, 4)
case('matrix_rank', la.matrix_rank, low, grad=False)
case('pinv', la.pinv, low, grad=False)
case('cholesky', la.cholesky, -np.eye(3), grad=False)
case('inv', la.inv, np.zeros((2, 2)), grad=False)
case('det', la.det, np.zeros((4, 4)), grad=False)
case('slogdet', la.slogdet, np.zeros((3, 3)), grad=False)
case('cond_1', lambda x: la.cond(x, p=1), np.zeros((3, 3)), grad=False)
case('inv', la.inv, np.array([[2, 1], [1, 3]]), grad=False)
case('det', la.det, np.arange(16).reshape(4, 4) % 7, grad=False)
# Determinants of singular matrices have derivatives: cofactors, of rank 1, and 0.
rank3 = np.rint(random(4, 3)) @ np.rint(random(3, 4))
case('det', la.det, np.stack([rank3, random(4, 4), np.diag([1., 2., 0., 3.]), np.diag([1., 0., 0., 2.])]))
case('det', la.det, np.diag([1., 2., 3., 4., 0.]))
case('det', la.det, np.diag([0., 2., 3., 4., 5.]).astype(np.complex128) + 1j * np.eye(5, k=1))
case('det', la.det, random(5, 5, dtype=np.complex128))
case('det', la.det, random(2, 1, 1))
case('tensorsolve', la.tensorsolve, random(2, 3, 6), random(2, 3))
case('tensorsolve_axes', lambda a, b: la.tensorsolve(a, b, axes=(2, 0)), random(2, 6, 3), random(6))
case('tensorinv', la.tensorinv, random(2, 3, 3, 2))
case('tensorinv_1', lambda a: la.tensorinv(a, ind=1), random(6, 2, 3, dtype=np.complex128))

print(f'{len(cases)} cases')
topic.write({'cases': cases})
