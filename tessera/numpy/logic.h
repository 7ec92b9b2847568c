// Comparison, logic, bit operations and selection, as in jax.numpy. Dtypes are promoted and shapes
// broadcast.
//
// All functions throw UserError if the shapes do not broadcast, or if the function does not take
// the common dtype.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

// --- Comparison: returns bool arrays. Complex numbers are ordered by real, then imaginary part.
// ---
Array equal(const Array& x, const Array& y);
Array not_equal(const Array& x, const Array& y);
Array less(const Array& x, const Array& y);
Array less_equal(const Array& x, const Array& y);
Array greater(const Array& x, const Array& y);
Array greater_equal(const Array& x, const Array& y);

struct CloseOptions {
  Array rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
// Returns element by element whether |x - y| <= atol + rtol * |y|. allclose returns one bool for
// all.
Array isclose(const Array& x, const Array& y, const CloseOptions& options = {});
Array allclose(const Array& x, const Array& y,
               const CloseOptions& options = {});  // for all elements: one bool
// Returns one bool: whether x and y have one shape and equal elements. Different shapes are no
// error.
Array array_equal(const Array& x, const Array& y, bool equal_nan = false);

// --- Logic: of any dtype, where 0 is false; returns bool arrays. ---
Array logical_and(const Array& x, const Array& y);
Array logical_or(const Array& x, const Array& y);
Array logical_xor(const Array& x, const Array& y);
Array logical_not(const Array& x);

// --- Bits of bool and integer arrays. ---
Array bitwise_and(const Array& x, const Array& y);
Array bitwise_or(const Array& x, const Array& y);
Array bitwise_xor(const Array& x, const Array& y);
Array bitwise_not(const Array& x);
Array invert(const Array& x);
Array left_shift(const Array& x, const Array& y);
Array right_shift(const Array& x, const Array& y);  // keeps the sign of signed integers
Array bitwise_count(const Array& x);                // number of ones in |x|, as uint8

// --- Kinds of numbers: of any dtype; returns bool arrays. ---
Array isnan(const Array& x);
Array isinf(const Array& x);
Array isfinite(const Array& x);
Array isposinf(const Array& x);  // not of complex numbers
Array isneginf(const Array& x);
Array signbit(const Array& x);  // true for -0. and negative NaNs too

// --- Selection. ---

// Returns x where the condition is true, otherwise y; all three broadcast. A condition of another
// dtype is true if it is not 0.
Array where(const Array& condition, const Array& x, const Array& y);
// Returns element by element the first of `choices` whose condition is true, or `otherwise` if none
// is. Throws UserError if the numbers of conditions and choices differ.
Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices,
             const Array& otherwise = 0);

}  // namespace tessera
