// minimum and maximum of floats as in IEEE 754-2019: the result is NaN if an operand is, and -0 is
// less than 0, so that the result depends neither on the order of two operands nor on that of a
// fold. They have no branches, so that the compiler can vectorise loops of them.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tessera {

// The two orders of operands differ only if neither operand is less. For zeros, the union of their
// bits has the sign; for NaN, no further bits make it a number.
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
