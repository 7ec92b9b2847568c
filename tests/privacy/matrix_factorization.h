// Helpers for the tests of matrix factorizations: jax_privacy's values
// (golden/make_matrix_factorization.py) as vectors and matrices, comparisons relative to the
// largest value, and numerical gradients.
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

// The tolerance is relative to the largest entry.
inline void expect_relative(const std::vector<double>& actual, const std::vector<double>& expected,
                            double tolerance = 1e-9) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (double v : expected) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * largest) << "at " << i;
}

// Returns the gradient by central differences.
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

// Returns the sensitivity by its definition: the maximum over all sets of iterations with all
// signs.
inline double by_definition(const Matrix& C, const Participation& participation) {
  const int64_t min_sep = participation.min_sep;
  const int64_t most = participation.max_participations.value_or(C.cols);
  const Matrix X = gram(C);
  double best = 0;
  std::vector<int64_t> chosen, signs;
  const std::function<void(int64_t)> visit = [&](int64_t from) {
    double sum = 0;
    for (size_t a = 0; a < chosen.size(); ++a)
      for (size_t b = 0; b < chosen.size(); ++b)
        sum += static_cast<double>(signs[a] * signs[b]) * X(chosen[a], chosen[b]);
    best = std::max(best, sum);
    if (static_cast<int64_t>(chosen.size()) == most) return;
    for (int64_t i = from; i < X.rows; ++i)
      for (int64_t sign : {1, -1}) {
        chosen.push_back(i);
        signs.push_back(sign);
        visit(i + min_sep);
        chosen.pop_back();
        signs.pop_back();
      }
  };
  visit(0);
  return std::sqrt(best);
}

}  // namespace tessera::privacy::matrix_factorization
