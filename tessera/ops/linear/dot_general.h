// dot_general: sums of products over contracting dimensions, for every index of the batch
// dimensions. Result dimensions: batch, the other dimensions of lhs, the other dimensions of rhs.
// Matrix product: contract 1 of lhs with 0 of rhs.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "tessera/ir/array.h"

namespace tessera::ops {

// The order in which the products of a row and a column are added up.
enum class DotSum : uint8_t {
  // Any order: the fastest one.
  kAny,
  // Each element of the result is the same function, bit for bit, of its row and its column,
  // whatever the other rows and columns and their number are. Programs over a batch of examples
  // need this if what is computed from one example may not depend on the others.
  kInvariant,
  // As kInvariant, and the first pair of contracting dimensions enumerates examples: the rounding
  // that they share is bounded (docs/privacy_proof.md). If the other contracting dimensions have
  // one element, slices of kSliceOfExamples examples are added up; otherwise the products of each
  // example are added up separately, and the examples in float64.
  kExamples,
  // The first pair of contracting dimensions enumerates examples: the product of each is rounded to
  // a whole number (ties to even), and sums are exact. For float32 and float64; magnitudes must be
  // below 2^22, and sums within int32. It has no derivative: it is constant almost everywhere.
  kGrid,
};
inline constexpr std::array<std::string_view, 4> enum_names(DotSum) {
  return {"any", "invariant", "examples", "grid"};
}
inline constexpr int64_t kSliceOfExamples = 64;

struct DotParams {
  Dims lhs_batch, rhs_batch;        // paired by position
  Dims lhs_contract, rhs_contract;  // paired by position
  DType result = float32;           // of the result; sums are kept in its accumulation_dtype()
  DotSum sum = DotSum::kAny;
  // The dimension of lhs, or of rhs, that enumerates examples, which the transpose sums by
  // kExamples.
  int64_t lhs_examples = -1, rhs_examples = -1;
};
extern const OpDef& dot_general_op;

// Returns lax::dot_general with DotSum::kInvariant.
Array invariant_dot(const Array& lhs, const Array& rhs, const Dims& lhs_contract,
                    const Dims& rhs_contract, const Dims& lhs_batch, const Dims& rhs_batch);

// Returns the sum over the first of the contracting dimensions by DotSum::kGrid, in float64.
Array grid_dot(const Array& lhs, const Array& rhs, const Dims& lhs_contract,
               const Dims& rhs_contract, const Dims& lhs_batch, const Dims& rhs_batch);

// Returns the dimensions of one operand that are neither batch nor contracting, ascending.
Dims dot_free_dims(int64_t rank, const Dims& batch, const Dims& contract);

}  // namespace tessera::ops

namespace tessera::lax {

struct DotDims {
  Dims lhs_contract, rhs_contract;
  Dims lhs_batch = {}, rhs_batch = {};
};
// lhs and rhs have one dtype; the result's is `preferred` if given. Throws UserError with the
// number of the violated constraint.
Array dot_general(const Array& lhs, const Array& rhs, const DotDims& dims,
                  std::optional<DType> preferred = std::nullopt);
// Contracts the last dimension of lhs with the first of rhs: for vectors and matrices.
Array dot(const Array& lhs, const Array& rhs, std::optional<DType> preferred = std::nullopt);
// Multiplies (..., n, k) by (..., k, m) with equal leading dimensions.
Array batch_matmul(const Array& lhs, const Array& rhs,
                   std::optional<DType> preferred = std::nullopt);

}  // namespace tessera::lax
