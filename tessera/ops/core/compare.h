// Comparison of two arrays of one dtype and shape; the result is bool.
#pragma once

#include "tessera/ir/array.h"

namespace tessera {

enum class Comparison : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
inline std::array<std::string_view, 6> enum_names(Comparison) {
  return {"EQ", "NE", "GE", "GT", "LE", "LT"};
}
// For floats kFloat is IEEE's comparison (NaN is unordered), and kTotalOrder is -NaN < -inf < ... <
// -0 < 0 < ... < NaN.
enum class CompareType : uint8_t { kFloat, kTotalOrder, kSigned, kUnsigned };
inline std::array<std::string_view, 4> enum_names(CompareType) {
  return {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
}

}  // namespace tessera

namespace tessera::ops {
struct CompareParams {
  Comparison direction = Comparison::kEq;
  CompareType type = CompareType::kFloat;
};
extern const OpDef& compare_op;
// Returns the comparison type of a dtype: kFloat for real and complex floats.
CompareType default_compare_type(DType dtype);

}  // namespace tessera::ops

namespace tessera::lax {

Array compare(const Array& x, const Array& y, Comparison direction);
Array compare(const Array& x, const Array& y, Comparison direction, CompareType type);
Array eq(const Array& x, const Array& y);
Array ne(const Array& x, const Array& y);
Array ge(const Array& x, const Array& y);
Array gt(const Array& x, const Array& y);
Array le(const Array& x, const Array& y);
Array lt(const Array& x, const Array& y);

}  // namespace tessera::lax
