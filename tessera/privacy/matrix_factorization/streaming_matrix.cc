#include "tessera/privacy/matrix_factorization/streaming_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/compile/control_flow.h"
#include "tessera/privacy/matrix_factorization/streaming_node.h"

namespace tessera::privacy::matrix_factorization {

using namespace internal;

namespace {

constexpr const char* kStreamingMatrixOp = "privacy::StreamingMatrix";

// Appends the numbers to a key. Up to kShort bytes are appended as they are; longer lists become
// two hashes of 64 bits, so that the key of a program stays short.
void append_numbers(std::string& key, const std::vector<double>& numbers) {
  constexpr size_t kShort = 32;
  key += std::to_string(numbers.size()) + ':';
  if (numbers.size() <= kShort) {
    key.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
    return;
  }
  uint64_t hashes[2] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
  for (const double x : numbers) {
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    hashes[0] = (std::rotl(hashes[0], 23) ^ bits) * 0xff51afd7ed558ccd;
    hashes[1] = (std::rotl(hashes[1], 41) + bits) * 0xc4ceb9fe1a85ec53;
    hashes[0] ^= hashes[0] >> 29, hashes[1] ^= hashes[1] >> 31;
  }
  key.append(reinterpret_cast<const char*>(hashes), sizeof hashes);
}

std::string key_of(const Node& node) {
  std::string key = std::to_string(node.matrix.index()) + ',';
  std::visit(Overloaded{[](const Identity&) {}, [](const PrefixSum&) {},
                        [&](const Diagonal& m) {
                          key += m.ends ? 'e' : 'c';
                          append_numbers(key, m.values);
                        },
                        [&](const Momentum& m) {
                          append_numbers(key, {m.momentum});
                          append_numbers(key, m.learning_rates);
                        },
                        [&](const Toeplitz& m) { append_numbers(key, m.coef); },
                        [&](const ToeplitzInverse& m) { append_numbers(key, m.coef); },
                        [&](const BandedInverse& m) {
                          key += std::to_string(m.bands) + ',';
                          append_numbers(key, m.params);
                        },
                        [&](const Buffered& m) {
                          key += m.inverse ? 'i' : 'm';
                          append_numbers(key, m.decay);
                          append_numbers(key, m.scale);
                        },
                        [&](const Dense& m) {
                          key += std::to_string(m.rows) + ',';
                          append_numbers(key, m.values);
                        },
                        [&](const Product& m) {
                          key += m.a.tree_static_key() + '*' + m.b.tree_static_key();
                        }},
             node.matrix);
  return key;
}

std::optional<int64_t> rows_of(const Node& node) {
  return std::visit(
      Overloaded{
          [](const auto&) { return std::optional<int64_t>(); },
          [](const Diagonal& m) { return m.ends ? std::optional(ssize(m.values)) : std::nullopt; },
          [](const BandedInverse& m) { return std::optional(ssize(m.params) / m.bands); },
          [](const Dense& m) { return std::optional(m.rows); },
          [](const Product& m) {
            const std::optional<int64_t> a = m.a.rows(), b = m.b.rows();
            return a && b ? std::optional(std::min(*a, *b)) : a ? a : b;
          }},
      node.matrix);
}

void expect_finite(const char* what, const std::vector<double>& numbers) {
  for (const double x : numbers)
    if (!std::isfinite(x)) value_error(kStreamingMatrixOp, "expected finite {}, got {}", what, x);
}
void expect_some(const char* what, const std::vector<double>& numbers) {
  if (numbers.empty())
    value_error(kStreamingMatrixOp, "expected at least one of the {}, got none", what);
  expect_finite(what, numbers);
}
void expect_pairs(const std::vector<double>& decay, const std::vector<double>& scale) {
  if (decay.size() != scale.size())
    value_error(kStreamingMatrixOp, "expected a decay and a scale for each buffer, got {} and {}",
                decay.size(), scale.size());
  expect_finite("decays", decay);
  expect_finite("scales", scale);
}

StreamingMatrix made(decltype(Node::matrix) matrix) {
  return StreamingMatrix(Node{std::move(matrix)});
}

// Returns the diagonal matrix of the norms of C's columns. Column i of the n x n matrix C has the
// coefficients 0, ..., n - 1 - i.
StreamingMatrix column_norms(const std::vector<double>& coef, int64_t n) {
  std::vector<double> norms(static_cast<size_t>(n));
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i < ssize(coef)) sum += coef[static_cast<size_t>(i)] * coef[static_cast<size_t>(i)];
    norms[static_cast<size_t>(n - 1 - i)] = std::sqrt(sum);
  }
  return made(Diagonal{std::move(norms), true});
}

bool is_lower_triangular(const std::vector<double>& values, int64_t rows, int64_t columns) {
  if (rows != columns) return false;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i + 1; j < columns; ++j)
      if (values[static_cast<size_t>(i * columns + j)] != 0) return false;
  return true;
}

}  // namespace

namespace internal {

void expect_lower_triangular(const Node& node) {
  const Dense* m = std::get_if<Dense>(&node.matrix);
  if (m && !m->lower_triangular)
    value_error(kStreamingMatrixOp,
                "expected a square lower-triangular matrix, got {} x {} with elements elsewhere; "
                "only a privatizer takes such a one",
                m->rows, m->columns);
}

std::vector<double> row_norms(const BandedInverse& matrix) {
  std::vector<double> out;
  for (auto row = matrix.params.begin(); row != matrix.params.end(); row += matrix.bands) {
    double sum = 0;
    for (int64_t k = 0; k < matrix.bands; ++k) sum += row[k] * row[k];
    out.push_back(std::sqrt(sum));
  }
  return out;
}

void expect_row(std::string_view op, const StreamingMatrix& matrix, const Array& step) {
  const std::optional<int64_t> rows = matrix.rows();
  if (!rows || step.is_tracer() || step.item<int64_t>() < *rows) return;
  value_error(op,
              "expected at most {} steps, the rows of the matrix, got one more; a step past the "
              "last row is no part of the factorisation: make one for as many steps as there are",
              *rows);
}

}  // namespace internal

StreamingMatrix::StreamingMatrix(Node node) {
  node.key = key_of(node);
  node_ = std::make_shared<const Node>(std::move(node));
}

std::optional<int64_t> StreamingMatrix::rows() const { return rows_of(*node_); }
const std::string& StreamingMatrix::tree_static_key() const { return node_->key; }

StreamingMatrix identity() { return made(Identity{}); }
StreamingMatrix prefix_sum() { return made(PrefixSum{}); }

StreamingMatrix diagonal(std::vector<double> diag) {
  expect_some("diagonal elements", diag);
  return made(Diagonal{std::move(diag), false});
}

StreamingMatrix momentum_sgd_matrix(double momentum, std::vector<double> learning_rates) {
  if (learning_rates.empty()) learning_rates = {1};
  expect_finite("momentum", {momentum});
  expect_finite("learning rates", learning_rates);
  for (const double rate : learning_rates)
    if (!(rate > 0))
      value_error(kStreamingMatrixOp,
                  "expected positive learning rates, got {}; the matrix must have an inverse",
                  rate);
  return made(Momentum{momentum, std::move(learning_rates)});
}

StreamingMatrix toeplitz_matrix(std::vector<double> coef) {
  expect_some("coefficients", coef);
  return made(Toeplitz{std::move(coef)});
}

StreamingMatrix toeplitz_inverse(std::vector<double> coef, const ToeplitzInverseOptions& options) {
  expect_some("coefficients", coef);
  if (coef[0] == 0)
    value_error(kStreamingMatrixOp,
                "expected a first coefficient other than 0, else there is no inverse");
  const std::optional<int64_t> n = options.column_normalize_for_n;
  if (!n) return made(ToeplitzInverse{std::move(coef)});
  if (*n < 1)
    value_error(kStreamingMatrixOp, "expected column_normalize_for_n to be at least 1, got {}", *n);
  if (ssize(coef) > *n) coef.resize(static_cast<size_t>(*n));
  // If columns of C are divided by their norms, rows of the inverse are multiplied by them.
  const StreamingMatrix norms = column_norms(coef, *n);
  return norms * made(ToeplitzInverse{std::move(coef)});
}

StreamingMatrix column_normalized_banded_inverse(std::vector<double> params, int64_t bands) {
  expect_some("parameters", params);
  if (bands < 1 || ssize(params) % bands != 0)
    value_error(kStreamingMatrixOp,
                "expected rows of as many parameters as there are bands, got {} for {} bands",
                params.size(), bands);
  for (size_t i = 0; i < params.size(); i += static_cast<size_t>(bands))
    if (params[i] == 0)
      value_error(kStreamingMatrixOp,
                  "expected parameters other than 0 on the diagonal, got 0 in row {}",
                  i / static_cast<size_t>(bands));
  return made(BandedInverse{std::move(params), bands});
}

StreamingMatrix buffered_toeplitz_matrix(std::vector<double> buf_decay,
                                         std::vector<double> output_scale) {
  expect_pairs(buf_decay, output_scale);
  return made(Buffered{std::move(buf_decay), std::move(output_scale), false});
}
StreamingMatrix buffered_toeplitz_inverse(std::vector<double> buf_decay,
                                          std::vector<double> output_scale) {
  expect_pairs(buf_decay, output_scale);
  return made(Buffered{std::move(buf_decay), std::move(output_scale), true});
}

StreamingMatrix dense_matrix(std::vector<double> values, int64_t rows) {
  expect_some("elements", values);
  if (rows < 1 || ssize(values) % rows != 0)
    value_error(kStreamingMatrixOp, "expected elements of whole rows, got {} for {} rows",
                values.size(), rows);
  const int64_t columns = ssize(values) / rows;
  const bool lower = is_lower_triangular(values, rows, columns);
  return made(Dense{std::move(values), rows, columns, lower});
}

StreamingMatrix operator*(const StreamingMatrix& a, const StreamingMatrix& b) {
  expect_lower_triangular(a.node());
  expect_lower_triangular(b.node());
  return made(Product{a, b});
}
StreamingMatrix operator*(const StreamingMatrix& a, double scale) { return a * diagonal({scale}); }

StreamingMatrix scale_rows_and_columns(const StreamingMatrix& a, const ScaleOptions& scales) {
  StreamingMatrix out = a;
  if (!scales.row_scale.empty()) out = diagonal(scales.row_scale) * out;
  if (!scales.col_scale.empty()) out = out * diagonal(scales.col_scale);
  return out;
}

Array multiply_array(const StreamingMatrix& a, const Array& x) {
  if (x.ndim() == 0)
    shape_error(kStreamingMatrixOp, "expected a sequence along the first dimension, got a scalar");
  if (a.rows() && x.shape(0) > *a.rows())
    value_error(kStreamingMatrixOp,
                "expected a sequence of at most {} elements, the rows of the matrix, got {}",
                *a.rows(), x.shape(0));
  const Shape element(x.shape().begin() + 1, x.shape().end());
  const Array like = abstract_array(element, x.dtype());
  return scan(
             [&](const StreamingState<Array>& state, const Array& next) {
               auto [value, after] = a.multiply_next(next, state);
               return std::pair(after, value);
             },
             a.init_multiply(like), x)
      .second;
}

}  // namespace tessera::privacy::matrix_factorization
