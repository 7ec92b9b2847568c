// Elementwise mathematics, as in jax.numpy. Every function takes arrays or C++ numbers (which are
// weakly typed: they take the dtype of the array they meet), promotes dtypes, broadcasts shapes,
// and runs eagerly as one program.
//
// Errors, of all: UserError where the shapes do not broadcast, or where the common dtype is none
// the function takes.
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
// True division: integers divide as floats (float32, or float64 for 64-bit ones).
Array divide(const Array& x, const Array& y);
inline Array true_divide(const Array& x, const Array& y) { return divide(x, y); }
// Towards minus infinity, as Python's //. Integer division by zero gives -1 - (x > 0) or so, as XLA
// does: no error.
Array floor_divide(const Array& x, const Array& y);
// Python's %: the sign of y. x % 0 is 0 for integers, NaN for floats.
Array remainder(const Array& x, const Array& y);
inline Array mod(const Array& x, const Array& y) { return remainder(x, y); }
Array fmod(const Array& x, const Array& y);  // C's: the sign of x
std::pair<Array, Array> divmod(const Array& x, const Array& y);
// x**y. A C++ integer (or a concrete integer scalar on the host) as y multiplies repeatedly, which
// is exact where powers are; integers to a negative array power give 0 or wrap, as in JAX.
Array power(const Array& x, const Array& y);
inline Array pow(const Array& x, const Array& y) { return power(x, y); }
Array float_power(const Array& x, const Array& y);  // always inexact
Array maximum(const Array& x, const Array& y);      // NaN if either is
Array minimum(const Array& x, const Array& y);
Array fmax(const Array& x, const Array& y);  // NaN only if both are
Array fmin(const Array& x, const Array& y);
Array negative(const Array& x);  // not of bool
Array positive(const Array& x);
Array abs(const Array& x);  // complex: the modulus, real
inline Array absolute(const Array& x) { return abs(x); }
Array fabs(const Array& x);  // inexact
Array sign(const Array& x);  // -1, 0, 1; NaN stays; complex: z / |z|
Array square(const Array& x);
Array reciprocal(const Array& x);
Array copysign(const Array& x, const Array& y);
Array nextafter(const Array& x, const Array& y);
Array heaviside(const Array& x, const Array& y);

// --- Rounding. Integers stay as they are; complex is an error but for round and rint. ---
Array floor(const Array& x);
Array ceil(const Array& x);
Array trunc(const Array& x);
// To `decimals` places, half to even. Integers with negative decimals: UserError.
Array round(const Array& x, int decimals = 0);
Array rint(const Array& x);  // integers become float
// Into [min, max]; either may be None. Complex: UserError.
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
// Not of complex numbers:
Array erf(const Array& x);
Array erfc(const Array& x);
Array erf_inv(const Array& x);
Array lgamma(const Array& x);
Array digamma(const Array& x);

// --- Functions of two variables, likewise inexact. ---
Array arctan2(const Array& y, const Array& x);
Array hypot(const Array& x, const Array& y);       // not of complex numbers
Array logaddexp(const Array& x, const Array& y);   // log(exp(x) + exp(y)), without overflow
Array logaddexp2(const Array& x, const Array& y);  // the same to base 2

// --- Complex numbers. ---
Array real(const Array& z);  // x itself where it is real
Array imag(const Array& z);  // zeros where it is real
Array conj(const Array& z);
Array angle(const Array& z, bool deg = false);

struct NanToNumOptions {
  Array nan = 0.0;
  std::optional<Array> posinf = std::nullopt,
                       neginf = std::nullopt;  // absent: the largest and smallest finite values
};
// x with NaN and infinities replaced; other than inexact arrays stay as they are.
Array nan_to_num(const Array& x, const NanToNumOptions& options = {});

// NumPy 2 and the array API's other names.
inline Array asin(const Array& x) { return arcsin(x); }
inline Array acos(const Array& x) { return arccos(x); }
inline Array atan(const Array& x) { return arctan(x); }
inline Array asinh(const Array& x) { return arcsinh(x); }
inline Array acosh(const Array& x) { return arccosh(x); }
inline Array atanh(const Array& x) { return arctanh(x); }
inline Array atan2(const Array& y, const Array& x) { return arctan2(y, x); }

}  // namespace tessera
