#include "tessera/privacy/matrix_factorization/banded.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/privacy/matrix_factorization/banded_adjoint.h"
#include "tessera/privacy/matrix_factorization/checks.h"

namespace tessera::privacy::matrix_factorization::banded {
namespace {

void expect_bands(int64_t n, int64_t bands, const char* op) {
  if (bands < 1 || bands > n)
    value_error(op, "expected a number of bands between 1 and n = {}, got {}", n, bands);
}

// Returns the number of entries of column j of C.
int64_t height(const Matrix& columns, int64_t j) {
  return std::min(columns.cols, columns.rows - j);
}

double norm_of_column(const Matrix& params, int64_t j) {
  double sum = 0;
  for (int64_t r = 0; r < height(params, j); ++r) sum += params(j, r) * params(j, r);
  return std::sqrt(sum);
}

// Computes the rows of B = A C^-1, one at a time. It stores neither prefix sums A nor B, so it
// needs O(n bands) memory.
class Decoder {
 public:
  Decoder(const Matrix& columns, const std::optional<Matrix>& workload)
      : columns_(columns), workload_(workload) {}

  // Returns the entries 0, ..., k of row k of B. It solves b C = a from the last entry to the
  // first.
  const std::vector<double>& row(int64_t k) {
    row_.resize(static_cast<size_t>(k + 1));
    for (int64_t j = k; j >= 0; --j) {
      double sum = workload_ ? (*workload_)(k, j) : 1.0;
      for (int64_t r = 1; r <= std::min(columns_.cols - 1, k - j); ++r)
        sum -= columns_(j, r) * row_[j + r];
      row_[j] = sum / columns_(j, 0);
    }
    return row_;
  }

  // Subtracts from `gradient` the gradient of `weight` |row k|^2 with respect to the columns: with
  // z C^T = 2 weight b, entry (i, j) of C has -b_i z_j.
  void pull_back(int64_t k, double weight, Matrix& gradient) {
    const std::vector<double>& b = row(k);
    z_.resize(b.size());
    for (int64_t i = 0; i <= k; ++i) {
      double sum = 2 * weight * b[i];
      for (int64_t r = 1; r <= std::min(columns_.cols - 1, i); ++r)
        sum -= columns_(i - r, r) * z_[i - r];
      z_[i] = sum / columns_(i, 0);
      for (int64_t r = 0; r <= std::min(columns_.cols - 1, i); ++r)
        gradient(i - r, r) -= b[i] * z_[i - r];
    }
  }

 private:
  const Matrix& columns_;
  const std::optional<Matrix>& workload_;
  std::vector<double> row_, z_;
};

std::vector<double> errors_of(Decoder& decoder, int64_t n) {
  std::vector<double> errors(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k)
    for (double b : decoder.row(k)) errors[k] += b * b;
  return errors;
}

// Turns the gradient with respect to the columns c = p / |p| into that with respect to the params
// p. The part of the gradient along c has no effect.
void pull_back_normalization(const Matrix& params, const Matrix& columns, Matrix& gradient) {
  for (int64_t j = 0; j < params.rows; ++j) {
    double along = 0;
    for (int64_t r = 0; r < height(params, j); ++r) along += gradient(j, r) * columns(j, r);
    const double norm = norm_of_column(params, j);
    for (int64_t r = 0; r < height(params, j); ++r)
      gradient(j, r) = (gradient(j, r) - along * columns(j, r)) / norm;
  }
}

void check_workload(const std::optional<Matrix>& workload, int64_t n, const char* op) {
  if (!workload) return;
  checks::check({.A = &*workload});
  if (workload->rows != n)
    shape_error(op, "expected a workload of n = {} rows, got {}", n, workload->rows);
}

}  // namespace

ColumnNormalizedBanded ColumnNormalizedBanded::from_banded_toeplitz(int64_t n,
                                                                    const toeplitz::Coefs& coefs) {
  const auto bands = static_cast<int64_t>(coefs.size());
  expect_bands(n, bands, "privacy::ColumnNormalizedBanded::from_banded_toeplitz");
  const double norm = std::sqrt(toeplitz::sensitivity_squared(coefs));
  ColumnNormalizedBanded out{Matrix::zeros(n, bands)};
  for (int64_t j = 0; j < n; ++j)
    for (int64_t r = 0; r < height(out.params, j); ++r) out.params(j, r) = coefs[r] / norm;
  return out;
}

ColumnNormalizedBanded ColumnNormalizedBanded::from_optimal_toeplitz(int64_t n, int64_t bands) {
  expect_bands(n, bands, "privacy::ColumnNormalizedBanded::from_optimal_toeplitz");
  return from_banded_toeplitz(n, toeplitz::optimal_max_error_strategy_coefs(bands));
}

Matrix ColumnNormalizedBanded::normalized() const {
  constexpr const char* kOp = "privacy::ColumnNormalizedBanded";
  checks::check_finite(params, "params");
  expect_bands(n(), bands(), kOp);
  Matrix out = Matrix::zeros(n(), bands());
  for (int64_t j = 0; j < n(); ++j) {
    const double norm = norm_of_column(params, j);
    if (!(norm > 0) || !std::isfinite(norm))
      value_error(kOp, "expected columns of a positive, finite norm, got {} in column {}", norm, j);
    for (int64_t r = 0; r < height(params, j); ++r) out(j, r) = params(j, r) / norm;
  }
  return out;
}

Matrix ColumnNormalizedBanded::materialize() const {
  const Matrix columns = normalized();
  Matrix out = Matrix::zeros(n(), n());
  for (int64_t j = 0; j < n(); ++j)
    for (int64_t r = 0; r < height(columns, j); ++r) out(j + r, j) = columns(j, r);
  return out;
}

double minsep_sensitivity_squared(const ColumnNormalizedBanded& strategy,
                                  const Participation& participation, std::optional<int64_t> n) {
  constexpr const char* kOp = "privacy::banded::minsep_sensitivity_squared";
  const int64_t rows = n.value_or(strategy.n());
  if (rows > strategy.n())
    value_error(kOp, "expected n of at most the strategy's {}, got {}", strategy.n(), rows);
  if (participation.min_sep < strategy.bands())
    value_error(kOp,
                "expected a min_sep of at least the number of bands = {}, got {}; for others "
                "use sensitivity::get_min_sep_sensitivity_upper_bound",
                strategy.bands(), participation.min_sep);
  return static_cast<double>(sensitivity::minsep_true_max_participations(rows, participation));
}

std::vector<double> per_query_error(const ColumnNormalizedBanded& strategy,
                                    const std::optional<Matrix>& workload) {
  constexpr const char* kOp = "privacy::banded::per_query_error";
  const Matrix columns = strategy.normalized();
  check_workload(workload, columns.rows, kOp);
  for (int64_t j = 0; j < columns.rows; ++j)
    if (columns(j, 0) == 0)
      value_error(kOp, "expected entries other than 0 on the diagonal, got 0 in column {}", j);
  Decoder decoder(columns, workload);
  return errors_of(decoder, columns.rows);
}

// This computes the rows twice, because a row's weight in the gradient depends on all errors.
ErrorAndGradient reduced_error(const ColumnNormalizedBanded& strategy,
                               const std::optional<Matrix>& workload, const Reduction& reduction) {
  const Matrix columns = strategy.normalized();
  Decoder decoder(columns, workload);
  const Reduced reduced = reduce(reduction, errors_of(decoder, columns.rows));
  ErrorAndGradient out{reduced.value, Matrix::zeros(columns.rows, columns.cols)};
  for (int64_t k = 0; k < columns.rows; ++k)
    if (reduced.gradient[k] != 0) decoder.pull_back(k, reduced.gradient[k], out.gradient);
  pull_back_normalization(strategy.params, columns, out.gradient);
  return out;
}

ColumnNormalizedBanded optimize(const Options& options) {
  constexpr const char* kOp = "privacy::banded::optimize";
  const auto& [n, bands, initial, workload, steps, reduction, callback] = options;
  expect_bands(n, bands, kOp);
  check_workload(workload, n, kOp);
  ColumnNormalizedBanded best =
      initial ? *initial : ColumnNormalizedBanded::from_optimal_toeplitz(n, bands);
  if (best.n() != n || best.bands() != bands)
    shape_error(kOp, "expected an initial strategy of [{}, {}] parameters, got [{}, {}]", n, bands,
                best.n(), best.bands());
  const Objective objective = [&](const std::vector<double>& params,
                                  std::vector<double>& gradient) {
    ErrorAndGradient error =
        reduced_error({{best.n(), best.bands(), params}}, options.workload, options.reduction);
    gradient = std::move(error.gradient.values);
    return error.value;
  };
  best.params.values = matrix_factorization::optimize(
      objective, best.params.values, {.max_optimizer_steps = steps, .callback = callback});
  best.params = best.normalized();
  return best;
}

}  // namespace tessera::privacy::matrix_factorization::banded
