// What the tests of matrix factorizations share: jax_privacy's values
// (golden/make_matrix_factorization.py) as vectors and matrices, relative closeness, and gradients
// by differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "../errors.h"
#include "../golden/golden.h"
#include "tessera/privacy/matrix_factorization/matrix.h"
#include "tessera/privacy/matrix_factorization/reduction.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"

namespace tessera::privacy::matrix_factorization {

inline const golden::Json& golden_of(const char* key) {
  static const golden::Topic topic("matrix_factorization");
  return topic[key];
}

inline std::vector<double> numbers(const golden::Json& list) {
  return list.get<std::vector<double>>();
}

inline Matrix matrix_of(const golden::Json& rows) {
  Matrix out{static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()), {}};
  for (const golden::Json& row : rows)
    for (const golden::Json& v : row) out.values.push_back(v.get<double>());
  return out;
}

inline Reduction reduction_of(const golden::Json& name) {
  return name == "mean" ? mean_error : max_error;
}

inline std::optional<int64_t> optional_of(const golden::Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<int64_t>());
}

inline Participation participation_of(const golden::Json& c) {
  return {.min_sep = c["min_sep"].get<int64_t>(),
          .max_participations = optional_of(c["max_participations"])};
}

inline void expect_relative(double actual, double expected, double tolerance = 1e-9) {
  EXPECT_NEAR(actual, expected, tolerance * std::max(1e-300, std::abs(expected)));
}

// Relative to the largest entry.
inline void expect_relative(const std::vector<double>& actual, const std::vector<double>& expected,
                            double tolerance = 1e-9) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (double v : expected) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * largest) << "at " << i;
}

// Central differences.
inline std::vector<double> differences(const std::function<double(const std::vector<double>&)>& f,
                                       std::vector<double> x, double step = 1e-6) {
  std::vector<double> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + step;
    const double above = f(x);
    x[i] = at - step;
    out[i] = (above - f(x)) / (2 * step);
    x[i] = at;
  }
  return out;
}

}  // namespace tessera::privacy::matrix_factorization
