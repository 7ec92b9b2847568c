// minimum and maximum of floats as in IEEE 754-2019: the result is NaN if an operand is, and -0 is
// less than 0. So the result depends neither on the order of two operands nor on the order of a
// fold. The functions have no branches: the compiler vectorises loops over them, and emits two
// instructions for the choices if it cannot.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tessera {

template <std::floating_point T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// The choices `one` and `other` differ only if neither operand is less: both are zeros, or one is
// NaN. Then the union of their bits is the result: it has the sign of -0, and a NaN with further
// bits set is still NaN.
template <std::floating_point T>
T ieee_minimum(T a, T b) {
  using Bits = BitsOf<T>;
  static_assert(sizeof(T) == sizeof(Bits));
  const T one = a < b ? a : b, other = b < a ? b : a;
  return std::bit_cast<T>(std::bit_cast<Bits>(one) | std::bit_cast<Bits>(other));
}

// The same, except that the sign is the intersection of the signs. It is not computed as a minimum
// of negated operands, because compilers emit a branch for that, which is mispredicted half of the
// time.
template <std::floating_point T>
T ieee_maximum(T a, T b) {
  using Bits = BitsOf<T>;
  static_assert(sizeof(T) == sizeof(Bits));
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const T one = a > b ? a : b, other = b > a ? b : a;
  const Bits x = std::bit_cast<Bits>(one), y = std::bit_cast<Bits>(other);
  return std::bit_cast<T>(((x | y) & ~kSign) | (x & y & kSign));
}

}  // namespace tessera
