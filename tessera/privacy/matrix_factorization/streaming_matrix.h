// StreamingMatrix: a lower-triangular matrix A that multiplies a sequence of trees from the left,
// one tree at a time: (A x)[t] needs x[t] and a state, never all of x. The noising matrices C^{-1}
// of matrix factorisation are applied in this form (Section 4.4 of "Correlated Noise Mechanisms for
// Differentially Private Learning", arXiv:2506.08201).
//
//   const auto a = privacy::matrix_factorization::prefix_sum();
//   auto state = a.init_multiply(x0);                     // a tree, as x0 is
//   auto [y0, next] = a.multiply_next(x0, state);         // y0 = x0
//   auto [y1, last] = a.multiply_next(x1, next);          // y1 = x0 + x1
//
// The matrix itself is static: its coefficients, doubles on the host, are constants of the programs
// that use it. The state is a tree of Arrays: buffers of the leaves' shapes (some have one more
// dimension in front), and the number of rows so far. So the state passes through jit, scan,
// shard_map and checkpoints. Buffers are sharded as the leaves are; nothing is communicated.
//
// Buffers and products have the leaves' dtype, but at least float32.
//
// Some matrices have a last row (rows()). A further row would not belong to the factorisation whose
// sensitivity was computed: outside of a trace it is a UserError. A running program cannot throw,
// so in a program every element of such a row is NaN.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ir/array.h"

namespace tessera::privacy::matrix_factorization {

template <class P>
struct StreamingState {
  Array step;  // int32: the number of rows so far; it stays at the largest int32
  std::vector<P> buffers;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.step, self.buffers);
  }
};

class StreamingMatrix;

namespace internal {

struct Node;
// The buffers of a state, indexed by buffer, then by leaf.
using Buffers = std::vector<std::vector<Array>>;
Array first_step();
// Returns buffers of zeros for leaves of these shapes, in these dtypes, sharded as the leaves are.
Buffers zero_buffers(const StreamingMatrix& matrix, const std::vector<Array>& leaves,
                     const std::vector<DType>& dtypes);
// A row of a sequence and a state, as lists of leaves.
struct FlatStep {
  std::vector<Array> values;
  Array step;
  Buffers buffers;

  // arrays() returns all arrays of a FlatStep, the step last. step_of() returns the FlatStep of
  // such a list.
  std::vector<Array> arrays() const;
  FlatStep like(std::span<const Array> arrays) const;
};
// Returns the next row, and the state after it. Outside of a trace it runs as one program.
FlatStep multiply_next(const StreamingMatrix& matrix, const FlatStep& given);
FlatStep next_row(const StreamingMatrix& matrix, const FlatStep& given);
// Returns the row with the next step. All elements of the row are NaN if the matrix has no such
// row.
FlatStep ended(const StreamingMatrix& matrix, FlatStep row);
// Returns the dtype in which a leaf is noised and accumulated: its own, but at least float32.
// Throws UserError naming `op` for complex leaves.
DType wide_dtype(std::string_view op, DType leaf);
// Throws UserError if the value of the step is known and the matrix has no such row.
void expect_row(std::string_view op, const StreamingMatrix& matrix, const Array& step);
// Throws UserError unless there are as many buffers as the matrix has, of the values' shapes.
void expect_buffers(std::string_view op, const StreamingMatrix& matrix, const FlatStep& given);

template <class P>
Buffers leaves_of(const std::vector<P>& buffers) {
  Buffers out;
  for (const P& buffer : buffers) out.push_back(tree::leaves(buffer));
  return out;
}
template <class P>
std::vector<P> trees_of(const P& like, const Buffers& buffers) {
  std::vector<P> out;
  for (const std::vector<Array>& leaves : buffers) out.push_back(tree::unflatten(like, leaves));
  return out;
}

}  // namespace internal

class StreamingMatrix {
 public:
  explicit StreamingMatrix(internal::Node node);

  // Returns the number of rows; nullopt if the matrix is infinite.
  std::optional<int64_t> rows() const;

  // Returns the state before the first row, for trees of these shapes.
  template <class P>
  StreamingState<P> init_multiply(const P& like) const;
  // Returns the next row of A x, and the state after it. Throws UserError if the state is that of
  // another matrix or of trees of other shapes, and past the last row.
  template <class P>
  std::pair<P, StreamingState<P>> multiply_next(const P& value,
                                                const StreamingState<P>& state) const;

  // Returns the leading n x n part, row-major, as doubles on the host. Throws UserError if n < 0 or
  // n > rows().
  std::vector<double> materialize(int64_t n) const;
  // Returns the squared L2 norm of each of the first n rows. For B = A C^{-1} these are the
  // expected squared errors of the queries of the factorisation A = B C. It takes O(n^2) memory.
  std::vector<double> row_norms_squared(int64_t n) const;

  // Returns a key; matrices are equal if and only if their keys are. A matrix in a tree is static.
  const std::string& tree_static_key() const;
  const internal::Node& node() const { return *node_; }

 private:
  std::shared_ptr<const internal::Node> node_;
};

StreamingMatrix identity();
// Returns the infinite matrix with ones on and below the diagonal.
StreamingMatrix prefix_sum();
// Returns an infinite diagonal matrix; the last element is repeated without end. Throws UserError
// if there are no elements.
StreamingMatrix diagonal(std::vector<double> diag);
// Returns the matrix of the iterates of SGD with momentum on a sequence of gradients: A[i][j] is
// the sum over k of j ... i of learning_rates[k] momentum^(k - j). If no learning rates are given,
// all are 1; otherwise the last one is repeated without end. Throws UserError unless they are
// positive.
StreamingMatrix momentum_sgd_matrix(double momentum = 0, std::vector<double> learning_rates = {});

// Returns the infinite lower-triangular Toeplitz matrix whose first column is `coef`, followed by
// zeros. It keeps coef.size() - 1 buffers. For the coefficients of banded_inverse::optimize it is
// the noising matrix C^{-1} itself. Throws UserError if there are no coefficients or if one is not
// finite.
StreamingMatrix toeplitz_matrix(std::vector<double> coef);
struct ToeplitzInverseOptions {
  // If set to n, C is n x n and its columns are scaled to norm 1. If absent, C is Toeplitz and
  // infinite.
  std::optional<int64_t> column_normalize_for_n = std::nullopt;
};
// Returns C^{-1} of the banded lower-triangular Toeplitz C whose first column begins with `coef`
// (Algorithm 9 of arXiv:2306.08153). It keeps coef.size() - 1 buffers. Throws UserError if there
// are no coefficients or if the first one is 0. With column_normalize_for_n the coefficients beyond
// n are ignored.
StreamingMatrix toeplitz_inverse(std::vector<double> coef,
                                 const ToeplitzInverseOptions& options = {});
// Returns C^{-1} of the banded C with C[i + k][i] = params[i * bands + k] / (norm of the i-th row
// of params): columns have norm 1, as in jax_privacy's ColumnNormalizedBanded. Entries of params
// that would be below the last row of C only contribute to the norm. Throws UserError if a diagonal
// entry is 0.
StreamingMatrix column_normalized_banded_inverse(std::vector<double> params, int64_t bands);

// Return the buffered linear Toeplitz matrix C (arXiv:2404.16706), and its inverse. C has ones on
// its diagonal, and the sum over j of output_scale[j] buf_decay[j]^(k - 1) at distance k below it.
// They are Algorithms 2 and 3 of arXiv:2408.08868, with one buffer for each decay.
StreamingMatrix buffered_toeplitz_matrix(std::vector<double> buf_decay,
                                         std::vector<double> output_scale);
StreamingMatrix buffered_toeplitz_inverse(std::vector<double> buf_decay,
                                          std::vector<double> output_scale);

// Returns a matrix of `rows` rows with these row-major values. multiply_next keeps all earlier
// elements of the sequence, so there are as many buffers as rows; a privatizer instead draws the
// earlier noise again (noise_addition.h). Throws UserError if the number of values is not a
// multiple of `rows`. multiply_next and materialize only accept square lower-triangular matrices.
StreamingMatrix dense_matrix(std::vector<double> values, int64_t rows);

// Returns A B.
StreamingMatrix operator*(const StreamingMatrix& a, const StreamingMatrix& b);
StreamingMatrix operator*(const StreamingMatrix& a, double scale);
struct ScaleOptions {
  std::vector<double> row_scale = {};  // empty: all 1
  std::vector<double> col_scale = {};
};
// Returns diag(row_scale) A diag(col_scale); the last element of each scale is repeated without
// end.
StreamingMatrix scale_rows_and_columns(const StreamingMatrix& a, const ScaleOptions& scales);

// Returns A x for all of x at once. The first dimension of x is the sequence. Throws UserError if x
// is longer than A has rows.
Array multiply_array(const StreamingMatrix& a, const Array& x);

template <class P>
StreamingState<P> StreamingMatrix::init_multiply(const P& like) const {
  const std::vector<Array> leaves = tree::leaves(like);
  std::vector<DType> dtypes;
  for (const Array& leaf : leaves)
    dtypes.push_back(internal::wide_dtype("privacy::StreamingMatrix", leaf.dtype()));
  return {internal::first_step(),
          internal::trees_of(like, internal::zero_buffers(*this, leaves, dtypes))};
}

template <class P>
std::pair<P, StreamingState<P>> StreamingMatrix::multiply_next(
    const P& value, const StreamingState<P>& state) const {
  const char* op = "privacy::StreamingMatrix";
  const internal::FlatStep given{tree::leaves(value), state.step,
                                 internal::leaves_of(state.buffers)};
  internal::expect_row(op, *this, state.step);
  internal::expect_buffers(op, *this, given);
  internal::FlatStep next = internal::multiply_next(*this, given);
  return {tree::unflatten(value, next.values),
          {std::move(next.step), internal::trees_of(value, next.buffers)}};
}

}  // namespace tessera::privacy::matrix_factorization
