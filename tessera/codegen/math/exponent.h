// The exponents and mantissas of floats, for logarithms. AVX-512 has instructions for them, with
// which zeros, infinities, NaN and negative numbers need no code of their own.
#pragma once

#include <optional>

#include "tessera/codegen/vec.h"

namespace tessera::codegen {

// x = 2^exponent mantissa for positive finite numbers, denormal ones too, with the mantissa in
// [3/4, 3/2). For zeros the exponent is negative infinity and the mantissa is finite; for infinity
// the exponent is infinite and the mantissa is finite; for NaN and negative numbers one of them is
// NaN. So a sum of exponent * log(2) and finite functions of the mantissa is the logarithm of all
// of them.
struct Scaled {
  Vec exponent, mantissa;
};
enum class Denormals { kPossible, kNone };  // whether x may be denormal
Scaled scaled_of(Vec x, Denormals denormals = Denormals::kPossible);

// Returns p * 2^n, rounded once, for any integer n, given as a float; nothing if the target has no
// instruction for it.
std::optional<Vec> scaled_by_instruction(Vec p, Vec n);

// Returns p / 2^exponent for a small p and the exponent of a number from 1/2^100 on. It may be 0 if
// the number is not far from the largest. If the exponent is infinite, the result is 0 or NaN.
Vec divided_by_power(Vec p, Vec exponent);

}  // namespace tessera::codegen
