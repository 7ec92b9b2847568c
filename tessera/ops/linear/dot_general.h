// dot_general: sums of products over contracting dimensions, for every index of the batch
// dimensions. The result's dimensions are the batch, the other dimensions of lhs and the other
// dimensions of rhs. A matrix product contracts dimension 1 of lhs with dimension 0 of rhs.
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
  // The same as kInvariant, and the first pair of contracting dimensions enumerates examples. The
  // rounding errors that depend on several examples are bounded (docs/privacy_proof.md). If the
  // other contracting dimensions have one element, the products of kSliceOfExamples examples at a
  // time are added up; otherwise those of each example are, and the sums of examples in float64.
  kExamples,
  // The first pair of contracting dimensions enumerates examples. The product of each example is
  // rounded to a whole number (ties to even), and the sums of these are exact. The operands are
  // float32 or float64; products must be below 2^22 in magnitude, and sums within int32. The
  // derivative is zero: the result is constant almost everywhere.
  kGrid,
};
inline constexpr std::array<std::string_view, 4> enum_names(DotSum) {
  return {"any", "invariant", "examples", "grid"};
}
inline constexpr int64_t kSliceOfExamples = 64;

struct DotParams {
  Dims lhs_batch, rhs_batch;        // paired by position
  Dims lhs_contract, rhs_contract;  // paired by position
  DType result = float32;           // sums are computed in its accumulation_dtype()
  DotSum sum = DotSum::kAny;
  // The dimension of lhs, or of rhs, that enumerates examples; -1: none. The transpose sums over it
  // by kExamples.
  int64_t lhs_examples = -1, rhs_examples = -1;
};
extern const OpDef& dot_general_op;

// Returns the same as lax::dot_general, computed with DotSum::kInvariant.
Array invariant_dot(const Array& lhs, const Array& rhs, const Dims& lhs_contract,
                    const Dims& rhs_contract, const Dims& lhs_batch, const Dims& rhs_batch);

// Returns lax::dot_general computed with DotSum::kGrid, in float64.
Array grid_dot(const Array& lhs, const Array& rhs, const Dims& lhs_contract,
               const Dims& rhs_contract, const Dims& lhs_batch, const Dims& rhs_batch);

// Returns the dimensions of one operand that are neither batch nor contracting, ascending.
Dims dot_free_dims(int64_t rank, const Dims& batch, const Dims& contract);

}  // namespace tessera::ops

namespace tessera::lax {

// The dimensions of lhs and rhs that are contracted, and those of the batch, paired by position.
struct DotDims {
  Dims lhs_contract, rhs_contract;
  Dims lhs_batch = {}, rhs_batch = {};
};
// Returns the sums of products of lhs and rhs over the contracting dimensions, with the shape
// (batch, other dimensions of lhs, other dimensions of rhs). lhs and rhs have one dtype; the result
// has the dtype `preferred`, or else theirs. Throws UserError kType or kShape with the number of
// the violated constraint of StableHLO.
Array dot_general(const Array& lhs, const Array& rhs, const DotDims& dims,
                  std::optional<DType> preferred = std::nullopt);
// Returns the product that contracts the last dimension of lhs with the first of rhs. Both are
// vectors or matrices; throws UserError kShape otherwise.
Array dot(const Array& lhs, const Array& rhs, std::optional<DType> preferred = std::nullopt);
// Returns the products (..., n, m) of the matrices lhs (..., n, k) and rhs (..., k, m) with equal
// leading dimensions. Throws UserError kShape for other shapes.
Array batch_matmul(const Array& lhs, const Array& rhs,
                   std::optional<DType> preferred = std::nullopt);

}  // namespace tessera::lax
