// minimum and maximum of floats as IEEE 754-2019 has them: NaN wins, -0 is less than 0, so that
// neither the order of two operands nor that of a fold shows. Without branches, for loops that the
// compiler makes vectors of.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tessera {

// The two orders differ where neither operand is less: zeros, of which the union of bits has the
// sign, and NaN, which no further bits make a number.
template <std::floating_point T>
T ieee_minimum(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static_assert(sizeof(T) == sizeof(Bits));
  const T one = a < b ? a : b, other = b < a ? b : a;
  return std::bit_cast<T>(std::bit_cast<Bits>(one) | std::bit_cast<Bits>(other));
}

template <std::floating_point T>
T ieee_maximum(T a, T b) {
  return -ieee_minimum(-a, -b);
}

}  // namespace tessera
