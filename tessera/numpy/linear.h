// Products of matrices and related functions, as in jax.numpy. Products promote their operands and
// sum in the promoted dtype (float16 and bfloat16 in float32), or in `preferred`, which is then the
// result's dtype.
//
// All functions throw UserError naming both shapes if the contracted extents differ.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/creation.h"

namespace tessera {

// Returns the products of matrices (..., n, k) and (..., k, m), with leading dimensions broadcast.
// A vector on the left is a row, on the right a column; the result does not have that dimension.
// Throws UserError for scalars.
Array matmul(const Array& x, const Array& y, OptionalDType preferred = {});
// Returns the contraction of the last dimension of x with the last but one of y, without
// broadcasting. A scalar multiplies all elements.
Array dot(const Array& x, const Array& y, OptionalDType preferred = {});
// Returns conj(x) . y for the flattened arrays.
Array vdot(const Array& x, const Array& y, OptionalDType preferred = {});
// Returns sum(conj(x) * y) along one axis. The other dimensions broadcast.
Array vecdot(const Array& x, const Array& y, int64_t axis = -1);
// Returns the contraction of the last dimensions of both. A scalar multiplies all elements.
Array inner(const Array& x, const Array& y);
// Returns x[i] * y[j] for the flattened arrays.
Array outer(const Array& x, const Array& y);
// Returns the contraction of the last `axes` dimensions of x with the first ones of y, in order.
Array tensordot(const Array& x, const Array& y, int64_t axes = 2, OptionalDType preferred = {});
// Returns the contraction of the dimensions axes.first of x with axes.second of y, paired by
// position.
Array tensordot(const Array& x, const Array& y, const std::pair<Dims, Dims>& axes,
                OptionalDType preferred = {});
// Returns the product of all operands, summed over the labels that the result does not have:
// einsum("ij,jk->ik", {x, y}). Labels are letters. `...` means further dimensions, which broadcast.
// A label that one operand has twice is its diagonal. Without `->` the result has the labels that
// occur once, in alphabetical order. Several operands are contracted in the order of the least
// work. Throws UserError if subscripts and operands do not fit.
Array einsum(std::string_view subscripts, const std::vector<Array>& operands,
             OptionalDType preferred = {});
// Returns the matrix of blocks x[i, j] * y.
Array kron(const Array& x, const Array& y);

struct TraceOptions {
  int64_t offset = 0, axis1 = 0, axis2 = 1;
  OptionalDType dtype = {};
};
// Returns the sum of a diagonal. The dtype is as for sum().
Array trace(const Array& x, const TraceOptions& options = {});
struct DiagonalOptions {
  int64_t offset = 0, axis1 = 0, axis2 = 1;
};
// Returns the elements x[i, i + offset] as the last dimension.
Array diagonal(const Array& x, const DiagonalOptions& options = {});
// Returns the k-th diagonal of a matrix, or the matrix whose k-th diagonal is the vector. Throws
// UserError for other ranks.
Array diag(const Array& x, int64_t k = 0);
// Return x with zeros above (tril) or below (triu) the k-th diagonal of the last two dimensions.
Array tril(const Array& x, int64_t k = 0);
Array triu(const Array& x, int64_t k = 0);

}  // namespace tessera
