// Products that are elementwise ops, of vectors and matrices too small for matrix products:
//
//   without a sum           outer products, and products that broadcast
//   one result a batch      sums of products over rows: vecdot
//   matrices of up to 4 x 4 for many batches, a sum of as many products
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of dot_general (ops/core/unroll_rule.h): null for matrix products, and for those
// whose order of summation is prescribed (DotSum).
FlatFn unrolled_dot(const OpParams& params, std::span<const Type> operands, const Type& result);

}  // namespace tessera::ops
