// Operators of arrays, as Python's on jax.numpy arrays. A C++ number on either side is weakly
// typed: x * 2 has x's dtype.
//
// Arrays are immutable: x += y binds x to a new array, and other handles of the old one keep it.
//   /           divides integers as floats (floor_divide floors)
//   %           is Python's
//   ==, <, ...  compare element by element and give a bool array (array_equal gives one answer)
//   &&, ||      are the language's own: they ask for one value; logical_and and & work on elements
#pragma once

#include "tessera/ir/array.h"

namespace tessera {

Array operator+(const Array& x, const Array& y);
Array operator-(const Array& x, const Array& y);
Array operator*(const Array& x, const Array& y);
Array operator/(const Array& x, const Array& y);
Array operator%(const Array& x, const Array& y);
Array operator-(const Array& x);
Array operator+(const Array& x);

Array operator==(const Array& x, const Array& y);
Array operator!=(const Array& x, const Array& y);
Array operator<(const Array& x, const Array& y);
Array operator<=(const Array& x, const Array& y);
Array operator>(const Array& x, const Array& y);
Array operator>=(const Array& x, const Array& y);

// Of bool and integer arrays. >> keeps the sign of signed integers.
Array operator&(const Array& x, const Array& y);
Array operator|(const Array& x, const Array& y);
Array operator^(const Array& x, const Array& y);
Array operator~(const Array& x);
Array operator<<(const Array& x, const Array& y);
Array operator>>(const Array& x, const Array& y);

inline Array& operator+=(Array& x, const Array& y) { return x = x + y; }
inline Array& operator-=(Array& x, const Array& y) { return x = x - y; }
inline Array& operator*=(Array& x, const Array& y) { return x = x * y; }
inline Array& operator/=(Array& x, const Array& y) { return x = x / y; }
inline Array& operator%=(Array& x, const Array& y) { return x = x % y; }
inline Array& operator&=(Array& x, const Array& y) { return x = x & y; }
inline Array& operator|=(Array& x, const Array& y) { return x = x | y; }
inline Array& operator^=(Array& x, const Array& y) { return x = x ^ y; }
inline Array& operator<<=(Array& x, const Array& y) { return x = x << y; }
inline Array& operator>>=(Array& x, const Array& y) { return x = x >> y; }

}  // namespace tessera
