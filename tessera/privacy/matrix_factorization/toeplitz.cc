#include "tessera/privacy/matrix_factorization/toeplitz.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tessera/base/format.h"
#include "tessera/privacy/matrix_factorization/toeplitz_adjoint.h"

namespace tessera::privacy::matrix_factorization::toeplitz {
namespace {

// Returns at most n coefficients, and n (the number of coefficients if it is absent).
std::pair<Coefs, int64_t> sized(const Coefs& coef, Size n, const char* op) {
  const auto size = static_cast<int64_t>(coef.size());
  const int64_t rows = n.value_or(size);
  if (rows < 1) value_error(op, "expected n of at least 1, got {}", rows);
  if (coef.empty()) value_error(op, "expected at least one coefficient, got none");
  for (int64_t i = 0; i < size; ++i)
    if (!std::isfinite(coef[i]))
      value_error(op, "expected finite coefficients, got {} at index {}", coef[i], i);
  return {Coefs(coef.begin(), coef.begin() + std::min(rows, size)), rows};
}

void expect_invertible(const Coefs& coef, const char* op) {
  if (coef[0] == 0)
    value_error(op, "expected a first coefficient other than 0, got 0: the matrix is singular");
}

void expect_nonincreasing(const Coefs& coef, const char* op) {
  constexpr const char* kRemedy = "minsep_sensitivity_squared_upper_bound takes any coefficients";
  for (size_t i = 0; i < coef.size(); ++i) {
    if (coef[i] < 0)
      value_error(op, "expected coefficients of at least 0, got {} at index {}; {}", coef[i], i,
                  kRemedy);
    if (i > 0 && coef[i] > coef[i - 1])
      value_error(op, "expected coefficients that do not increase, got {} after {} at index {}; {}",
                  coef[i], coef[i - 1], i, kRemedy);
  }
}

Coefs times(double factor, Coefs coef) {
  for (double& c : coef) c *= factor;
  return coef;
}

std::vector<double> squared_row_norms(const Coefs& decoder) {
  std::vector<double> out(decoder.size());
  std::transform_inclusive_scan(decoder.begin(), decoder.end(), out.begin(), std::plus<>(),
                                [](double b) { return b * b; });
  return out;
}

}  // namespace

Coefs pad_coefs_to_n(const Coefs& coef, Size n) {
  auto [out, rows] = sized(coef, n, "privacy::toeplitz::pad_coefs_to_n");
  out.resize(static_cast<size_t>(rows));
  return out;
}

Coefs optimal_max_error_strategy_coefs(int64_t n) {
  if (n < 1)
    value_error("privacy::toeplitz::optimal_max_error_strategy_coefs",
                "expected n of at least 1, got {}", n);
  Coefs out(static_cast<size_t>(n), 1.0);
  for (size_t k = 1; k < out.size(); ++k) {
    const auto twice = 2 * static_cast<double>(k);
    out[k] = out[k - 1] * ((twice - 1) / twice);
  }
  return out;
}

// Since (1 - x)^(1/2) = (1 - x) (1 - x)^(-1/2), the coefficients are c_k - c_{k-1} = -c_{k-1} / 2k.
Coefs optimal_max_error_noising_coefs(int64_t n) {
  Coefs out = optimal_max_error_strategy_coefs(n);
  for (size_t k = out.size() - 1; k > 0; --k) out[k] = -out[k - 1] / (2 * static_cast<double>(k));
  return out;
}

Matrix materialize_lower_triangular(const Coefs& coef, Size n) {
  const auto [c, rows] = sized(coef, n, "privacy::toeplitz::materialize_lower_triangular");
  Matrix out = Matrix::zeros(rows, rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k <= std::min<int64_t>(i, c.size() - 1); ++k) out(i, i - k) = c[k];
  return out;
}

Coefs solve_banded(const Coefs& coef, const std::vector<double>& rhs) {
  constexpr const char* kOp = "privacy::toeplitz::solve_banded";
  if (rhs.empty()) value_error(kOp, "expected a right-hand side, got an empty one");
  const Coefs c = sized(coef, static_cast<int64_t>(rhs.size()), kOp).first;
  expect_invertible(c, kOp);
  Coefs x(rhs.size());
  for (size_t i = 0; i < rhs.size(); ++i) {
    double sum = rhs[i];
    for (size_t k = 1; k <= std::min(i, c.size() - 1); ++k) sum -= c[k] * x[i - k];
    x[i] = sum / c[0];
  }
  return x;
}

Coefs multiply(const Coefs& lhs_coef, const Coefs& rhs_coef, Size n) {
  constexpr const char* kOp = "privacy::toeplitz::multiply";
  if (!n && lhs_coef.size() != rhs_coef.size())
    shape_error(kOp, "expected coefficients of the same length, got {} and {}; n says the size",
                lhs_coef.size(), rhs_coef.size());
  const auto [lhs, rows] = sized(lhs_coef, n, kOp);
  const Coefs rhs = sized(rhs_coef, n, kOp).first;
  Coefs out(static_cast<size_t>(rows));
  for (size_t i = 0; i < lhs.size(); ++i)
    for (size_t j = 0; j < std::min(rhs.size(), out.size() - i); ++j) out[i + j] += lhs[i] * rhs[j];
  return out;
}

Coefs inverse_coef(const Coefs& coef, Size n) {
  const auto [c, rows] = sized(coef, n, "privacy::toeplitz::inverse_coef");
  return solve_banded(c, pad_coefs_to_n({1}, rows));
}

// Column j has the first n - j coefficients.
std::vector<double> column_norms(const Coefs& coef, Size n) {
  const auto [c, rows] = sized(coef, n, "privacy::toeplitz::column_norms");
  std::vector<double> out = squared_row_norms(pad_coefs_to_n(c, rows));
  std::reverse(out.begin(), out.end());
  for (double& v : out) v = std::sqrt(v);
  return out;
}

double sensitivity_squared(const Coefs& coef, Size n) {
  const Coefs c = sized(coef, n, "privacy::toeplitz::sensitivity_squared").first;
  return std::inner_product(c.begin(), c.end(), c.begin(), 0.0);
}

double minsep_sensitivity_squared(const Coefs& coef, const Participation& participation, Size n) {
  constexpr const char* kOp = "privacy::toeplitz::minsep_sensitivity_squared";
  const auto [c, rows] = sized(coef, n, kOp);
  expect_nonincreasing(c, kOp);
  const int64_t k = sensitivity::minsep_true_max_participations(rows, participation);
  return spaced_columns(c, rows, participation.min_sep, k).value;
}

double minsep_sensitivity_squared_upper_bound(const Coefs& coef, const Participation& participation,
                                              Size n) {
  auto [c, rows] = sized(coef, n, "privacy::toeplitz::minsep_sensitivity_squared_upper_bound");
  double largest = 0;
  for (size_t i = c.size(); i-- > 0;) c[i] = largest = std::max(largest, std::abs(c[i]));
  return minsep_sensitivity_squared(c, participation, rows);
}

std::vector<double> per_query_error(const Mechanism& mechanism) {
  constexpr const char* kOp = "privacy::toeplitz::per_query_error";
  const auto& [strategy, noising, size, workload] = mechanism;
  if (strategy.empty() == noising.empty())
    value_error(kOp, "expected one of strategy_coef and noising_coef, got {}",
                strategy.empty() ? "neither" : "both");
  const auto [c, n] = sized(strategy.empty() ? noising : strategy, size, kOp);
  const Coefs a =
      workload.empty() ? Coefs(static_cast<size_t>(n), 1.0) : pad_coefs_to_n(workload, n);
  return squared_row_norms(strategy.empty() ? multiply(c, a, n) : solve_banded(c, a));
}

double rmse(const Mechanism& mechanism, const Participation& participation) {
  const std::vector<double> errors = per_query_error(mechanism);
  const auto n = static_cast<int64_t>(errors.size());
  const Coefs strategy = mechanism.strategy_coef.empty() ? inverse_coef(mechanism.noising_coef, n)
                                                         : mechanism.strategy_coef;
  return std::sqrt(mean_error(errors).value *
                   minsep_sensitivity_squared_upper_bound(strategy, participation, n));
}

Coefs sgd_workload_coefs(int64_t n, const SgdWorkload& workload) {
  constexpr const char* kOp = "privacy::toeplitz::sgd_workload_coefs";
  const auto& [momentum, decay] = workload;
  if (n < 1) value_error(kOp, "expected n of at least 1, got {}", n);
  if (!(momentum >= 0 && momentum < 1))
    value_error(kOp, "expected a momentum in [0, 1), got {}", momentum);
  if (!(decay > 0 && decay <= 1))
    value_error(kOp,
                "expected a decay in (0, 1], got {}; it is 1 - learning rate * weight decay, and 1 "
                "without weight decay",
                decay);
  Coefs out(static_cast<size_t>(n));
  double momentum_power = 1;  // momentum^k
  for (size_t k = 0; k < out.size(); ++k) {
    out[k] = momentum_power + (k == 0 ? 0 : decay * out[k - 1]);
    momentum_power *= momentum;
  }
  return out;
}

double loss(const Coefs& coef, Size n, const Reduction& reduction) {
  const auto [c, rows] = sized(coef, n, "privacy::toeplitz::loss");
  return reduce(reduction, per_query_error({.strategy_coef = c, .n = rows})).value *
         sensitivity_squared(c, rows);
}

Coefs optimize_banded_toeplitz(const BandedOptions& options) {
  constexpr const char* kOp = "privacy::toeplitz::optimize_banded_toeplitz";
  const auto& [n, bands, initial, steps, reduction] = options;
  if (bands < 1 || bands > n)
    value_error(kOp, "expected a number of bands between 1 and n = {}, got {}", n, bands);
  const Coefs start = initial.empty() ? optimal_max_error_strategy_coefs(bands) : initial;
  if (static_cast<int64_t>(start.size()) != bands)
    shape_error(kOp, "expected strategy_coef of bands = {} entries, got {}", bands, start.size());
  expect_invertible(sized(start, n, kOp).first, kOp);
  const auto objective = [&options](const Coefs& c) {
    ValueAndGradient error = strategy_error(c, options.n, options.reduction);
    const double sensitivity = sensitivity_squared(c);
    for (size_t k = 0; k < c.size(); ++k)
      error.gradient[k] = error.gradient[k] * sensitivity + error.value * 2 * c[k];
    error.value *= sensitivity;
    return error;
  };
  const Coefs best = optimize_up_to_scale(objective, start, steps);
  return times(1 / std::sqrt(sensitivity_squared(best)), best);
}

}  // namespace tessera::privacy::matrix_factorization::toeplitz
