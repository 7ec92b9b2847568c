// Jax.scipy except stats, and odeint: values and derivatives as in JAX.
#include "derivatives.h"
#include "tessera/scipy/cluster/vq.h"
#include "tessera/scipy/fft.h"
#include "tessera/scipy/integrate.h"
#include "tessera/scipy/interpolate.h"
#include "tessera/scipy/linalg.h"
#include "tessera/scipy/ndimage.h"
#include "tessera/scipy/ode.h"
#include "tessera/scipy/optimize.h"
#include "tessera/scipy/signal.h"
#include "tessera/scipy/sparse/linalg.h"
#include "tessera/scipy/spatial/transform.h"
#include "tessera/scipy/special.h"
#include "tessera/tessera.h"

namespace tessera::derivatives_scipy_test {
namespace {

using namespace derivatives_test;

Arrays results(const scipy::linalg::Lu& d) { return {d.p, d.l, d.u}; }
Arrays results(const scipy::linalg::LuFactor& d) { return {d.lu, d.pivots}; }
Arrays results(const scipy::linalg::Qr& d) { return {d.q, d.r}; }
Arrays results(const scipy::linalg::Eigh& e) { return {e.w, square(e.v)}; }
Arrays results(const scipy::signal::Spectrum& s) { return {s.frequencies, s.power}; }
Arrays results(const scipy::signal::Stft& s) { return {s.frequencies, s.times, s.values}; }
Arrays results(const scipy::signal::Istft& s) { return {s.times, s.x}; }

Array product_of_schur(const std::pair<Array, Array>& d) {
  const auto& [t, z] = d;
  return matmul(matmul(z, t), matrix_transpose(z));
}
Array product_of_rsf2csf(const std::pair<Array, Array>& real_form) {
  const auto [t, z] = scipy::linalg::rsf2csf(real_form.first, real_form.second);
  return real(matmul(matmul(z, t), conj(matrix_transpose(z))));
}
Array swung(const Array& y, const Array& t, const Array& k) {
  return experimental::ode::odeint(
      [&](const Array& v, const Array& at) { return -k * sin(v) + at; }, y, t,
      {.rtol = 1e-12, .atol = 1e-12});
}
using derivatives_test::results;

const std::vector<Row> kRows = {
    CALL("jax.scipy.special.dawsn", scipy::special::dawsn(x[0])),
    CALL("jax.scipy.special.digamma", scipy::special::digamma(x[0])),
    CALL("jax.scipy.special.entr", scipy::special::entr(x[0])),
    CALL("jax.scipy.special.erf", scipy::special::erf(x[0])),
    CALL("jax.scipy.special.erfc", scipy::special::erfc(x[0])),
    CALL("jax.scipy.special.erfcx", scipy::special::erfcx(x[0])),
    CALL("jax.scipy.special.exp1", scipy::special::exp1(x[0])),
    CALL("jax.scipy.special.expi", scipy::special::expi(x[0])),
    CALL("jax.scipy.special.expit", scipy::special::expit(x[0])),
    CALL("jax.scipy.special.gamma", scipy::special::gamma(x[0])),
    CALL("jax.scipy.special.gammaln", scipy::special::gammaln(x[0])),
    CALL("jax.scipy.special.gammasgn", scipy::special::gammasgn(x[0])),
    CALL("jax.scipy.special.i0", scipy::special::i0(x[0])),
    CALL("jax.scipy.special.i0e", scipy::special::i0e(x[0])),
    CALL("jax.scipy.special.i1", scipy::special::i1(x[0])),
    CALL("jax.scipy.special.i1e", scipy::special::i1e(x[0])),
    CALL("jax.scipy.special.log_ndtr", scipy::special::log_ndtr(x[0])),
    CALL("jax.scipy.special.ndtr", scipy::special::ndtr(x[0])),
    CALL("jax.scipy.special.loggamma", scipy::special::loggamma(x[0])),
    CALL("jax.scipy.special.sici", scipy::special::sici(x[0])),
    CALL("jax.scipy.special.log_softmax", scipy::special::log_softmax(x[0])),
    CALL("jax.scipy.special.softmax", scipy::special::softmax(x[0])),
    CALL("jax.scipy.special.logsumexp", scipy::special::logsumexp(x[0])),
    CALL("jax.scipy.special.factorial", scipy::special::factorial(x[0])),
    CALL("jax.scipy.special.fresnel", scipy::special::fresnel(x[0])),
    CALL("jax.scipy.special.spence", scipy::special::spence(x[0])),
    CALL("jax.scipy.special.log_ndtr/negative", scipy::special::log_ndtr(x[0])),
    CALL("jax.scipy.special.ndtr/negative", scipy::special::ndtr(x[0])),
    CALL("jax.scipy.special.i0/negative", scipy::special::i0(x[0])),
    CALL("jax.scipy.special.i0e/negative", scipy::special::i0e(x[0])),
    CALL("jax.scipy.special.i1/negative", scipy::special::i1(x[0])),
    CALL("jax.scipy.special.i1e/negative", scipy::special::i1e(x[0])),
    CALL("jax.scipy.special.erf/negative", scipy::special::erf(x[0])),
    CALL("jax.scipy.special.erfc/negative", scipy::special::erfc(x[0])),
    CALL("jax.scipy.special.erfcx/negative", scipy::special::erfcx(x[0])),
    CALL("jax.scipy.special.expit/negative", scipy::special::expit(x[0])),
    CALL("jax.scipy.special.dawsn/negative", scipy::special::dawsn(x[0])),
    CALL("jax.scipy.special.sici/negative", scipy::special::sici(x[0])),
    CALL("jax.scipy.special.expi/negative", scipy::special::expi(x[0])),
    CALL("jax.scipy.special.gamma/negative", scipy::special::gamma(x[0])),
    CALL("jax.scipy.special.gammaln/negative", scipy::special::gammaln(x[0])),
    CALL("jax.scipy.special.gammasgn/negative", scipy::special::gammasgn(x[0])),
    CALL("jax.scipy.special.fresnel/negative", scipy::special::fresnel(x[0])),
    CALL("jax.scipy.special.erfinv", scipy::special::erfinv(x[0])),
    CALL("jax.scipy.special.erfcinv", scipy::special::erfcinv(x[0])),
    CALL("jax.scipy.special.logit", scipy::special::logit(x[0])),
    CALL("jax.scipy.special.ndtri", scipy::special::ndtri(x[0])),
    CALL("jax.scipy.special.beta", scipy::special::beta(x[0], x[1])),
    CALL("jax.scipy.special.betaln", scipy::special::betaln(x[0], x[1])),
    CALL("jax.scipy.special.kl_div", scipy::special::kl_div(x[0], x[1])),
    CALL("jax.scipy.special.rel_entr", scipy::special::rel_entr(x[0], x[1])),
    CALL("jax.scipy.special.xlog1py", scipy::special::xlog1py(x[0], x[1])),
    CALL("jax.scipy.special.xlogy", scipy::special::xlogy(x[0], x[1])),
    CALL("jax.scipy.special.gammainc", scipy::special::gammainc(x[0], x[1])),
    CALL("jax.scipy.special.gammaincc", scipy::special::gammaincc(x[0], x[1])),
    CALL("jax.scipy.special.owens_t", scipy::special::owens_t(x[0], x[1])),
    CALL("jax.scipy.special.poch", scipy::special::poch(x[0], x[1])),
    CALL("jax.scipy.special.boxcox", scipy::special::boxcox(x[0], x[1])),
    CALL("jax.scipy.special.boxcox1p", scipy::special::boxcox1p(x[0], x[1])),
    CALL("jax.scipy.special.comb", scipy::special::comb(x[0], x[1])),
    CALL("jax.scipy.special.zeta", scipy::special::zeta(x[0], x[1])),
    CALL("jax.scipy.special.wofz", scipy::special::wofz(x[0])),
    CALL("jax.scipy.special.polygamma", scipy::special::polygamma(x[0], x[1])),
    CALL("jax.scipy.special.expn", scipy::special::expn(x[0], x[1])),
    CALL("jax.scipy.special.bernoulli", scipy::special::bernoulli(6)),
    CALL("jax.scipy.special.bessel_jn", scipy::special::bessel_jn(x[0], {.v = 3})),
    CALL("jax.scipy.special.betainc", scipy::special::betainc(x[0], x[1], x[2])),
    CALL("jax.scipy.special.hyp1f1", scipy::special::hyp1f1(x[0], x[1], x[2])),
    CALL("jax.scipy.special.hyp2f1", scipy::special::hyp2f1(x[0], x[1], x[2], x[3])),
    CALL("jax.scipy.special.multigammaln", scipy::special::multigammaln(x[0], 3)),
    CALL("jax.scipy.special.sph_harm_y",
         scipy::special::sph_harm_y(x[0], x[1], x[2], x[3], {.n_max = 3})),
    CALL("jax.scipy.linalg.block_diag", scipy::linalg::block_diag({x[0], x[1]})),
    CALL("jax.scipy.linalg.cho_factor",
         tril(scipy::linalg::cho_factor(matmul(x[0], matrix_transpose(x[0])), {.lower = true}).c)),
    CALL("jax.scipy.linalg.cho_solve", scipy::linalg::cho_solve({tril(x[0]), true}, x[1])),
    CALL("jax.scipy.linalg.cholesky",
         scipy::linalg::cholesky(matmul(x[0], matrix_transpose(x[0])))),
    CALL("jax.scipy.linalg.det", scipy::linalg::det(x[0])),
    CALL("jax.scipy.linalg.inv", scipy::linalg::inv(x[0])),
    CALL("jax.scipy.linalg.eigh", scipy::linalg::eigh(matmul(x[0], matrix_transpose(x[0])))),
    CALL("jax.scipy.linalg.eigh_tridiagonal", scipy::linalg::eigvalsh_tridiagonal(x[0], x[1])),
    CALL("jax.scipy.linalg.expm", scipy::linalg::expm(x[0])),
    CALL("jax.scipy.linalg.expm_frechet", scipy::linalg::expm_frechet(x[0], x[1])),
    CALL("jax.scipy.linalg.funm", scipy::linalg::funm(x[0], [](const Array& v) { return exp(v); })),
    CALL("jax.scipy.linalg.sqrtm", scipy::linalg::sqrtm(matmul(x[0], matrix_transpose(x[0])))),
    CALL("jax.scipy.linalg.lu", scipy::linalg::lu(x[0])),
    CALL("jax.scipy.linalg.lu_factor", scipy::linalg::lu_factor(x[0])),
    CALL("jax.scipy.linalg.lu_solve",
         scipy::linalg::lu_solve(scipy::linalg::lu_factor(x[0]), x[1])),
    CALL("jax.scipy.linalg.polar", scipy::linalg::polar(x[0])),
    CALL("jax.scipy.linalg.qr", scipy::linalg::qr(x[0], scipy::linalg::QrMode::kEconomic)),
    CALL("jax.scipy.linalg.qr_multiply", scipy::linalg::qr_multiply(x[0], x[1])),
    CALL("jax.scipy.linalg.hessenberg", scipy::linalg::hessenberg(x[0]).h),
    CALL("jax.scipy.linalg.schur", product_of_schur(scipy::linalg::schur(x[0]))),
    CALL("jax.scipy.linalg.rsf2csf", product_of_rsf2csf(scipy::linalg::schur(x[0]))),
    CALL("jax.scipy.linalg.solve", scipy::linalg::solve(x[0], x[1])),
    CALL("jax.scipy.linalg.solve/positive",
         scipy::linalg::solve(matmul(x[0], matrix_transpose(x[0])), x[1],
                              {.assume_a = scipy::linalg::AssumeA::kPositiveDefinite})),
    CALL("jax.scipy.linalg.solve_sylvester", scipy::linalg::solve_sylvester(x[0], x[1], x[2])),
    CALL("jax.scipy.linalg.solve_triangular",
         scipy::linalg::solve_triangular(x[0], x[1], {.lower = true})),
    CALL("jax.scipy.linalg.svd", scipy::linalg::svd(x[0], false).s),
    CALL("jax.scipy.linalg.toeplitz", scipy::linalg::toeplitz(x[0], x[1])),
    CALL("jax.scipy.linalg.circulant", scipy::linalg::circulant(x[0])),
    CALL("jax.scipy.linalg.companion", scipy::linalg::companion(x[0])),
    CALL("jax.scipy.linalg.fiedler", scipy::linalg::fiedler(x[0])),
    CALL("jax.scipy.linalg.fiedler_companion", scipy::linalg::fiedler_companion(x[0])),
    CALL("jax.scipy.linalg.hankel", scipy::linalg::hankel(x[0], x[1])),
    CALL("jax.scipy.linalg.leslie", scipy::linalg::leslie(x[0], x[1])),
    CALL("jax.scipy.linalg.convolution_matrix", scipy::linalg::convolution_matrix(x[0], 3)),
    CALL("jax.scipy.linalg.dft", scipy::linalg::dft(5)),
    CALL("jax.scipy.linalg.hadamard", scipy::linalg::hadamard(4)),
    CALL("jax.scipy.linalg.helmert", scipy::linalg::helmert(4)),
    CALL("jax.scipy.linalg.hilbert", scipy::linalg::hilbert(4)),
    CALL("jax.scipy.linalg.invhilbert", scipy::linalg::invhilbert(4)),
    CALL("jax.scipy.linalg.pascal", scipy::linalg::pascal(4)),
    CALL("jax.scipy.linalg.invpascal", scipy::linalg::invpascal(4)),
    CALL("jax.scipy.signal.convolve", scipy::signal::convolve(x[0], x[1])),
    CALL("jax.scipy.signal.correlate", scipy::signal::correlate(x[0], x[1])),
    CALL("jax.scipy.signal.fftconvolve", scipy::signal::fftconvolve(x[0], x[1])),
    CALL("jax.scipy.signal.convolve2d", scipy::signal::convolve2d(x[0], x[1])),
    CALL("jax.scipy.signal.correlate2d", scipy::signal::correlate2d(x[0], x[1])),
    CALL("jax.scipy.signal.detrend", scipy::signal::detrend(x[0])),
    CALL("jax.scipy.signal.welch", scipy::signal::welch(x[0], {.nperseg = 8})),
    CALL("jax.scipy.signal.csd", scipy::signal::csd(x[0], x[1], {.nperseg = 8})),
    CALL("jax.scipy.signal.stft", scipy::signal::stft(x[0], {.nperseg = 8})),
    CALL("jax.scipy.signal.istft", scipy::signal::istft(x[0], {.nperseg = 4})),
    CALL("jax.scipy.fft.dct", scipy::fft::dct(x[0])),
    CALL("jax.scipy.fft.idct", scipy::fft::idct(x[0])),
    CALL("jax.scipy.fft.dctn", scipy::fft::dctn(x[0])),
    CALL("jax.scipy.fft.idctn", scipy::fft::idctn(x[0])),
    CALL("jax.scipy.cluster.vq.vq", scipy::cluster::vq::vq(x[0], x[1])),
    CALL("jax.scipy.integrate.trapezoid", scipy::integrate::trapezoid(x[0], {.x = x[1]})),
    CALL("jax.scipy.interpolate.RegularGridInterpolator",
         scipy::interpolate::RegularGridInterpolator({arange(3.0), arange(4.0)}, x[0])(x[1])),
    CALL("jax.scipy.ndimage.map_coordinates",
         scipy::ndimage::map_coordinates(x[0], {x[1], x[2]}, 1)),
    CALL("jax.scipy.optimize.minimize", scipy::optimize::minimize(
                                            [](const Array& v) {
                                              return sum(square(v - 0.3) * array({1.0, 3.0}));
                                            },
                                            x[0])
                                            .x),
    CALL("jax.scipy.sparse.linalg.cg",
         scipy::sparse::linalg::cg(matmul(x[0], matrix_transpose(x[0])), x[1], {.tol = 1e-14})
             .first),
    CALL("jax.scipy.sparse.linalg.gmres",
         scipy::sparse::linalg::gmres(x[0], x[1], {.tol = 1e-14}).first),
    CALL("jax.scipy.sparse.linalg.bicgstab",
         scipy::sparse::linalg::bicgstab(x[0], x[1], {.tol = 1e-14}).first),
    CALL("jax.scipy.spatial.transform.Rotation",
         scipy::spatial::transform::Rotation::from_rotvec(x[0]).apply(x[1])),
    CALL("jax.scipy.spatial.transform.Slerp",
         scipy::spatial::transform::Slerp(
             arange(3.0), scipy::spatial::transform::Rotation::from_rotvec(x[1]))(x[0])
             .as_quat()),
    CALL("jax.experimental.ode.odeint", swung(x[0], x[1], x[2])),
};

TEST(Derivatives, Scipy) { check_section("scipy", kRows); }

}  // namespace
}  // namespace tessera::derivatives_scipy_test

const std::vector<tessera::derivatives_test::Row>& tessera::derivatives_test::scipy_rows() {
  return derivatives_scipy_test::kRows;
}
