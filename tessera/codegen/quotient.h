// Quotients by a number that many elements share (a constant, the sum of a row). They are computed
// as multiplications by its reciprocal and have the same bits as divisions.
//
// P. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor" (1990):
// if y is 1 / d rounded to nearest, and q is at most an ulp off, then q + (a - q d) y, with both
// operations fused, is the rounded a / d. Lanes are divided if exponents are so extreme that a
// remainder or quotient may be denormal, and for zeros, infinities and NaN.
#pragma once

#include "tessera/codegen/vec.h"

namespace tessera::codegen {

// Returns a / d for floats. A constant's reciprocal pays only with AVX-512, whose division of a
// vector takes longer than ten other operations.
Vec quotient(Vec a, Vec d);

class SharedDivisor {
 public:
  SharedDivisor() = default;
  // `d` is a scalar float or double. Code that calls divide() must come after the code emitted
  // here.
  explicit SharedDivisor(Vec d);
  Vec divide(Vec a) const;

 private:
  Vec divisor_, reciprocal_;  // copied to every lane
  // The range of bits of dividends that may be multiplied; 0 if the divisor is too extreme.
  Vec span_;
};

}  // namespace tessera::codegen
