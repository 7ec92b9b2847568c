// Elementwise mathematics, as in jax.numpy. Every function takes arrays or C++ numbers (which are
// weakly typed: they take the dtype of the array that they are combined with), promotes dtypes,
// broadcasts shapes, and runs eagerly as one program.
//
// All functions throw UserError if the shapes do not broadcast, or if the function does not take
// the common dtype.
#pragma once

#include <optional>
#include <utility>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// --- Arithmetic. The result has the promoted dtype. ---
Array add(const Array& x, const Array& y);  // of bool: or
Array subtract(const Array& x, const Array& y);
Array multiply(const Array& x, const Array& y);  // of bool: and
// Returns the quotient. Integers divide as floats (float32, or float64 for 64-bit ones).
Array divide(const Array& x, const Array& y);
Array true_divide(const Array& x, const Array& y);
// Returns the quotient rounded towards minus infinity, as Python's //. Integer division by zero is
// no error: as in XLA it gives -1 for 0, -2 for other signed integers, and the largest number for
// unsigned ones.
Array floor_divide(const Array& x, const Array& y);
// Returns the remainder with the sign of y, as Python's %. x % 0 is 0 for integers, NaN for floats.
Array remainder(const Array& x, const Array& y);
Array mod(const Array& x, const Array& y);
Array fmod(const Array& x, const Array& y);  // as C's, with the sign of x
std::pair<Array, Array> divmod(const Array& x, const Array& y);
// Returns x**y. If y is a C++ integer (or a known integer scalar on the host), x is multiplied
// repeatedly, which is as exact as products are. Integers to a negative integer array power give 0
// or wrap, as in JAX.
Array power(const Array& x, const Array& y);
Array pow(const Array& x, const Array& y);
Array float_power(const Array& x, const Array& y);  // always of an inexact dtype
Array maximum(const Array& x, const Array& y);      // NaN if either is NaN
Array minimum(const Array& x, const Array& y);
Array fmax(const Array& x, const Array& y);  // NaN only if both are
Array fmin(const Array& x, const Array& y);
Array negative(const Array& x);  // not of bool
Array positive(const Array& x);
Array abs(const Array& x);  // of complex numbers the modulus, real
Array absolute(const Array& x);
Array fabs(const Array& x);  // always of an inexact dtype
Array sign(const Array& x);  // -1, 0, 1 or NaN; complex: z / |z|
Array square(const Array& x);
Array reciprocal(const Array& x);
Array copysign(const Array& x, const Array& y);
Array nextafter(const Array& x, const Array& y);
Array heaviside(const Array& x, const Array& y);

// --- Rounding. Integers are returned as they are. Only round and rint take complex numbers. ---
Array floor(const Array& x);
Array ceil(const Array& x);
Array trunc(const Array& x);
// Rounds to `decimals` decimal places, half to even. Throws UserError for integers and negative
// decimals.
Array round(const Array& x, int decimals = 0);
Array rint(const Array& x);  // integers become floating
// Returns x clipped to [min, max]. Either bound may be None. Throws UserError for complex numbers.
Array clip(const Array& x, const OrNone<Array>& min = None, const OrNone<Array>& max = None);

// --- Functions of one variable, computed in the inexact dtype of x (integers in float32). ---
Array sqrt(const Array& x);
Array rsqrt(const Array& x);  // 1 / sqrt(x)
Array cbrt(const Array& x);
Array exp(const Array& x);
Array exp2(const Array& x);
Array expm1(const Array& x);
Array log(const Array& x);
Array log1p(const Array& x);
Array log2(const Array& x);
Array log10(const Array& x);
Array sin(const Array& x);
Array cos(const Array& x);
Array tan(const Array& x);
Array arcsin(const Array& x);
Array arccos(const Array& x);
Array arctan(const Array& x);
Array sinh(const Array& x);
Array cosh(const Array& x);
Array tanh(const Array& x);
Array arcsinh(const Array& x);
Array arccosh(const Array& x);
Array arctanh(const Array& x);
Array sinc(const Array& x);  // sin(pi x) / (pi x)
Array deg2rad(const Array& x);
Array rad2deg(const Array& x);
// The following do not take complex numbers.
Array erf(const Array& x);
Array erfc(const Array& x);
Array erf_inv(const Array& x);
Array lgamma(const Array& x);
Array digamma(const Array& x);

// --- Functions of two variables, also computed in the inexact dtype. ---
Array arctan2(const Array& y, const Array& x);
Array hypot(const Array& x, const Array& y);       // not of complex numbers
Array logaddexp(const Array& x, const Array& y);   // log(exp(x) + exp(y)), without overflow
Array logaddexp2(const Array& x, const Array& y);  // the same to base 2

// --- Complex numbers. ---
Array real(const Array& z);  // z itself if it is real
Array imag(const Array& z);  // zeros if z is real
Array conj(const Array& z);
Array angle(const Array& z, bool deg = false);

struct NanToNumOptions {
  Array nan = 0.0;
  std::optional<Array> posinf = std::nullopt,
                       neginf = std::nullopt;  // absent: the largest and smallest finite values
};
// Returns x with NaN and infinities replaced. Arrays that are not floating or complex are returned
// as they are.
Array nan_to_num(const Array& x, const NanToNumOptions& options = {});

// The array API's names, which NumPy 2 has too.
Array asin(const Array& x);
Array acos(const Array& x);
Array atan(const Array& x);
Array asinh(const Array& x);
Array acosh(const Array& x);
Array atanh(const Array& x);
Array atan2(const Array& y, const Array& x);

}  // namespace tessera
