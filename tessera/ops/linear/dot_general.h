// dot_general: sums of products over contracting dimensions, for every index of the batch
// dimensions. Result dimensions: batch, the other dimensions of lhs, the other dimensions of rhs.
// Matrix product: contract 1 of lhs with 0 of rhs.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "tessera/ir/array.h"

namespace tessera::ops {

// In which order the products of a row and a column are added up.
enum class DotSum : uint8_t {
  // In whichever order is fastest.
  kAny,
  // Each element of the result is the same function, bit for bit, of its row and its column, whatever
  // the other rows and columns and however many there are. Programs over a batch of examples need
  // it if what becomes of one example may not depend on the others.
  kInvariant,
  // As kInvariant, and the first pair of contracting dimensions counts examples: what they have in
  // common of rounding is bounded (docs/privacy_proof.md). If the other contracting dimensions have
  // one element, slices of kSliceOfExamples examples are added up; else the products of each example
  // are added up by themselves and the examples in float64.
  kExamples,
};
inline constexpr std::array<std::string_view, 3> enum_names(DotSum) {
  return {"any", "invariant", "examples"};
}
inline constexpr int64_t kSliceOfExamples = 64;

struct DotParams {
  Dims lhs_batch, rhs_batch;        // paired by position
  Dims lhs_contract, rhs_contract;  // paired by position
  DType result = float32;           // of the result; sums are kept in its accumulation_dtype()
  DotSum sum = DotSum::kAny;
  // The dimension of lhs, or of rhs, that counts examples, which the transpose sums by kExamples.
  int64_t lhs_examples = -1, rhs_examples = -1;
};
extern const OpDef& dot_general_op;

// lax::dot_general with DotSum::kInvariant.
Array invariant_dot(const Array& lhs, const Array& rhs, const Dims& lhs_contract,
                    const Dims& rhs_contract, const Dims& lhs_batch, const Dims& rhs_batch);

// Whether the op is a product whose sum is DotSum::kExamples.
bool sums_examples(const Op& op);

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
