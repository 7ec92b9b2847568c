// Quotients by a number that many elements share (the sum of a row): multiplications by its
// reciprocal instead of divisions, with the same bits.
//
// P. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor" (1990):
// with y = 1 / d rounded to nearest and q at most an ulp off, q + (a - q d) y, both fused, is the
// rounded a / d. If exponents are so extreme that a remainder or quotient may be denormal, and for
// zeros, infinities and NaN, lanes are divided.
#pragma once

#include "tessera/codegen/vec.h"

namespace tessera::codegen {

class SharedDivisor {
 public:
  SharedDivisor() = default;
  // `d` is a scalar float or double; code that uses this object must come after it.
  explicit SharedDivisor(Vec d);
  Vec divide(Vec a) const;

 private:
  Vec divisor_, reciprocal_;  // in every lane
  Vec span_;  // of the bits of dividends that may be multiplied; 0 if the divisor is too extreme
};

}  // namespace tessera::codegen
