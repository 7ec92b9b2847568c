// Computes products of vectors and small matrices by elementwise ops and sums:
//
//   nothing is summed       outer products, and products that broadcast
//   one result a batch      vecdot: products, and a reduction of these
//   batches of matrices     of at most 4 x 4: a sum of at most 4 products
#pragma once

#include <span>

#include "tessera/ir/op_def.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::ops {

// The unroll rule of dot_general (ops/core/unroll_rule.h). Returns null for larger matrix products,
// and for products that prescribe the order of summation (DotSum).
FlatFn unrolled_dot(const OpParams& params, std::span<const Type> operands, const Type& result);

// Returns what lax::dot_general returns, for operands of one dtype of floats, as a sum of as many
// outer products as it has terms. So a product of few terms, which takes less time than its result
// takes to be written, is a part of the kernel that reads it.
Array sum_of_outer_products(const Array& lhs, const Array& rhs, const lax::DotDims& dims);

}  // namespace tessera::ops
