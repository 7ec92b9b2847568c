#include "tessera/privacy/matrix_factorization/reduction.h"

#include <cmath>
#include <numeric>

#include "tessera/base/format.h"

namespace tessera::privacy::matrix_factorization {
namespace {

void expect_errors(const std::vector<double>& errors, const char* op) {
  if (errors.empty()) value_error(op, "expected the error of at least one query, got none");
}

Reduced one_of(const std::vector<double>& errors, size_t i) {
  Reduced out{errors[i], std::vector<double>(errors.size())};
  out.gradient[i] = 1;
  return out;
}

}  // namespace

Reduced mean_error(const std::vector<double>& errors) {
  expect_errors(errors, "privacy::mean_error");
  const auto n = static_cast<double>(errors.size());
  return {std::accumulate(errors.begin(), errors.end(), 0.0) / n,
          std::vector<double>(errors.size(), 1 / n)};
}

Reduced max_error(const std::vector<double>& errors) {
  expect_errors(errors, "privacy::max_error");
  size_t largest = 0;
  for (size_t i = 0; i < errors.size(); ++i) {
    if (std::isnan(errors[i])) return one_of(errors, i);
    if (errors[i] >= errors[largest]) largest = i;
  }
  return one_of(errors, largest);
}

Reduced last_error(const std::vector<double>& errors) {
  expect_errors(errors, "privacy::last_error");
  return one_of(errors, errors.size() - 1);
}

Reduced reduce(const Reduction& reduction, const std::vector<double>& errors) {
  if (!reduction)
    value_error("privacy::Reduction",
                "expected a function, got none; mean_error is the common one");
  Reduced out = reduction(errors);
  if (out.gradient.size() != errors.size())
    shape_error("privacy::Reduction", "expected a gradient of the errors' length {}, got {}",
                errors.size(), out.gradient.size());
  return out;
}

}  // namespace tessera::privacy::matrix_factorization
