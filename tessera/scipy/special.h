// The special functions of jax.scipy.special, by the same names: scipy::special::gammainc(a, x).
//
// Arguments are arrays or C++ numbers; shapes broadcast. Integers are computed in float32 (in
// float64 if they have 64 bits), half precision in float32. A result outside the domain of a
// function is NaN, as in JAX. Every function has derivatives and works under vmap and shardings
// like any other elementwise function. A complex argument throws UserError, unless the function is
// documented to take complex numbers.
//
// tessera/tessera.h does not include this header.
#pragma once

#include <optional>
#include <utility>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/reduce.h"

namespace tessera::scipy::special {

// --- Gamma functions ---

// Returns the gamma function, also of complex numbers. It is +-inf at +-0 and NaN at negative
// integers.
Array gamma(const Array& x);
// Returns log |gamma(x)|.
Array gammaln(const Array& x);
// Returns the logarithm of gamma(x) on its principal branch, also of complex numbers. It is NaN for
// real x < 0.
Array loggamma(const Array& x);
// Returns the sign of gamma(x): 1 or -1, or NaN at negative integers.
Array gammasgn(const Array& x);
// Returns the derivative of gammaln.
Array digamma(const Array& x);
// Returns the derivative of order n of digamma. Throws UserError unless n is an array of integers.
Array polygamma(const Array& n, const Array& x);
// Returns the logarithm of pi^(d (d - 1) / 4) prod_{i < d} gamma(a - i / 2). Throws UserError
// unless d >= 1.
Array multigammaln(const Array& a, int64_t d);
// Returns n! = gamma(n + 1) as a float; 0 for n < 0.
Array factorial(const Array& n);
// Returns gamma(z + m) / gamma(z); 1 for m = 0.
Array poch(const Array& z, const Array& m);

struct CombOptions {
  bool repetition = false;  // each thing may be taken several times
};
// Returns the number of ways to take k of n things, as a float; 0 for n < 0, k < 0 and k > n.
Array comb(const Array& n, const Array& k, const CombOptions& options = {});

// Returns gamma(a) gamma(b) / gamma(a + b).
Array beta(const Array& a, const Array& b);
// Returns log |beta(a, b)|.
Array betaln(const Array& a, const Array& b);
// Return the regularized incomplete gamma functions: the integral of t^(a - 1) exp(-t) / gamma(a)
// from 0 to x (gammainc) or from x to infinity (gammaincc). They are NaN for x < 0 and a < 0.
Array gammainc(const Array& a, const Array& x);
Array gammaincc(const Array& a, const Array& x);
// Returns the regularized incomplete beta function: the integral of t^(a - 1) (1 - t)^(b - 1) /
// beta(a, b) from 0 to x. It is NaN unless a > 0, b > 0 and 0 <= x <= 1.
Array betainc(const Array& a, const Array& b, const Array& x);
// Returns Hurwitz's zeta function, sum_k (q + k)^-x.
Array zeta(const Array& x, const Array& q);
// Returns Bernoulli's numbers B_0 to B_n, with B_1 = -1/2, in the default floating-point dtype.
// Throws UserError unless n >= 0.
Array bernoulli(int64_t n);

// --- Error functions and the normal distribution ---

Array erf(const Array& x);
Array erfc(const Array& x);
Array erfinv(const Array& x);
// Returns the inverse of erfc, which is accurate for small y too.
Array erfcinv(const Array& y);
// Returns exp(x^2) erfc(x), also of complex numbers.
Array erfcx(const Array& x);
// Returns Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0 to x.
Array dawsn(const Array& x);
// Returns Faddeeva's function exp(-z^2) erfc(-i z), which is complex.
Array wofz(const Array& z);
// Return the normal distribution function, its inverse and its logarithm.
Array ndtr(const Array& x);
Array ndtri(const Array& p);
Array log_ndtr(const Array& x);
// Returns Owen's function: 1 / (2 pi) times the integral of exp(-h^2 (1 + t^2) / 2) / (1 + t^2)
// from 0 to a.
Array owens_t(const Array& h, const Array& a);

// --- Elementary functions that are precise at the ends of their domains ---

Array expit(const Array& x);  // 1 / (1 + exp(-x))
Array logit(const Array& x);  // log(x / (1 - x))
// Return x log(y) and x log(1 + y). They are 0 for x = 0, unless y is NaN.
Array xlogy(const Array& x, const Array& y);
Array xlog1py(const Array& x, const Array& y);
// Returns -x log(x). It is 0 at 0 and -inf for x < 0.
Array entr(const Array& x);
// Return p log(p / q), and p log(p / q) - p + q. They are inf for p < 0, for q < 0, and for q = 0
// if p > 0.
Array rel_entr(const Array& p, const Array& q);
Array kl_div(const Array& p, const Array& q);
// Return (x^lmbda - 1) / lmbda, or log(x) for lmbda = 0; and the same function of 1 + x.
Array boxcox(const Array& x, const Array& lmbda);
Array boxcox1p(const Array& x, const Array& lmbda);

struct SoftmaxOptions {
  Axes axis = None;  // None: all axes
};
Array softmax(const Array& x, const SoftmaxOptions& options = {});
Array log_softmax(const Array& x, const SoftmaxOptions& options = {});
using tessera::logsumexp;
// Returns log |sum(b exp(x))| and the sign of the sum, as JAX's logsumexp with return_sign=True.
std::pair<Array, Array> logsumexp_with_sign(const Array& x, const LogsumexpOptions& options = {});

// --- Bessel functions ---

// Return the modified Bessel functions of orders 0 and 1, and these times exp(-|x|).
Array i0(const Array& x);
Array i0e(const Array& x);
Array i1(const Array& x);
Array i1e(const Array& x);

struct BesselOptions {
  int64_t v = 0;        // the largest order
  int64_t n_iter = 50;  // the order that the recurrence starts from
};
// Returns J_0 to J_v of z by Miller's backward recurrence. The orders are a new first dimension.
// The result is exact up to rounding if n_iter is larger than v and |z| by about 30. Throws
// UserError unless 0 <= v < n_iter.
Array bessel_jn(const Array& z, const BesselOptions& options);

// --- Integrals ---

// Returns Ei(x), the integral of exp(t) / t from -inf to x.
Array expi(const Array& x);
// Return E_1(x), and E_n(x), the integral of exp(-x t) / t^n from 1 to infinity. n is rounded down,
// and has no derivative.
Array exp1(const Array& x);
Array expn(const Array& n, const Array& x);
// Returns the integrals of sin(t) / t from 0 to x, and of -cos(t) / t from |x| to infinity.
std::pair<Array, Array> sici(const Array& x);
// Returns the integrals of sin(pi t^2 / 2) and of cos(pi t^2 / 2) from 0 to x.
std::pair<Array, Array> fresnel(const Array& x);
// Returns the integral of log(t) / (1 - t) from 1 to x. It is NaN for x < 0.
Array spence(const Array& x);

// --- Hypergeometric functions and spherical harmonics ---

// Returns Kummer's function, sum_k (a)_k / (b)_k x^k / k!.
Array hyp1f1(const Array& a, const Array& b, const Array& x);
// Returns Gauss's function, sum_k (a)_k (b)_k / (c)_k x^k / k!, and its continuation to x < -1. It
// is inf for x > 1.
Array hyp2f1(const Array& a, const Array& b, const Array& c, const Array& x);

struct SphHarmOptions {
  std::optional<int64_t> n_max = std::nullopt;  // absent: the largest n, whose values must be known
};
// Returns the orthonormal spherical harmonics of degree n and order m at the polar angle theta and
// the azimuth phi, as complex numbers. Degrees above n_max are taken as n_max. The result is 0 for
// |m| > n. Throws UserError if n or m are not integers, and if n_max is absent while the values of
// n are not known (under jit).
Array sph_harm_y(const Array& n, const Array& m, const Array& theta, const Array& phi,
                 const SphHarmOptions& options = {});

}  // namespace tessera::scipy::special
