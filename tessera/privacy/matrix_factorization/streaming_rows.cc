// Streaming matrices on the host: computes the leading part of each from its definition, not by the
// recurrence that runs on Arrays.
#include <algorithm>

#include "tessera/base/format.h"
#include "tessera/privacy/matrix_factorization/streaming_node.h"

namespace tessera::privacy::matrix_factorization {

using namespace internal;

namespace {

// An n x n matrix, row-major; at first all elements are 0.
struct Square {
  explicit Square(int64_t n) : n(n), values(static_cast<size_t>(n * n)) {}
  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * n + j)]; }

  int64_t n;
  std::vector<double> values;
};

Square lower(int64_t n, const auto& element) {
  Square out(n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) out.at(i, j) = element(i, j);
  return out;
}

// Returns the Toeplitz matrix with this first column.
Square toeplitz(const std::vector<double>& column) {
  return lower(ssize(column),
               [&](int64_t i, int64_t j) { return column[static_cast<size_t>(i - j)]; });
}

std::vector<double> inverse_column(const std::vector<double>& coef, int64_t n) {
  std::vector<double> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    double rest = i == 0 ? 1 : 0;
    for (int64_t k = 1; k <= std::min(i, ssize(coef) - 1); ++k)
      rest -= coef[static_cast<size_t>(k)] * out[static_cast<size_t>(i - k)];
    out[static_cast<size_t>(i)] = rest / coef[0];
  }
  return out;
}

std::vector<double> buffered_column(const Buffered& m, int64_t n) {
  std::vector<double> out(static_cast<size_t>(n), 1);
  std::vector<double> terms = m.scale;
  for (int64_t i = 1; i < n; ++i) {
    double sum = 0;
    for (size_t j = 0; j < terms.size(); ++j) {
      sum += terms[j];
      terms[j] *= m.decay[j];
    }
    out[static_cast<size_t>(i)] = sum;
  }
  return out;
}

Square momentum_rows(const Momentum& m, int64_t n) {
  Square out(n);
  for (int64_t j = 0; j < n; ++j) {
    double weight = 1, sum = 0;
    for (int64_t i = j; i < n; ++i) {
      out.at(i, j) = sum += clamped(m.learning_rates, i) * weight;
      weight *= m.momentum;
    }
  }
  return out;
}

Square banded_inverse_rows(const BandedInverse& m, int64_t n) {
  const std::vector<double> norms = row_norms(m);
  const auto param = [&](int64_t row, int64_t band) {
    return m.params[static_cast<size_t>(row * m.bands + band)];
  };
  Square out(n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double rest = i == j ? 1 : 0;
      for (int64_t k = 1; k <= std::min(i - j, m.bands - 1); ++k)
        rest -= param(i - k, k) * out.at(i - k, j);
      out.at(i, j) = rest / param(i, 0);
    }
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) out.at(i, j) *= norms[static_cast<size_t>(i)];
  return out;
}

std::vector<double> padded_column(std::vector<double> coef, int64_t n) {
  coef.resize(static_cast<size_t>(n));
  return coef;
}

Square product_rows(const Product& m, int64_t n) {
  const std::vector<double> a = m.a.materialize(n), b = m.b.materialize(n);
  Square out(n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k <= i; ++k)
      for (int64_t j = 0; j <= k; ++j)
        out.at(i, j) += a[static_cast<size_t>(i * n + k)] * b[static_cast<size_t>(k * n + j)];
  return out;
}

Square rows_of(const Node& node, int64_t n) {
  return std::visit(
      Overloaded{[&](const Identity&) {
                   return lower(n, [](int64_t i, int64_t j) { return i == j ? 1.0 : 0.0; });
                 },
                 [&](const PrefixSum&) { return lower(n, [](int64_t, int64_t) { return 1.0; }); },
                 [&](const Diagonal& m) {
                   return lower(n, [&](int64_t i, int64_t j) {
                     return i == j ? clamped(m.values, i) : 0.0;
                   });
                 },
                 [&](const Momentum& m) { return momentum_rows(m, n); },
                 [&](const ToeplitzInverse&) { return toeplitz(*toeplitz_column(node, n)); },
                 [&](const BandedInverse& m) { return banded_inverse_rows(m, n); },
                 [&](const Buffered&) { return toeplitz(*toeplitz_column(node, n)); },
                 [&](const Dense& m) {
                   return lower(n, [&](int64_t i, int64_t j) { return m.at(i, j); });
                 },
                 [&](const Product& m) { return product_rows(m, n); },
                 [&](const Toeplitz&) { return toeplitz(*toeplitz_column(node, n)); }},
      node.matrix);
}

}  // namespace

std::optional<std::vector<double>> internal::toeplitz_column(const Node& node, int64_t n) {
  using Column = std::optional<std::vector<double>>;
  return std::visit(
      Overloaded{
          [](const auto&) { return Column(); },
          [&](const Identity&) { return Column(padded_column({1}, n)); },
          [&](const PrefixSum&) { return Column(std::in_place, static_cast<size_t>(n), 1.0); },
          [&](const ToeplitzInverse& m) { return Column(inverse_column(m.coef, n)); },
          [&](const Buffered& m) {
            const std::vector<double> column = buffered_column(m, n);
            return Column(m.inverse && n > 0 ? inverse_column(column, n) : column);
          },
          [&](const Toeplitz& m) { return Column(padded_column(m.coef, n)); }},
      node.matrix);
}

std::vector<double> StreamingMatrix::materialize(int64_t n) const {
  if (n < 0 || n > rows().value_or(n))
    value_error("privacy::StreamingMatrix", "expected a number of rows in [0, {}], got {}",
                rows() ? fmt::to_string(*rows()) : "...", n);
  expect_lower_triangular(*node_);
  return rows_of(*node_, n).values;
}

std::vector<double> StreamingMatrix::row_norms_squared(int64_t n) const {
  const std::vector<double> all = materialize(n);
  std::vector<double> out(static_cast<size_t>(n));
  for (size_t i = 0; i < all.size(); ++i) out[i / static_cast<size_t>(n)] += all[i] * all[i];
  return out;
}

}  // namespace tessera::privacy::matrix_factorization
