"""linalg_calls.json, linalg_calls.npz, stablehlo/linalg_calls/*.mlir: linear algebra as JAX lowers
it for its CPU platform, by custom calls of LAPACK; approx_max_k by ApproxTopK; and the same
factorisations as it lowers them for others.

"programs": a list of {"name", "inputs", "outputs": array references, "text": the lowered program, a
  file below stablehlo/}.

Vectors have any sign or phase, and eigenvalues of a Schur form any order: LAPACK's choice depends on the processor.
So programs that give them return what does not depend on it: magnitudes, sums of powers, the matrix put together again.
"""
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jax import lax
from jax._src.lax import linalg

import golden

golden.setup(x64=True)
topic = golden.Programs('linalg_calls')
program = topic.program
rng = np.random.RandomState(0)


def random(shape, dtype):
  x = rng.randn(*shape)
  return (x + 1j * rng.randn(*shape) if np.dtype(dtype).kind == 'c' else x).astype(dtype)


adjoint = lambda x: jnp.conj(jnp.swapaxes(x, -1, -2))
powers = lambda t: [jnp.trace(x, axis1=-2, axis2=-1) for x in (t, t @ t, t @ t @ t)]


def eigh(x, **options):
  v, w = linalg.eigh(x, **options)
  return w, jnp.abs(v), (v * w[..., None, :].astype(v.dtype)) @ adjoint(v)


def svd(x, **options):
  u, s, vh = linalg.svd(x, **options)
  k = s.shape[-1]
  return (s, jnp.abs(u[..., :k]), jnp.abs(vh[..., :k, :]), (u[..., :k] * s[..., None, :].astype(u.dtype)) @ vh[..., :k, :],
          u @ adjoint(u), vh @ adjoint(vh))


def eig(x):
  w, left, right = linalg.eig(x)
  x = x.astype(right.dtype)
  return (jnp.sum(w, -1), jnp.sum(w * w, -1), x @ right - right * w[..., None, :], adjoint(left) @ x - w[..., :, None] * adjoint(left),
          jnp.linalg.norm(left, axis=-2), jnp.linalg.norm(right, axis=-2))


def eig_values(x):
  w, = linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
  return jnp.sum(w, -1), jnp.sum(w * w, -1), jnp.sum(w * w * w, -1)


def schur(x):
  t, z = linalg.schur(x)
  return z @ t @ adjoint(z), z @ adjoint(z), jnp.tril(t, -2), powers(t)


def routines(name, dtype):
  a, wide, tall, b = (random((2, *s), dtype) for s in ((4, 4), (4, 6), (6, 4), (4, 3)))
  one, d = random((5, 5), dtype), random((2, 4), dtype)
  rows = np.swapaxes(b, -1, -2).copy()
  eye = 4 * np.eye(4, dtype=dtype)
  positive = (a @ np.conj(np.swapaxes(a, -1, -2)) + eye).astype(dtype)
  case = lambda n, f, *x: program(f'{n}_{name}', f, *x)
  case('cholesky', linalg.cholesky, positive)
  case('cholesky_one', linalg.cholesky, positive[0])
  case('cholesky_indefinite', linalg.cholesky, a)
  case('lu', linalg.lu, wide)
  case('lu_tall', linalg.lu, tall)
  case('geqrf', linalg.geqrf, wide)
  case('qr', linalg.qr, tall)
  case('qr_thin', lambda x: linalg.qr(x, full_matrices=False), tall)
  case('qr_pivoting', lambda x: jax.scipy.linalg.qr(x, pivoting=True), one)
  case('ormqr', lambda a, t, c: linalg.ormqr(a, t, c, transpose=True), a, d, b)
  case('ormqr_right', lambda a, t, c: linalg.ormqr(a, t, c, left=False), a, d, rows)
  case('solve_upper', lambda a, b: linalg.triangular_solve(a, b, left_side=True), a + eye, b)
  case('solve_adjoint', lambda a, b: linalg.triangular_solve(
      a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True), a + eye, b)
  case('solve_right',
       lambda a, b: linalg.triangular_solve(a, b, lower=True, unit_diagonal=True), a, rows)
  case('eigh', eigh, a)
  case('eigh_upper', lambda x: eigh(x, lower=False, symmetrize_input=False), a)
  case('svd', svd, wide)
  case('svd_thin', lambda x: svd(x, full_matrices=False), tall)
  case('svd_values', lambda x: linalg.svd(x, compute_uv=False), wide)
  case('svd_qr', lambda x: svd(x, algorithm=linalg.SvdAlgorithm.QR), wide)
  case('eig', eig, a)
  case('eig_values', eig_values, a)
  case('schur', schur, a)
  case('schur_form', lambda x: powers(linalg.schur(x, compute_schur_vectors=False)[0]), a)
  case('hessenberg', linalg.hessenberg, a)
  case('tridiagonal', linalg.tridiagonal, a)
  case('tridiagonal_upper', lambda x: linalg.tridiagonal(x, lower=False), one)
  case('tridiagonal_solve', linalg.tridiagonal_solve, d, d + 4, d, b)
  perturbed = lambda *x: linalg.tridiagonal_solve(*x, perturb_singular=True)
  case('tridiagonal_solve_perturbed', perturbed, d, d + 4, d, b)


routines('f32', np.float32)
routines('c128', np.complex128)
x = random((4, 4), np.float64)
program('solve', jnp.linalg.solve, x, x[0])
program('solve_gradient', jax.grad(lambda a, b: jnp.linalg.solve(a, b).sum()), x, x[0])
program('singular', jnp.linalg.inv, np.zeros((3, 3), np.float32))
program('expm', jax.scipy.linalg.expm, x)
program('sqrtm', jax.scipy.linalg.sqrtm, x)
program('lstsq', lambda a, b: jnp.linalg.lstsq(a, b), x, x[:, :2])
program('cholesky_elsewhere', linalg.cholesky, x @ x.T + np.eye(4), platform='tpu')
program('solve_elsewhere', lambda a, b: linalg.triangular_solve(a, b, lower=True), x, x[:2],
        platform='tpu')
program('qr_elsewhere', linalg.qr, x, platform='tpu')
program('lu_elsewhere', linalg.lu, x, platform='tpu')
program('approx_max_k', lambda x: lax.approx_max_k(x, 3), random((4, 10), np.float32))
program('approx_min_k', lambda x: lax.approx_min_k(
    x, 3, reduction_dimension=0, recall_target=.9, aggregate_to_topk=False),
        random((40, 2), np.float32))
program('empty', linalg.cholesky, np.zeros((2, 0, 0), np.float32))
program('empty_lu', linalg.lu, np.zeros((2, 0, 3), np.float32))

topic.write()
