#include "tessera/privacy/matrix_factorization/buffered_toeplitz.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "tessera/base/blas.h"
#include "tessera/base/format.h"
#include "tessera/ops/factor/lapack.h"
#include "tessera/privacy/infinity.h"
#include "tessera/privacy/matrix_factorization/buffered_toeplitz_adjoint.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {
namespace {

constexpr double kMinGap = 1e-9;  // the least distance of decays for which an inverse has digits

bool any(const std::vector<double>& values, auto predicate) {
  return std::any_of(values.begin(), values.end(), predicate);
}

void expect_distinct(const std::vector<double>& decays, const char* op) {
  const double gap = min_buf_decay_gap(decays);
  if (!(gap >= kMinGap))
    value_error(op, "expected decays at least {} apart, got a distance of {}; use fewer buffers",
                kMinGap, gap);
}

// Returns the decays l of the inverse: the eigenvalues of diag(theta) - omega 1^T, which are the
// zeros of 1 - sum_j omega_j / (theta_j - l).
std::vector<double> inverse_decays(const BufferedToeplitz& blt) {
  const size_t m = blt.buf_decay.size();
  std::vector<double> companion(m * m);  // column-major
  for (size_t i = 0; i < m * m; ++i) companion[i] = -blt.output_scale[i % m];
  for (size_t i = 0; i < m; ++i) companion[i * m + i] += blt.buf_decay[i];
  std::vector<std::complex<double>> values(m);
  const bool finite = ops::lapack::all_finite(companion.data(), static_cast<int64_t>(m * m));
  const BlasThreads one(1);
  const bool found =
      finite && ops::lapack::geev<double>(/*left=*/false, /*right=*/false, static_cast<int>(m),
                                          companion.data(), values.data(), nullptr, nullptr) == 0;
  std::vector<double> out;
  for (const std::complex<double>& value : values) {
    if (!found || std::abs(value.imag()) > 1e-7)
      value_error("privacy::BufferedToeplitz::inverse",
                  "expected parameters whose inverse has real decays, got {}; output scales that "
                  "are all positive have one",
                  to_string(blt));
    out.push_back(value.real());
  }
  return out;
}

// Returns the decay, improved by Newton's method, which reduces the error of the eigenvalue solver.
double polished(const BufferedToeplitz& blt, double decay) {
  const auto residual = [&](double l, double& slope) {
    double value = -1;
    slope = 0;
    for (size_t j = 0; j < blt.buf_decay.size(); ++j) {
      const double share = blt.output_scale[j] / (blt.buf_decay[j] - l);
      value += share;
      slope += share / (blt.buf_decay[j] - l);
    }
    return value;
  };
  double slope = 0, next_slope = 0;
  double value = residual(decay, slope);
  for (int step = 0; step < 4; ++step) {
    const double next = decay - value / slope;
    const double next_value = residual(next, next_slope);
    if (!(std::abs(next_value) < std::abs(value))) break;
    decay = next;
    value = next_value;
    slope = next_slope;
  }
  return decay;
}

// Throws UserError unless the two are inverses. BLTs of m buffers are inverses if the first 2 m + 1
// coefficients of their product are those of the identity.
void expect_inverse(const BufferedToeplitz& blt, const BufferedToeplitz& inverse) {
  const auto n = 2 * blt.num_buffers() + 1;
  toeplitz::Coefs product = toeplitz::multiply(blt.toeplitz_coefs(n), inverse.toeplitz_coefs(n));
  product[0] -= 1;
  if (any(product, [](double v) { return !(std::abs(v) <= 1e-7); }))
    value_error("privacy::BufferedToeplitz::inverse",
                "expected parameters that an inverse can be computed for, got {}; use fewer "
                "buffers, further apart",
                to_string(blt));
}

}  // namespace

BufferedToeplitz BufferedToeplitz::build(std::vector<double> buf_decay,
                                         std::vector<double> output_scale) {
  return BufferedToeplitz{std::move(buf_decay), std::move(output_scale)}.canonicalize();
}

void BufferedToeplitz::validate() const {
  constexpr const char* kOp = "privacy::BufferedToeplitz";
  if (buf_decay.size() != output_scale.size())
    shape_error(kOp, "expected buf_decay and output_scale of one length, got {} and {}",
                buf_decay.size(), output_scale.size());
  const auto not_finite = [](double v) { return !std::isfinite(v); };
  if (any(buf_decay, not_finite) || any(output_scale, not_finite))
    value_error(kOp, "expected finite parameters, got buf_decay [{}] and output_scale [{}]",
                fmt::join(buf_decay, ", "), fmt::join(output_scale, ", "));
}

BufferedToeplitz BufferedToeplitz::canonicalize() const {
  validate();
  std::vector<size_t> order(buf_decay.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buf_decay[a] > buf_decay[b]; });
  BufferedToeplitz out;
  for (size_t i : order) {
    out.buf_decay.push_back(buf_decay[i]);
    out.output_scale.push_back(output_scale[i]);
  }
  return out;
}

BufferedToeplitz BufferedToeplitz::from_rational_approx_to_sqrt_x(
    const RationalApproximation& options) {
  const auto& [num_buffers, max_decay, max_score, decay_scale, shift] = options;
  if (num_buffers < 1)
    value_error("privacy::BufferedToeplitz::from_rational_approx_to_sqrt_x",
                "expected at least one buffer, got {}", num_buffers);
  // The approximated function is the square root itself (the noising matrix), at nodes k in steps
  // of h.
  const int64_t half = (num_buffers + 1) / 2;
  const double h = decay_scale * std::numbers::pi / std::sqrt(2.0 * (half + 1.0));
  BufferedToeplitz inverse;
  double constant = 0;
  for (int64_t i = 0; i < num_buffers; ++i) {
    const auto k = static_cast<double>(i + 1 - half + shift);
    const double decay = 1 / (1 + std::exp(2 * h * k));
    inverse.buf_decay.push_back(decay);
    inverse.output_scale.push_back(-decay * decay * std::exp(3 * h * k));
    constant += std::exp(h * k) * decay;
  }
  for (double& s : inverse.output_scale) s /= constant;
  BufferedToeplitz out = inverse.canonicalize().inverse();
  const double by_decay = std::min(1.0, max_decay / out.buf_decay[0]);
  for (double& d : out.buf_decay) d *= by_decay;
  if (!max_score) return out;
  const double by_score = std::min(1.0, *max_score / out.pillutla_score());
  for (double& s : out.output_scale) s *= by_score;
  return out;
}

toeplitz::Coefs BufferedToeplitz::toeplitz_coefs(int64_t n) const {
  validate();
  if (n < 1)
    value_error("privacy::BufferedToeplitz::toeplitz_coefs", "expected n of at least 1, got {}", n);
  toeplitz::Coefs out(static_cast<size_t>(n));
  out[0] = 1;
  for (size_t j = 0; j < buf_decay.size(); ++j) {
    double power = 1;
    for (int64_t i = 1; i < n; ++i) {
      out[i] += output_scale[j] * power;
      // Products accumulate rounding errors, so the power is computed anew from time to time.
      power = i % 64 == 0 ? std::pow(buf_decay[j], static_cast<double>(i)) : power * buf_decay[j];
    }
  }
  return out;
}

Matrix BufferedToeplitz::materialize(int64_t n) const {
  return toeplitz::materialize_lower_triangular(toeplitz_coefs(n));
}

BufferedToeplitz BufferedToeplitz::inverse() const {
  constexpr const char* kOp = "privacy::BufferedToeplitz::inverse";
  validate();
  expect_distinct(buf_decay, kOp);
  if (buf_decay.empty()) return *this;
  std::vector<double> decays = inverse_decays(*this);
  for (double& d : decays) d = polished(*this, d);
  expect_distinct(decays, kOp);
  BufferedToeplitz out = build(decays, scales_of_pair(decays, buf_decay));
  expect_inverse(*this, out);
  return out;
}

double BufferedToeplitz::pillutla_score() const {
  double score = 0;
  for (size_t j = 0; j < buf_decay.size(); ++j) score += output_scale[j] / buf_decay[j];
  return score;
}

std::string to_string(const BufferedToeplitz& blt) {
  return fmt::format("BufferedToeplitz::build({{{}}}, {{{}}}) with coefficients {:.5f}, ...",
                     fmt::join(blt.buf_decay, ", "), fmt::join(blt.output_scale, ", "),
                     fmt::join(blt.toeplitz_coefs(10), ", "));
}

double min_buf_decay_gap(const std::vector<double>& buf_decay) {
  double gap = kInfinity;
  for (size_t i = 0; i < buf_decay.size(); ++i)
    for (size_t j = 0; j < i; ++j) gap = std::min(gap, std::abs(buf_decay[i] - buf_decay[j]));
  return gap;
}

std::pair<BufferedToeplitz, BufferedToeplitz> blt_pair_from_theta_pair(
    const std::vector<double>& theta, const std::vector<double>& theta_hat) {
  constexpr const char* kOp = "privacy::buffered_toeplitz::blt_pair_from_theta_pair";
  if (theta.size() != theta_hat.size())
    shape_error(kOp, "expected as many decays for the inverse, got {} and {}", theta.size(),
                theta_hat.size());
  if (min_buf_decay_gap(theta) == 0 || min_buf_decay_gap(theta_hat) == 0)
    value_error(kOp, "expected distinct decays, got two that are equal in [{}] or [{}]",
                fmt::join(theta, ", "), fmt::join(theta_hat, ", "));
  return {BufferedToeplitz::build(theta, scales_of_pair(theta, theta_hat)),
          BufferedToeplitz::build(theta_hat, scales_of_pair(theta_hat, theta))};
}

double sensitivity_squared(const BufferedToeplitz& blt, double n) {
  blt.validate();
  if (!(n >= 1))
    value_error("privacy::buffered_toeplitz::sensitivity_squared",
                "expected n of at least 1, got {}", n);
  if (any(blt.buf_decay, [](double d) { return d > 1; })) return kInfinity;
  return sensitivity_squared_with_gradient(blt, n).value;
}

double iteration_error(const BufferedToeplitz& inv_blt, int64_t i) {
  inv_blt.validate();
  if (i < 0)
    value_error("privacy::buffered_toeplitz::iteration_error",
                "expected an iteration of at least 0, got {}", i);
  return max_error_with_gradient(inv_blt, i + 1).value;
}

double max_error(const BufferedToeplitz& inv_blt, int64_t n) {
  if (n < 1)
    value_error("privacy::buffered_toeplitz::max_error", "expected n of at least 1, got {}", n);
  return iteration_error(inv_blt, n - 1);
}

// The result is the square of the limit of the decoder's entries 1 + sum_j omega_j (1 - theta_j^i)
// / (1 - theta_j).
double limit_max_error(const BufferedToeplitz& inv_blt) {
  inv_blt.validate();
  double last = 1;
  for (size_t j = 0; j < inv_blt.buf_decay.size(); ++j)
    last += inv_blt.output_scale[j] / (1 - inv_blt.buf_decay[j]);
  return last * last;
}

double max_loss(const BufferedToeplitz& blt, int64_t n) {
  const double sensitivity = sensitivity_squared(blt, static_cast<double>(n));
  if (any(blt.output_scale, [](double s) { return s <= 0; })) return kInfinity;
  return max_error(blt.inverse(), n) * sensitivity;
}

double limit_max_loss(const BufferedToeplitz& blt) {
  const double sensitivity = sensitivity_squared(blt, kInfinity);
  if (any(blt.output_scale, [](double s) { return s <= 0; })) return kInfinity;
  return limit_max_error(blt.inverse()) * sensitivity;
}

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
