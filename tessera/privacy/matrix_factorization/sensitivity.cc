#include "tessera/privacy/matrix_factorization/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/privacy/matrix_factorization/checks.h"
#include "tessera/privacy/matrix_factorization/eigen.h"

namespace tessera::privacy::matrix_factorization::sensitivity {
namespace {

constexpr const char* kSensitivityOp = "privacy::sensitivity";

void expect_bands(int64_t n, int64_t num_bands) {
  if (n < 1 || num_bands < 1)
    value_error(kSensitivityOp, "expected n and num_bands of at least 1, got {} and {}", n,
                num_bands);
}

Matrix mask_of(int64_t n, int64_t bands_below, int64_t bands_above) {
  Matrix out = Matrix::zeros(n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (i - j < bands_below && j - i < bands_above) out(i, j) = 1;
  return out;
}

}  // namespace

double single_participation_sensitivity(const Matrix& C) {
  checks::check({.C = &C});
  return as_eigen(C).colwise().norm().maxCoeff();
}

int64_t minsep_true_max_participations(int64_t n, const Participation& participation) {
  const auto& [min_sep, most] = participation;
  if (n < 1) value_error(kSensitivityOp, "expected at least one iteration, got {}", n);
  if (min_sep < 1)
    value_error(kSensitivityOp,
                "expected a min_sep of at least 1, got {}; 1 allows consecutive iterations",
                min_sep);
  if (most && *most < 1)
    value_error(kSensitivityOp,
                "expected max_participations of at least 1, got {}; leave it out for as many "
                "as there is room for",
                *most);
  const int64_t room = n / min_sep + (n % min_sep == 0 ? 0 : 1);
  return most ? std::min(*most, room) : room;
}

double max_participation_for_linear_fn(const std::vector<double>& x,
                                       const Participation& participation) {
  const auto n = static_cast<int64_t>(x.size());
  const int64_t k = minsep_true_max_participations(n, participation);
  for (double v : x)
    if (std::isnan(v))
      value_error(kSensitivityOp, "expected numbers, got a NaN among {} values", n);
  // best[i] is the largest sum of entries of x[i:], with as many participations as there were
  // rounds so far.
  std::vector<double> best(x.size() + 1), next(x.size() + 1);
  for (int64_t round = 0; round < k; ++round) {
    for (int64_t i = n - 1; i >= 0; --i) {
      // min_sep may be larger than any index, so it is compared before it is added.
      const double rest = participation.min_sep < n - i ? best[i + participation.min_sep] : 0;
      next[i] = std::max(next[i + 1], x[i] + rest);
    }
    std::swap(best, next);
  }
  return best[0];
}

Matrix banded_lower_triangular_mask(int64_t n, int64_t num_bands) {
  expect_bands(n, num_bands);
  return mask_of(n, num_bands, 1);
}

Matrix banded_symmetric_mask(int64_t n, int64_t num_bands) {
  expect_bands(n, num_bands);
  return mask_of(n, num_bands, num_bands);
}

double get_min_sep_sensitivity_upper_bound_for_X(const Matrix& X,
                                                 const Participation& participation) {
  checks::check({.X = &X});
  std::vector<double> of_rows(static_cast<size_t>(X.rows)), row(static_cast<size_t>(X.cols));
  for (int64_t i = 0; i < X.rows; ++i) {
    for (int64_t j = 0; j < X.cols; ++j) row[j] = std::abs(X(i, j));
    of_rows[i] = max_participation_for_linear_fn(row, participation);
  }
  return std::sqrt(max_participation_for_linear_fn(of_rows, participation));
}

double get_min_sep_sensitivity_upper_bound(const Matrix& C, const Participation& participation) {
  checks::check({.C = &C});
  return get_min_sep_sensitivity_upper_bound_for_X(gram(C), participation);
}

double get_sensitivity_banded_for_X(const Matrix& X, const Participation& participation) {
  checks::check({.X = &X});
  if (participation.min_sep < 1 || participation.min_sep > X.rows)
    value_error(kSensitivityOp, "expected a min_sep between 1 and n = {}, got {}", X.rows,
                participation.min_sep);
  for (int64_t i = 0; i < X.rows; ++i)
    for (int64_t j = 0; j < X.cols; ++j)
      if (std::abs(i - j) >= participation.min_sep && X(i, j) != 0)
        value_error(kSensitivityOp,
                    "expected columns of C to be orthogonal that are at least min_sep = {} "
                    "apart, got {} for the columns {} and {}; use fewer bands, or "
                    "get_min_sep_sensitivity_upper_bound",
                    participation.min_sep, X(i, j), i, j);
  std::vector<double> diagonal(static_cast<size_t>(X.rows));
  for (int64_t i = 0; i < X.rows; ++i) diagonal[i] = X(i, i);
  return std::sqrt(max_participation_for_linear_fn(diagonal, participation));
}

double get_sensitivity_banded(const Matrix& C, const Participation& participation) {
  checks::check({.C = &C});
  return get_sensitivity_banded_for_X(gram(C), participation);
}

double fixed_epoch_sensitivity_for_X(const Matrix& X, int64_t epochs) {
  checks::check({.X = &X});
  if (epochs < 1 || X.rows % epochs != 0)
    value_error(kSensitivityOp, "expected a positive number of epochs that divides n = {}, got {}",
                X.rows, epochs);
  const int64_t rounds = X.rows / epochs;
  double most = 0;
  for (int64_t first = 0; first < rounds; ++first) {
    double sum = 0;
    for (int64_t i = first; i < X.rows; i += rounds)
      for (int64_t j = first; j < X.cols; j += rounds) sum += std::abs(X(i, j));
    most = std::max(most, sum);
  }
  return std::sqrt(most);
}

double fixed_epoch_sensitivity(const Matrix& C, int64_t epochs) {
  checks::check({.C = &C});
  return fixed_epoch_sensitivity_for_X(gram(C), epochs);
}

}  // namespace tessera::privacy::matrix_factorization::sensitivity
