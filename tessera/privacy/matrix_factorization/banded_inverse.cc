#include "tessera/privacy/matrix_factorization/banded_inverse.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/privacy/matrix_factorization/toeplitz_adjoint.h"

namespace tessera::privacy::matrix_factorization::banded_inverse {
namespace {

// The smallest non-increasing list that is nowhere below |coef|, and for each entry the index of
// the coefficient that it equals.
struct Majorant {
  toeplitz::Coefs values;
  std::vector<size_t> from;

  explicit Majorant(const toeplitz::Coefs& coef) : values(coef.size()), from(coef.size()) {
    size_t largest = coef.size() - 1;
    for (size_t i = coef.size(); i-- > 0;) {
      if (std::abs(coef[i]) >= std::abs(coef[largest])) largest = i;
      values[i] = std::abs(coef[largest]);
      from[i] = largest;
    }
  }

  toeplitz::Coefs pull_back(const toeplitz::Coefs& coef, const toeplitz::Coefs& gradient) const {
    toeplitz::Coefs out(coef.size());
    for (size_t i = 0; i < coef.size(); ++i)
      out[from[i]] += std::copysign(gradient[i], gradient[i] * coef[from[i]]);
    return out;
  }
};

toeplitz::ValueAndGradient loss_with_gradient(const toeplitz::Coefs& noising_coef, int64_t n,
                                              const Participation& participation,
                                              const Reduction& reduction,
                                              const toeplitz::Coefs& workload) {
  const toeplitz::Coefs inverse = toeplitz::pad_coefs_to_n(noising_coef, n);
  const toeplitz::Coefs coef = toeplitz::inverse_coef(inverse);
  const Majorant majorant(coef);
  const toeplitz::ValueAndGradient sensitivity =
      toeplitz::spaced_columns(majorant.values, n, participation.min_sep,
                               sensitivity::minsep_true_max_participations(n, participation));
  toeplitz::ValueAndGradient error = toeplitz::noising_error(noising_coef, n, reduction, workload);
  const toeplitz::Coefs through_inverse =
      toeplitz::pull_back_inverse(coef, majorant.pull_back(coef, sensitivity.gradient));
  for (size_t k = 0; k < error.gradient.size(); ++k)
    error.gradient[k] = error.gradient[k] * sensitivity.value + error.value * through_inverse[k];
  error.value *= sensitivity.value;
  return error;
}

}  // namespace

toeplitz::Coefs square_root_coefs(int64_t bands, const toeplitz::Coefs& workload) {
  constexpr const char* kOp = "privacy::banded_inverse::square_root_coefs";
  if (workload.empty()) return toeplitz::optimal_max_error_noising_coefs(bands);
  const toeplitz::Coefs a = toeplitz::pad_coefs_to_n(workload, bands);
  if (!(a[0] > 0))
    value_error(kOp,
                "expected a workload whose first coefficient is above 0, got {}; it has no real "
                "square root otherwise",
                a[0]);
  // The root r satisfies sum over i + j = k of r_i r_j = a_k, which determines r_k from earlier
  // coefficients.
  toeplitz::Coefs root(a.size());
  root[0] = std::sqrt(a[0]);
  for (size_t k = 1; k < root.size(); ++k) {
    double rest = a[k];
    for (size_t i = 1; i < k; ++i) rest -= root[i] * root[k - i];
    root[k] = rest / (2 * root[0]);
  }
  return toeplitz::inverse_coef(root);
}

double minsep_sensitivity_squared(const toeplitz::Coefs& noising_coef,
                                  const Participation& participation, int64_t n,
                                  SensitivityBound bound) {
  toeplitz::Coefs strategy = toeplitz::inverse_coef(noising_coef, n);
  switch (bound) {
    case SensitivityBound::kMajorant:
      break;
    case SensitivityBound::kMatrix: {
      for (double& c : strategy) c = std::abs(c);
      const double norm = sensitivity::get_min_sep_sensitivity_upper_bound(
          toeplitz::materialize_lower_triangular(strategy), participation);
      return norm * norm;
    }
  }
  return toeplitz::minsep_sensitivity_squared_upper_bound(strategy, participation);
}

double loss(const toeplitz::Coefs& noising_coef, const Participation& participation, int64_t n,
            const Reduction& reduction, const toeplitz::Coefs& workload) {
  const std::vector<double> errors =
      toeplitz::per_query_error({.noising_coef = noising_coef, .n = n, .workload_coef = workload});
  return reduce(reduction, errors).value *
         minsep_sensitivity_squared(noising_coef, participation, n);
}

namespace {

toeplitz::Coefs start_of(const Options& options) {
  constexpr const char* kOp = "privacy::banded_inverse::optimize";
  const int64_t bands = options.bands;
  if (!options.noising_coef.empty() && !options.strategy_coef.empty())
    value_error(kOp, "expected one of noising_coef and strategy_coef to begin with, got both");
  if (!options.strategy_coef.empty()) {
    if (options.strategy_coef[0] == 0)
      value_error(kOp, "expected a first strategy_coef other than 0, got 0");
    return toeplitz::inverse_coef(options.strategy_coef, bands);
  }
  const toeplitz::Coefs start = options.noising_coef.empty()
                                    ? square_root_coefs(bands, options.workload)
                                    : options.noising_coef;
  if (static_cast<int64_t>(start.size()) != bands)
    shape_error(kOp, "expected noising_coef of bands = {} entries, got {}", bands, start.size());
  if (start[0] == 0) value_error(kOp, "expected a first noising_coef other than 0, got 0");
  return start;
}

}  // namespace

toeplitz::Coefs optimize(const Options& options) {
  constexpr const char* kOp = "privacy::banded_inverse::optimize";
  const int64_t n = options.n;
  if (options.bands < 1 || options.bands > n)
    value_error(kOp, "expected a number of bands between 1 and n = {}, got {}", n, options.bands);
  if (!options.workload.empty() && static_cast<int64_t>(options.workload.size()) != n)
    shape_error(kOp, "expected a workload of n = {} coefficients, got {}", n,
                options.workload.size());
  return toeplitz::optimize_up_to_scale(
      [&options](const toeplitz::Coefs& coef) {
        return loss_with_gradient(coef, options.n, options.participation, options.reduction,
                                  options.workload);
      },
      start_of(options), options.max_optimizer_steps);
}

}  // namespace tessera::privacy::matrix_factorization::banded_inverse
