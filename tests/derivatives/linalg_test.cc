// Jax.numpy.linalg, jax.numpy.fft and jax.lax.linalg: values and derivatives as in JAX.
#include "tessera/numpy/linalg.h"

#include "derivatives.h"
#include "tessera/numpy/fft.h"
#include "tessera/numpy/lax_shapes.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/sorting.h"
#include "tessera/ops/factor/cholesky.h"
#include "tessera/ops/factor/eig.h"
#include "tessera/ops/factor/eigh.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/qr.h"
#include "tessera/ops/factor/reflectors.h"
#include "tessera/ops/factor/schur.h"
#include "tessera/ops/factor/svd.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/ops/factor/tridiagonal.h"

namespace tessera::derivatives_linalg_test {
namespace {

using namespace derivatives_test;

// The signs of vectors are free, so they are compared without.
Arrays results(const linalg::Eigen& e) { return {e.eigenvalues, abs(e.eigenvectors)}; }
Arrays results(const linalg::Svd& d) { return {square(d.u), d.s, square(d.vh)}; }
Arrays results(const linalg::Slogdet& d) { return {d.sign, d.logabsdet}; }
Arrays results(const linalg::Qr& d) { return {d.q, d.r}; }
Arrays results(const lax::linalg::Eigh& e) { return {e.w, square(e.v)}; }
Arrays results(const lax::linalg::Hessenberg& d) { return {d.h, d.taus}; }
Arrays results(const lax::linalg::Lu& d) { return {d.lu, d.pivots, d.permutation}; }
Arrays results(const lax::linalg::Qr& d) { return {d.q, d.r}; }
Arrays results(const lax::linalg::Tridiagonal& d) { return {d.d, abs(d.e)}; }
using derivatives_test::results;

const std::vector<Row> kRows = {
    CALL("jax.numpy.linalg.cholesky", linalg::cholesky(matmul(x[0], matrix_transpose(x[0])))),
    CALL("jax.numpy.linalg.cond", linalg::cond(x[0])),
    CALL("jax.numpy.linalg.cond/1", linalg::cond(x[0], 1)),
    CALL("jax.numpy.linalg.cross", linalg::cross(x[0], x[1])),
    CALL("jax.numpy.linalg.det", linalg::det(x[0])),
    CALL("jax.numpy.linalg.inv", linalg::inv(x[0])),
    CALL("jax.numpy.linalg.svdvals", linalg::svdvals(x[0])),
    CALL("jax.numpy.linalg.diagonal", linalg::diagonal(x[0])),
    CALL("jax.numpy.linalg.trace", linalg::trace(x[0])),
    CALL("jax.numpy.linalg.pinv", linalg::pinv(x[0])),
    CALL("jax.numpy.linalg.slogdet", linalg::slogdet(x[0])),
    CALL("jax.numpy.linalg.matrix_transpose", linalg::matrix_transpose(x[0])),
    CALL("jax.numpy.linalg.matrix_norm", linalg::matrix_norm(x[0])),
    CALL("jax.numpy.linalg.vector_norm", linalg::vector_norm(x[0])),
    CALL("jax.numpy.linalg.norm", linalg::norm(x[0])),
    CALL("jax.numpy.linalg.matrix_rank", linalg::matrix_rank(x[0])),
    CALL("jax.numpy.linalg.det/singular", linalg::det(x[0])),
    CALL("jax.numpy.linalg.det/complex", linalg::det(x[0])),
    CALL("jax.numpy.linalg.inv/complex", linalg::inv(x[0])),
    CALL("jax.numpy.linalg.norm/zero", linalg::norm(x[0])),
    CALL("jax.numpy.linalg.norm/complex", linalg::norm(x[0])),
    CALL("jax.numpy.linalg.norm/nuclear", linalg::norm(x[0], {.ord = "nuc"})),
    CALL("jax.numpy.linalg.norm/3", linalg::norm(x[0], {.ord = 3, .axis = 0})),
    CALL("jax.numpy.linalg.norm/inf", linalg::norm(x[0], {.ord = INFINITY})),
    CALL("jax.numpy.linalg.eig", linalg::eig(x[0])),
    CALL("jax.numpy.linalg.eigh", linalg::eigh(x[0])),
    CALL("jax.numpy.linalg.eigvals", sort(real(linalg::eigvals(x[0])))),
    CALL("jax.numpy.linalg.eigvalsh", linalg::eigvalsh(x[0])),
    CALL("jax.numpy.linalg.lstsq", linalg::lstsq(x[0], x[1]).x),
    CALL("jax.numpy.linalg.matmul", matmul(x[0], x[1])),
    CALL("jax.numpy.linalg.matrix_power", linalg::matrix_power(x[0], 3)),
    CALL("jax.numpy.linalg.matrix_power/negative", linalg::matrix_power(x[0], -2)),
    CALL("jax.numpy.linalg.multi_dot", linalg::multi_dot({x[0], x[1], x[2]})),
    CALL("jax.numpy.linalg.outer", linalg::outer(x[0], x[1])),
    CALL("jax.numpy.linalg.pinv/tall", linalg::pinv(x[0])),
    CALL("jax.numpy.linalg.qr", linalg::qr(x[0])),
    CALL("jax.numpy.linalg.solve", linalg::solve(x[0], x[1])),
    CALL("jax.numpy.linalg.solve/complex", linalg::solve(x[0], x[1])),
    CALL("jax.numpy.linalg.svd", linalg::svd(x[0], false)),
    CALL("jax.numpy.linalg.tensordot", tensordot(x[0], x[1], 1)),
    CALL("jax.numpy.linalg.tensorinv", linalg::tensorinv(x[0], 1)),
    CALL("jax.numpy.linalg.tensorsolve", linalg::tensorsolve(x[0], x[1])),
    CALL("jax.numpy.linalg.vecdot", vecdot(x[0], x[1])),
    CALL("jax.numpy.fft.fft", fft::fft(x[0])),
    CALL("jax.numpy.fft.ifft", fft::ifft(x[0])),
    CALL("jax.numpy.fft.fft2", fft::fft2(x[0])),
    CALL("jax.numpy.fft.ifft2", fft::ifft2(x[0])),
    CALL("jax.numpy.fft.fftn", fft::fftn(x[0])),
    CALL("jax.numpy.fft.ifftn", fft::ifftn(x[0])),
    CALL("jax.numpy.fft.rfft", fft::rfft(x[0])),
    CALL("jax.numpy.fft.ihfft", fft::ihfft(x[0])),
    CALL("jax.numpy.fft.fftshift", fft::fftshift(x[0])),
    CALL("jax.numpy.fft.ifftshift", fft::ifftshift(x[0])),
    CALL("jax.numpy.fft.rfft2", fft::rfft2(x[0])),
    CALL("jax.numpy.fft.rfftn", fft::rfftn(x[0])),
    CALL("jax.numpy.fft.irfft", fft::irfft(x[0])),
    CALL("jax.numpy.fft.hfft", fft::hfft(x[0])),
    CALL("jax.numpy.fft.irfft2", fft::irfft2(x[0])),
    CALL("jax.numpy.fft.irfftn", fft::irfftn(x[0])),
    CALL("jax.numpy.fft.fft/length",
         fft::fft(x[0], {.n = 5, .axis = 0, .norm = fft::Norm::kOrtho})),
    CALL("jax.numpy.fft.irfft/odd", fft::irfft(x[0], {.n = 5})),
    CALL("jax.numpy.fft.fftfreq", fft::fftfreq(5)),
    CALL("jax.numpy.fft.rfftfreq", fft::rfftfreq(5)),
    CALL("jax.lax.linalg.cholesky", lax::linalg::cholesky(matmul(x[0], matrix_transpose(x[0])))),
    CALL("jax.lax.linalg.cholesky_update", lax::linalg::cholesky_update(x[0], x[1])),
    CALL("jax.lax.linalg.eig", abs(lax::linalg::eig(x[0], false, true).vr)),
    CALL("jax.lax.linalg.eigh", lax::linalg::eigh(x[0])),
    CALL("jax.lax.linalg.hessenberg", lax::linalg::hessenberg(x[0])),
    CALL("jax.lax.linalg.householder_product", lax::linalg::householder_product(x[0], x[1])),
    CALL("jax.lax.linalg.lu", lax::linalg::lu(x[0])),
    CALL("jax.lax.linalg.lu_pivots_to_permutation", lax::linalg::lu_pivots_to_permutation(x[0], 4)),
    CALL("jax.lax.linalg.ormqr", lax::linalg::ormqr(x[0], x[1], x[2])),
    CALL("jax.lax.linalg.qdwh", lax::linalg::qdwh(x[0])),
    CALL("jax.lax.linalg.qr", lax::linalg::qr(x[0], false)),
    CALL("jax.lax.linalg.schur", abs(lax::linalg::schur(x[0], false).t)),
    CALL("jax.lax.linalg.svd", lax::linalg::svd(x[0], false).s),
    CALL("jax.lax.linalg.symmetric_product",
         lax::linalg::symmetric_product(x[0], x[1],
                                        {.alpha = 2, .beta = 0.5, .symmetrize_output = true})),
    CALL("jax.lax.linalg.triangular_solve",
         lax::linalg::triangular_solve(x[0], x[1], {.left_side = true, .lower = true})),
    CALL("jax.lax.linalg.tridiagonal", lax::linalg::tridiagonal(x[0])),
    CALL("jax.lax.linalg.tridiagonal_solve",
         lax::linalg::tridiagonal_solve(x[0], x[1], x[2], x[3])),
};

TEST(Derivatives, Linalg) { check_section("linalg", kRows); }

}  // namespace
}  // namespace tessera::derivatives_linalg_test
