// Elementary functions on vectors of f32 and f64, emitted in line. Rows of ir/scalar_ops.def name
// them as their code.
//
// float32: the error is at most 2 ulp over the whole range, with IEEE's special values (erf_inv:
// Giles's approximation, as in JAX). Common functions are computed in f32; others (pow, tan,
// lgamma, ...) in f64 and rounded. float64: exp, log, sin, cos, tanh, logistic, hyperbolic
// functions, inverses, error functions and pow are in line, too. Arguments that are too large for
// the fast reduction of sin, cos and tan (from 2^17 on in f32, from 2^28 on in f64) and those of
// lgamma near its negative zeros take a branch to libm in float64.
#pragma once

#include <optional>

#include "tessera/codegen/vec.h"

namespace tessera::codegen {

// Functions of float32.
Vec exp_f32(Vec x);
// Returns 2^scale * exp(x), rounded once.
Vec exp_scaled_f32(Vec x, int scale);
Vec exp2_f32(Vec x);
Vec expm1_f32(Vec x);
Vec log_f32(Vec x);
Vec log1p_f32(Vec x);
Vec sin_cos_f32(Vec x, bool cosine);
Vec tanh_f32(Vec x);
Vec logistic_f32(Vec x);
Vec erf_f32(Vec x);
Vec erf_inv_f32(Vec x);
Vec asin_f32(Vec x);
Vec acos_f32(Vec x);
Vec atan_f32(Vec x);
Vec atan2_f32(Vec y, Vec x);
Vec sinh_f32(Vec x);
Vec cosh_f32(Vec x);
Vec cbrt_f32(Vec x);
// These are computed in f64.
Vec tan_f32(Vec x);
Vec erfc_f32(Vec x);
Vec pow_f32(Vec x, Vec y);
Vec asinh_f32(Vec x);
Vec acosh_f32(Vec x);
Vec atanh_f32(Vec x);
Vec lgamma_f32(Vec x);
Vec digamma_f32(Vec x);

// Functions of float64.
Vec tan_f64(Vec x);
Vec exp_f64(Vec x);
Vec exp2_f64(Vec x);
Vec expm1_f64(Vec x);
Vec log_f64(Vec x);
Vec log1p_f64(Vec x);
Vec sin_cos_f64(Vec x, bool cosine);
Vec tanh_f64(Vec x);
Vec logistic_f64(Vec x);
// These return the error of the function of the same name, exact value less result: in float64 the
// sum of both is within 0.25 units in the function's last place (expm1: 0.35), in float32 within
// 1e-6 units. For sines and cosines of angles from 2^28 on in float64 they return 0.
Vec exp_low_f32(Vec x);
Vec exp_low_f64(Vec x);
Vec expm1_low_f32(Vec x);
Vec expm1_low_f64(Vec x);
Vec sin_cos_low_f32(Vec x, bool cosine);
Vec sin_cos_low_f64(Vec x, bool cosine);
// Returns p * 2^n for an integer n, given as a float; the result is rounded once.
Vec scale_f64(Vec p, Vec n);
// exp(x) = 2^n (leading + rest) for x in [-746, 710]. The sum is in [0.7, 1.42], and its rounding
// error is (leading - sum) + rest.
struct ExpParts {
  Vec n, leading, rest;
};
ExpParts exp_parts_f64(Vec x);
// log(x) = leading + rest for positive finite x. |rest| is less than 0.1, and the sum is that of
// log_f64 but for its last rounding. From 1 on, leading - 1 is exact.
struct LogParts {
  Vec leading, rest;
};
LogParts log_parts_f64(Vec x);
// Returns sin(pi x) for x in [0, 1].
Vec sin_pi_f64(Vec x);
// Returns pi cot(pi f) for |f| in [2^-900, 1/2].
Vec pi_cotangent_f64(Vec f);
// math_f64_power.cc
Vec pow_f64(Vec x, Vec y);
Vec cbrt_f64(Vec x);
// math_gamma.cc
Vec lgamma_f64(Vec x);
Vec digamma_f64(Vec x);
// math_f64_erf.cc
Vec erf_f64(Vec x);
Vec erfc_f64(Vec x);
// math_f64_inverse.cc
Vec sinh_f64(Vec x);
Vec cosh_f64(Vec x);
Vec asinh_f64(Vec x);
Vec acosh_f64(Vec x);
Vec atanh_f64(Vec x);
Vec atan_f64(Vec x);
Vec atan2_f64(Vec y, Vec x);
Vec asin_f64(Vec x);
Vec acos_f64(Vec x);
Vec erf_inv_f64(Vec x);

// The other functions take float32 and float64.

// Returns the constant that every lane is, or null.
const llvm::ConstantFP* splat_float(Vec x);
// Returns the bits of 2^exponent as a float of x's type.
uint64_t bits_of_power(Vec x, int64_t exponent);
// Returns 1 / sqrt(x), within 0.501 ulp; for denormal x, 1.5 ulp.
Vec rsqrt(Vec x);
// Returns a / sqrt(x). It differs from two operations that are each rounded to nearest by at most
// an ulp, and hardly ever.
Vec quotient_by_root(Vec a, Vec x);
// Returns whether x is the constant 2: its powers are exp2, which needs no logarithm.
bool is_two(Vec x);
// Returns whether x is the constant 1: atan2(y, 1) is atan(y), which JAX 0.12 writes so.
bool is_one(Vec x);
// Returns x to the power of the constant y if that needs neither a logarithm nor an exponential:
// for y of 0, 1, -1, 2 and 0.5.
std::optional<Vec> power_of_constant(Vec x, Vec y);
Vec sign(Vec x);  // NaN and the zeros are unchanged
Vec is_finite(Vec x);
// See base/extremum.h.
Vec minimum(Vec x, Vec y);
Vec maximum(Vec x, Vec y);
Vec next_after(Vec x, Vec y);
// Returns C's fmod(x, y), which is exact: quotients below 2^24 or 2^53 in line, others by the
// helper.
Vec remainder(Vec x, Vec y, const char* helper);
// Calls a C++ helper for the lanes: out[i] = helper(x[i], y[i]).
Vec call_lanes(const char* helper, Vec x, Vec y = {});

}  // namespace tessera::codegen
