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
# The functions read one triangle. JAX's rule for cholesky reads all of the tangent, so that its gradient is the
# function's only if what is factored is symmetric by how it is computed.
symmetric = lambda m: m @ jnp.swapaxes(m, -1, -2)
call('cholesky', lambda m: L.cholesky(symmetric(m)), A, tolerance=10)
call('cholesky_lower', lambda m: L.cholesky(symmetric(m), lower=True), AB, tolerance=10)
call('cho_solve', lambda m, b: L.cho_solve(L.cho_factor(symmetric(m)), b), A, V, tolerance=40)
call('cho_solve_lower', lambda m, b: L.cho_solve(L.cho_factor(symmetric(m), lower=True), b), A, B, tolerance=40)
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

S = 'signal'
G = js.signal
X1, X2 = floats(40), floats(40)
XB = floats(2, 50)
call('convolve', G.convolve, V, B[0], tolerance=2)
call('convolve_same', lambda x, y: G.convolve(x, y, mode='same'), A, B[:3], tolerance=2)
call('convolve_swapped', lambda x, y: G.convolve(x, y, mode='same'), B[:3], A, tolerance=2)
call('convolve_valid', lambda x, y: G.convolve(x, y, mode='valid'), A, B[:2], tolerance=2)
call('convolve_fft', lambda x, y: G.convolve(x, y, method='fft'), V, B[0], tolerance=10)
call('correlate', G.correlate, V, B[0], tolerance=2)
call('correlate_complex', G.correlate, C[0], C[1, :2], tolerance=2)
for mode in ('full', 'same', 'valid'):
  call(f'convolve2d_{mode}', lambda x, y, m=mode: G.convolve2d(x, y, mode=m), A, B[:3], tolerance=2)
  call(f'correlate2d_{mode}', lambda x, y, m=mode: G.correlate2d(x, y, mode=m), A, B[:3], tolerance=2)
  call(f'correlate2d_{mode}_swapped', lambda x, y, m=mode: G.correlate2d(x, y, mode=m), B[:3], C, tolerance=2,
       gradient=False)
  call(f'fftconvolve_{mode}', lambda x, y, m=mode: G.fftconvolve(x, y, mode=m), A, B[:3], tolerance=10)
call('fftconvolve_axes', lambda x, y: G.fftconvolve(x, y, axes=1), A, B, tolerance=10)
call('fftconvolve_complex', G.fftconvolve, C, B, tolerance=10)
call('detrend', G.detrend, XB, tolerance=20)
call('detrend_constant', lambda x: G.detrend(x, type='constant', axis=0), A, tolerance=2)
call('detrend_breaks', lambda x: G.detrend(x, bp=[20, 30]), XB, tolerance=20, gradient=False)
call('welch', lambda x: G.welch(x, fs=10.0, nperseg=16), X1, tolerance=10)
call('welch_median', lambda x: G.welch(x, nperseg=8, noverlap=2, average='median', scaling='spectrum', detrend='linear'),
     XB, tolerance=20, gradient=False)
call('welch_two_sided', lambda x: G.welch(x, nperseg=9, nfft=16, return_onesided=False), X1, tolerance=10)
call('csd', lambda x, y: G.csd(x, y, fs=2.0, nperseg=16), X1, X2, tolerance=10)
call('csd_lengths', lambda x, y: G.csd(x, y, nperseg=16), X1, X2[:30], tolerance=10)
call('stft', lambda x: G.stft(x, fs=10.0, nperseg=16), XB, tolerance=10)
call('stft_options', lambda x: G.stft(x, nperseg=8, noverlap=6, nfft=12, boundary='odd', detrend='constant'), X1,
     tolerance=10)
for boundary in ('even', 'constant', None):
  call(f'stft_{boundary}', lambda x, b=boundary: G.stft(x, nperseg=12, boundary=b, padded=b is not None), X1,
       tolerance=10, gradient=False)
call('istft', lambda x: G.istft(G.stft(x, nperseg=16)[2], fs=10.0, nperseg=16)[1], X1, tolerance=20)

S = 'fft'
for norm in (None, 'ortho'):
  for f in ('dct', 'idct'):
    call(f'{f}_{norm}', lambda x, f=getattr(js.fft, f), n=norm: f(x, norm=n), XB, tolerance=10)
call('dct_n', lambda x: js.fft.dct(x, n=9, axis=0), A, tolerance=10)
call('idct_odd', lambda x: js.fft.idct(x), floats(2, 7), tolerance=10)
call('dct_one', lambda x: (js.fft.dct(x), js.fft.idct(x)), floats(3, 1), tolerance=10)
call('dctn', js.fft.dctn, A, tolerance=10)
call('dctn_s', lambda x: js.fft.dctn(x, s=(5, 6)), A, tolerance=10, gradient=False)
call('idctn', lambda x: js.fft.idctn(x, axes=(0, 1), norm='ortho'), A, tolerance=10)
call('dct_complex', js.fft.dct, C, tolerance=10)

S = 'ndimage'
PLACES = (np.array([-1.3, 0.2, 1.5, 2.7, 4.1]), np.array([0.4, 2.6, -0.7, 1.2, 5.3]))
for mode in ('constant', 'nearest', 'wrap', 'mirror', 'reflect'):
  for order in (0, 1):
    call(f'{mode}_{order}',
         lambda x, i, j, m=mode, o=order: js.ndimage.map_coordinates(x, [i, j], o, mode=m, cval=7.0), A, *PLACES,
         gradient=order == 1, tolerance=4)
call('integers', lambda x, i, j: js.ndimage.map_coordinates(x, [i, j], 1), np.arange(12).reshape(3, 4), *PLACES)

S = 'vq'
call('vq', js.cluster.vq.vq, floats(7, 3), floats(4, 3), tolerance=4)
call('vq_vectors', js.cluster.vq.vq, V, B[0], tolerance=4, gradient=False)

S = 'interpolate'
GX, GY = np.array([0.0, 0.5, 2.0]), np.array([-1.0, 0.0, 1.0, 4.0])
TABLE = floats(3, 4)
AT = np.array([[0.1, -0.5], [1.9, 3.0], [0.5, 0.0], [3.0, 0.0]])
grid = lambda v, **k: js.interpolate.RegularGridInterpolator((GX.astype(v.dtype), GY.astype(v.dtype)), v, **k)
call('linear', lambda v, x: grid(v)(x), TABLE, AT[:3], tolerance=4)
call('nearest', lambda v, x: grid(v, method='nearest')(x), TABLE, AT[:2], gradient=False)
call('outside', lambda v, x: grid(v, bounds_error=False)(x), TABLE, AT, gradient=False, traced=True)
call('fill', lambda v, x: grid(v, bounds_error=False, fill_value=5.0)(x), TABLE, AT, tolerance=4)
call('extrapolated', lambda v, x: grid(v, bounds_error=False, fill_value=None)(x), TABLE, AT, tolerance=4)
call('further', lambda v, x: grid(v)(x), floats(3, 4, 2), AT[:3], tolerance=4, gradient=False)

topic.write()
