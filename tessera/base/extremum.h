// minimum and maximum of floats as in IEEE 754-2019: the result is NaN if an operand is, and -0 is
// less than 0, so that the result depends neither on the order of two operands nor on that of a
// fold. They have no branches: the compiler vectorises loops of them, and makes two instructions of
// the choices where a loop cannot be vectorised.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tessera {

template <std::floating_point T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// The two orders of operands differ only if neither operand is less. For zeros, the union of their
// bits has the sign; for NaN, no further bits make it a number.
template <std::floating_point T>
T ieee_minimum(T a, T b) {
  using Bits = BitsOf<T>;
  static_assert(sizeof(T) == sizeof(Bits));
  const T one = a < b ? a : b, other = b < a ? b : a;
  return std::bit_cast<T>(std::bit_cast<Bits>(one) | std::bit_cast<Bits>(other));
}

// The same, except that the sign of zeros is that of their intersection. It is not the minimum of
// negated operands: compilers make a branch of that, which mispredicts in half of the cases.
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
