// dot_general: sums of products over contracting dimensions, for every index of the batch
// dimensions. Result dimensions: batch, the other dimensions of lhs, the other dimensions of rhs.
// Matrix product: contract 1 of lhs with 0 of rhs.
#pragma once

#include <optional>

#include "tessera/ir/array.h"

namespace tessera::ops {

struct DotParams {
  Dims lhs_batch, rhs_batch;        // paired by position
  Dims lhs_contract, rhs_contract;  // paired by position
  DType result = float32;           // of the result; sums are kept in its accumulation_dtype()
};
extern const OpDef& dot_general_op;

// Dimensions of one operand that are neither batch nor contracting, ascending.
Dims dot_free_dims(int64_t rank, const Dims& batch, const Dims& contract);

}  // namespace tessera::ops

namespace tessera::lax {

struct DotDims {
  Dims lhs_contract, rhs_contract;
  Dims lhs_batch = {}, rhs_batch = {};
};
// lhs and rhs of one dtype; the result's is `preferred` where given. UserError with the number of
// the violated constraint.
Array dot_general(const Array& lhs, const Array& rhs, const DotDims& dims,
                  std::optional<DType> preferred = std::nullopt);
// Vectors and matrices: the last dimension of lhs with the first of rhs.
Array dot(const Array& lhs, const Array& rhs, std::optional<DType> preferred = std::nullopt);
// (..., n, k) by (..., k, m) with equal leading dimensions.
Array batch_matmul(const Array& lhs, const Array& rhs,
                   std::optional<DType> preferred = std::nullopt);

}  // namespace tessera::lax
