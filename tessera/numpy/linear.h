// Products of matrices and what belongs to them, as in jax.numpy. Products promote their operands
// and sum in the promoted dtype (float16 and bfloat16 in float32), or in `preferred`, which is then
// the result's dtype.
//
// Errors, of all: UserError naming both shapes where the contracted extents differ.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/creation.h"

namespace tessera {

// (..., n, k) by (..., k, m), leading dimensions broadcast; a vector on the left is a row, on the
// right a column, and its dimension is gone from the result. Scalars: UserError.
Array matmul(const Array& x, const Array& y, OptionalDType preferred = {});
// The last dimension of x with the last but one of y, no broadcasting; scalars multiply.
Array dot(const Array& x, const Array& y, OptionalDType preferred = {});
// conj(x) . y of the flattened arrays.
Array vdot(const Array& x, const Array& y, OptionalDType preferred = {});
// sum(conj(x) * y) along one axis, the others broadcast.
Array vecdot(const Array& x, const Array& y, int64_t axis = -1);
// The last dimensions of both; scalars multiply.
Array inner(const Array& x, const Array& y);
// x[i] * y[j] of the flattened arrays.
Array outer(const Array& x, const Array& y);
// The last `axes` dimensions of x with the first of y, in order.
Array tensordot(const Array& x, const Array& y, int64_t axes = 2, OptionalDType preferred = {});
// These of x with those of y, paired by position.
Array tensordot(const Array& x, const Array& y, const std::pair<Dims, Dims>& axes,
                OptionalDType preferred = {});
// einsum("ij,jk->ik", {x, y}): products of all operands, summed over the labels that the result
// does not name. Labels are letters; `...` stands for further dimensions, which broadcast; a label
// twice in one operand is its diagonal; without `->` the result has the labels that occur once, in
// alphabetical order. Several operands are contracted in the order of the least work. UserError
// where subscripts and operands do not fit.
Array einsum(std::string_view subscripts, const std::vector<Array>& operands,
             OptionalDType preferred = {});
// Blocks x[i, j] * y.
Array kron(const Array& x, const Array& y);

struct TraceOptions {
  int64_t offset = 0, axis1 = 0, axis2 = 1;
  OptionalDType dtype = {};
};
// The sum of a diagonal; integers sum as sum() does.
Array trace(const Array& x, const TraceOptions& options = {});
struct DiagonalOptions {
  int64_t offset = 0, axis1 = 0, axis2 = 1;
};
// x[i, i + offset] as the last dimension.
Array diagonal(const Array& x, const DiagonalOptions& options = {});
// The k-th diagonal of a matrix, or the matrix whose k-th diagonal the vector is. UserError for
// other ranks.
Array diag(const Array& x, int64_t k = 0);
// The last two dimensions, with zeros above (below) the k-th diagonal.
Array tril(const Array& x, int64_t k = 0);
Array triu(const Array& x, int64_t k = 0);

}  // namespace tessera
