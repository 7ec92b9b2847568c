// Operators of arrays, as Python's on jax.numpy arrays. A C++ number on either side is weakly
// typed: x * 2 has x's dtype.
//
// Arrays are immutable: x += y binds x to a new array, and other handles of the old one keep it.
//   /           divides integers as floats (floor_divide floors)
//   %           is Python's
//   ==, <, ...  compare element by element and return a bool array (array_equal returns one bool)
//   &&, ||      are C++'s own and need one value on either side; logical_and and & are elementwise
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

// These take bool and integer arrays. >> keeps the sign of signed integers.
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
