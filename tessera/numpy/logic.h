// Comparison, logic, bits and choice, as in jax.numpy: dtypes are promoted, shapes broadcast.
//
// Errors, of all: UserError where the shapes do not broadcast, or where the common dtype is none
// the function takes.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

// --- Comparison: bool arrays. Complex numbers are ordered by real, then by imaginary part. ---
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
// |x - y| <= atol + rtol * |y|, element by element.
Array isclose(const Array& x, const Array& y, const CloseOptions& options = {});
Array allclose(const Array& x, const Array& y,
               const CloseOptions& options = {});  // of all elements: one bool
// Whether x and y have one shape and equal elements: one bool. Different shapes are no error.
Array array_equal(const Array& x, const Array& y, bool equal_nan = false);

// --- Logic: any dtype, 0 is false; bool arrays. ---
Array logical_and(const Array& x, const Array& y);
Array logical_or(const Array& x, const Array& y);
Array logical_xor(const Array& x, const Array& y);
Array logical_not(const Array& x);

// --- Bits of bool and integer arrays. ---
Array bitwise_and(const Array& x, const Array& y);
Array bitwise_or(const Array& x, const Array& y);
Array bitwise_xor(const Array& x, const Array& y);
Array bitwise_not(const Array& x);
inline Array invert(const Array& x) { return bitwise_not(x); }
Array left_shift(const Array& x, const Array& y);
Array right_shift(const Array& x, const Array& y);  // keeps the sign of signed integers
Array bitwise_count(const Array& x);                // ones in |x|, as uint8

// --- Kinds of numbers: bool arrays; any dtype. ---
Array isnan(const Array& x);
Array isinf(const Array& x);
Array isfinite(const Array& x);
Array isposinf(const Array& x);  // not of complex numbers
Array isneginf(const Array& x);
Array signbit(const Array& x);  // of -0. and NaN too

// --- Choice. ---

// x where condition holds, else y; all three broadcast. A condition of another dtype holds where it
// is not 0.
Array where(const Array& condition, const Array& x, const Array& y);
// The first of `choices` whose condition holds, else `otherwise`. UserError where their numbers
// differ.
Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices,
             const Array& otherwise = 0);

}  // namespace tessera
