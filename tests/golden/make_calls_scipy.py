"""calls_scipy.json, calls_scipy.npz: calls of jax.scipy, by module.

"sections": {section: [case]} as golden.Calls makes them; tests/scipy/<section>_test.cc makes the same calls under the
same names. Functions that JAX 0.10.2 does not have are SciPy's.
"""
import jax
import jax.numpy as jnp
import jax.scipy as js
import numpy as np
import scipy.linalg as sl

import golden

golden.setup()
rng = np.random.default_rng(36)
topic = golden.Calls('calls_scipy')


def floats(*shape):
  return rng.uniform(-2, 2, shape)


def scipys(function):
  """A function of SciPy, in the dtype that JAX computes in."""

  def run(*args):
    out = function(*(np.asarray(x) for x in args))
    kin = {np.dtype('float64'): jnp.zeros(0).dtype, np.dtype('complex128'): jnp.zeros(0, complex).dtype,
           np.dtype('int64'): jnp.zeros(0, int).dtype}
    return jax.tree.map(lambda x: np.asarray(x).astype(kin.get(np.asarray(x).dtype, np.asarray(x).dtype)), out)

  return run


A = floats(4, 4) + 3 * np.eye(4)
AB = floats(2, 3, 3) + 2 * np.eye(3)
P = A @ A.T
PB = AB @ np.swapaxes(AB, 1, 2)
B, V = floats(4, 3), floats(4)
C = A + 1j * floats(4, 4)
H = C @ C.conj().T
T = np.triu(A)

S = 'linalg'
call = lambda *a, **k: topic.call(S, *a, **k)
L = js.linalg
call('solve', L.solve, A, B, tolerance=20)
call('solve_positive', lambda a, b: L.solve(a, b, assume_a='pos'), P, B, tolerance=40)
call('solve_positive_vector', lambda a, b: L.solve(a, b, assume_a='pos', lower=True), P, V, tolerance=40)
call('solve_triangular', L.solve_triangular, T, B, tolerance=10)
call('solve_triangular_lower', lambda a, b: L.solve_triangular(a, b, lower=True, trans=1), T.T, V, tolerance=10)
call('solve_triangular_unit', lambda a, b: L.solve_triangular(a, b, unit_diagonal=True, trans='C'), C, V, tolerance=20)
call('solve_triangular_batch', L.solve_triangular, np.triu(AB), floats(3, 2), tolerance=10)
call('cholesky', L.cholesky, P, tolerance=10)
call('cholesky_lower', lambda a: L.cholesky(a, lower=True), PB, tolerance=10)
call('cho_solve', lambda a, b: L.cho_solve(L.cho_factor(a), b), P, V, tolerance=40)
call('cho_solve_lower', lambda a, b: L.cho_solve(L.cho_factor(a, lower=True), b), P, B, tolerance=40)
call('lu_factor', L.lu_factor, A, tolerance=10)
for trans in (0, 1, 2):
  call(f'lu_solve_{trans}', lambda a, b, t=trans: L.lu_solve(L.lu_factor(a), b, trans=t), C, B, tolerance=20)
call('lu_solve_vector', lambda a, b: L.lu_solve(L.lu_factor(a), b), A, V, tolerance=20)
call('lu', L.lu, floats(4, 3), tolerance=10)
call('lu_permuted', lambda a: L.lu(a, permute_l=True), A, tolerance=10)
call('qr', lambda a: L.qr(a, mode='economic'), A, tolerance=20)
call('qr_product', lambda a: (lambda q, r: q @ r)(*L.qr(a)), floats(4, 3), tolerance=20, gradient=False)
call('eigh', lambda a: L.eigh(a, eigvals_only=True), P, tolerance=20)
for t in (1, 2, 3):
  call(f'eigh_{t}', lambda a, b, t=t: scipys(lambda x, y: sl.eigh(x, y, type=t, eigvals_only=True))(a, b), H[:3, :3],
       PB[0] + np.eye(3), traced=False, gradient=False, tolerance=60)
call('eigvalsh_tridiagonal', lambda d, e: L.eigh_tridiagonal(d, e, eigvals_only=True), V, B[:3, 0], tolerance=10,
     gradient=False)
call('eigvalsh_tridiagonal_some',
     lambda d, e: L.eigh_tridiagonal(d, e, eigvals_only=True, select='i', select_range=(1, 2)), V, B[:3, 0],
     tolerance=10, gradient=False)
call('schur_product', lambda a: (lambda t, z: z @ t @ z.T)(*L.schur(a)), A, tolerance=20, gradient=False)
call('schur_complex', lambda a: (lambda t, z: z @ t @ z.conj().T)(*L.schur(a, output='complex')), A, tolerance=20,
     gradient=False)
call('hessenberg', lambda a: L.hessenberg(a, calc_q=True), A, tolerance=10, gradient=False)
call('polar', lambda a: L.polar(a, method='svd'), floats(4, 3), tolerance=20, gradient=False)
call('polar_left', lambda a: L.polar(a, side='left', method='svd'), AB, tolerance=20, gradient=False)
call('expm', L.expm, AB * 0.4, tolerance=40)
call('expm_frechet', L.expm_frechet, A * 0.3, floats(4, 4), tolerance=40, gradient=False)
call('sqrtm', L.sqrtm, P, tolerance=40, gradient=False)
call('sqrtm_complex', L.sqrtm, C, tolerance=40, gradient=False)
call('sqrtm_singular', L.sqrtm, np.diag([0.0, 4.0, 9.0]), tolerance=10, gradient=False)
call('funm', lambda a: scipys(lambda x: sl.funm(x, np.exp).astype(complex))(a), A, traced=False, tolerance=100,
     gradient=False)
call('solve_sylvester', lambda a, b, c: scipys(sl.solve_sylvester)(a, b, c), A, AB[0], floats(4, 3), traced=False,
     tolerance=40, gradient=False)
call('solve_sylvester_complex', lambda a, b, c: scipys(sl.solve_sylvester)(a, b, c), C, AB[0], floats(4, 3) + 0j,
     traced=False, tolerance=40, gradient=False)
call('block_diag', lambda x, y: L.block_diag(x, y, 7.0), B, V)
call('toeplitz', L.toeplitz, V)
call('toeplitz_row', L.toeplitz, V, B[0])
call('toeplitz_complex', L.toeplitz, C[0])
call('hilbert', lambda: L.hilbert(4))
call('pascal', lambda: (L.pascal(4), L.pascal(4, 'lower'), L.pascal(4, 'upper')), traced=False)
for name, f in (('hankel', sl.hankel), ('circulant', sl.circulant), ('companion', sl.companion),
                ('fiedler_companion', sl.fiedler_companion), ('fiedler', sl.fiedler)):
  call(name, scipys(f), np.append(V, 0.7), traced=False, gradient=False)
call('hankel_row', scipys(sl.hankel), V, B[0], traced=False, gradient=False)
call('leslie', scipys(sl.leslie), V, B[0], traced=False, gradient=False)
for mode in ('full', 'same', 'valid'):
  call(f'convolution_matrix_{mode}', scipys(lambda a, m=mode: sl.convolution_matrix(a, 3, mode=m)), V, traced=False,
       gradient=False)
for scale in (None, 'sqrtn', 'n'):
  call(f'dft_{scale}', scipys(lambda s=scale: sl.dft(5, s)), traced=False)
call('hadamard', scipys(lambda: sl.hadamard(8)), traced=False)
call('helmert', scipys(lambda: sl.helmert(5)), traced=False)
call('helmert_full', scipys(lambda: sl.helmert(4, full=True)), traced=False)
call('invhilbert', scipys(lambda: sl.invhilbert(5)), traced=False)
call('invpascal', scipys(lambda: tuple(sl.invpascal(5, kind=k).astype(float) for k in ('symmetric', 'lower', 'upper'))),
     traced=False)

topic.write()
