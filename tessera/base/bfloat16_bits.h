// Inline conversions between bfloat16 and float, for loops over elements. The conversions of
// dtype.h call these.
#pragma once

#include <bit>
#include <cstdint>

#include "tessera/base/dtype.h"

namespace tessera {

// Returns the same value as a float.
inline float widened(Bfloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

// Returns the nearest bfloat16, the even one of two; a NaN stays a NaN.
inline Bfloat16 nearest_bfloat16(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  const uint32_t quiet_nan = (u >> 16) | 0x40, nearest = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  Bfloat16 out;
  out.bits = static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? quiet_nan : nearest);
  return out;
}

}  // namespace tessera
