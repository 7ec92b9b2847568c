// Arithmetic operators for the rules of ops/ and transform/: strict lax ops (no promotion), in
// which C++ numbers take the dtype and shape of the other operand. A source file says `using
// namespace array_math`; users get the promoting operators of numpy/.
#pragma once

#include <type_traits>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"

namespace tessera::ops::array_math {

template <class T>
concept Number = std::is_arithmetic_v<T>;

#define TESSERA_OPERATOR(symbol, function)                                                     \
  inline Array operator symbol(const Array& a, const Array& b) { return lax::function(a, b); } \
  template <Number T>                                                                          \
  Array operator symbol(const Array& a, T b) {                                                 \
    return lax::function(a, lax::full_like(a, static_cast<double>(b)));                        \
  }                                                                                            \
  template <Number T>                                                                          \
  Array operator symbol(T a, const Array& b) {                                                 \
    return lax::function(lax::full_like(b, static_cast<double>(a)), b);                        \
  }
TESSERA_OPERATOR(+, add)
TESSERA_OPERATOR(-, sub)
TESSERA_OPERATOR(*, mul)
TESSERA_OPERATOR(/, div)
TESSERA_OPERATOR(==, eq)
TESSERA_OPERATOR(<, lt)
TESSERA_OPERATOR(>, gt)
TESSERA_OPERATOR(<=, le)
TESSERA_OPERATOR(>=, ge)
#undef TESSERA_OPERATOR
inline Array operator-(const Array& a) { return lax::neg(a); }

}  // namespace tessera::ops::array_math
