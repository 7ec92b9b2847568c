// The contents of a StreamingMatrix: one of a closed list of matrices, with its coefficients.
// Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tessera/base/overloaded.h"
#include "tessera/privacy/matrix_factorization/streaming_matrix.h"

namespace tessera::privacy::matrix_factorization::internal {

struct Identity {};
struct PrefixSum {};
struct Diagonal {
  std::vector<double> values;
  bool ends;  // whether the matrix ends after the last value; else that is repeated
};
struct Momentum {
  double momentum;
  std::vector<double> learning_rates;
};
// x_t = (y_t - sum over k of coef[k] x_{t - k}) / coef[0].
struct ToeplitzInverse {
  std::vector<double> coef;
};
// x_t = (y_t - sum over k of params[t - k][k] x_{t - k}) / params[t][0], where the given y_t is
// first multiplied by the norm of params[t].
struct BandedInverse {
  std::vector<double> params;
  int64_t bands;
};
struct Buffered {
  std::vector<double> decay, scale;
  bool inverse;
};
struct Dense {
  std::vector<double> values;
  int64_t rows, columns;
  bool lower_triangular;

  double at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
};
struct Product {
  StreamingMatrix a, b;
};
// x_t = sum over k of coef[k] y_{t - k}.
struct Toeplitz {
  std::vector<double> coef;
};

struct Node {
  std::variant<Identity, PrefixSum, Diagonal, Momentum, ToeplitzInverse, BandedInverse, Buffered,
               Dense, Product, Toeplitz>
      matrix;
  std::string key = {};  // the key of all of the above
};

// Throws UserError for a dense matrix with elements above the diagonal, which cannot be streamed.
void expect_lower_triangular(const Node& node);
// Returns the norms of the rows of params.
std::vector<double> row_norms(const BandedInverse& matrix);

// Returns the first n elements of the first column if the matrix is Toeplitz: they determine the
// leading n x n part. Otherwise returns nullopt. It runs on the host in O(n bands) time.
std::optional<std::vector<double>> toeplitz_column(const Node& node, int64_t n);

// Returns for each buffer how many arrays of a leaf's shape are stacked in it, or 0 if it has the
// leaf's shape without a further dimension.
std::vector<int64_t> buffer_depths(const Node& node);

// The number of arrays of each kind in a FlatStep. step_of() is the inverse of arrays().
struct StepLayout {
  int64_t leaves, buffers;
};
StepLayout layout_of(const FlatStep& given);
FlatStep step_of(const StepLayout& layout, std::span<const Array> arrays);

inline int64_t ssize(const std::vector<double>& x) { return static_cast<int64_t>(x.size()); }
// Returns element i, or the last one if there are not so many.
inline double clamped(const std::vector<double>& x, int64_t i) {
  return i < ssize(x) ? x[static_cast<size_t>(i)] : x.back();
}

}  // namespace tessera::privacy::matrix_factorization::internal
