// The special functions of jax.scipy.special, by the same names: scipy::special::gammainc(a, x).
//
// Arguments are arrays or C++ numbers; integers compute in float32 (in float64 if they have 64
// bits), and shapes broadcast. Half precision computes in float32. A result outside the domain of a
// function is NaN, as in JAX. Every function has derivatives, maps and shards like any other
// elementwise function. A complex argument is a UserError, except where it is said that a function
// takes complex numbers.
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

// The gamma function, of complex numbers too. At +-0 it is +-inf, at negative integers NaN.
Array gamma(const Array& x);
// log |gamma(x)|.
Array gammaln(const Array& x);
// The logarithm of gamma(x) on its principal branch, of complex numbers too; NaN of real x < 0.
Array loggamma(const Array& x);
// The sign of gamma(x): 1 or -1; NaN at negative integers.
Array gammasgn(const Array& x);
// The derivative of gammaln.
Array digamma(const Array& x);
// The derivative of order n of digamma. n is an array of integers, else UserError.
Array polygamma(const Array& n, const Array& x);
// log of pi^(d (d - 1) / 4) prod_{i < d} gamma(a - i / 2). UserError unless d >= 1.
Array multigammaln(const Array& a, int64_t d);
// n! as a float, gamma(n + 1); 0 for n < 0.
Array factorial(const Array& n);
// gamma(z + m) / gamma(z); 1 for m = 0.
Array poch(const Array& z, const Array& m);

struct CombOptions {
  bool repetition = false;  // each thing may be taken several times
};
// The number of ways to take k of n things, as a float; 0 for n < 0, k < 0 and k > n.
Array comb(const Array& n, const Array& k, const CombOptions& options = {});

// gamma(a) gamma(b) / gamma(a + b).
Array beta(const Array& a, const Array& b);
// log |beta(a, b)|.
Array betaln(const Array& a, const Array& b);
// The regularized incomplete gamma functions: the integral of t^(a - 1) exp(-t) / gamma(a) from 0 to
// x, and from x on. NaN for x < 0 and a < 0.
Array gammainc(const Array& a, const Array& x);
Array gammaincc(const Array& a, const Array& x);
// The regularized incomplete beta function: the integral of t^(a - 1) (1 - t)^(b - 1) / beta(a, b)
// from 0 to x. NaN unless a > 0, b > 0 and 0 <= x <= 1.
Array betainc(const Array& a, const Array& b, const Array& x);
// Hurwitz's zeta function, sum_k (q + k)^-x.
Array zeta(const Array& x, const Array& q);
// Bernoulli's numbers B_0 to B_n, with B_1 = -1/2, of the default floating-point dtype. UserError
// unless n >= 0.
Array bernoulli(int64_t n);

// --- Error functions and the normal distribution ---

Array erf(const Array& x);
Array erfc(const Array& x);
Array erfinv(const Array& x);
// The inverse of erfc, accurate where erfc is small.
Array erfcinv(const Array& y);
// exp(x^2) erfc(x), of complex numbers too.
Array erfcx(const Array& x);
// Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0 to x.
Array dawsn(const Array& x);
// Faddeeva's function exp(-z^2) erfc(-i z); the result is complex.
Array wofz(const Array& z);
// The normal distribution function, its inverse and its logarithm.
Array ndtr(const Array& x);
Array ndtri(const Array& p);
Array log_ndtr(const Array& x);
// Owen's function: 1 / (2 pi) times the integral of exp(-h^2 (1 + t^2) / 2) / (1 + t^2) from 0 to a.
Array owens_t(const Array& h, const Array& a);

// --- Elementary functions with a care for their ends ---

Array expit(const Array& x);  // 1 / (1 + exp(-x))
Array logit(const Array& x);  // log(x / (1 - x))
// x log(y) and x log(1 + y); 0 for x = 0, unless y is NaN.
Array xlogy(const Array& x, const Array& y);
Array xlog1py(const Array& x, const Array& y);
// -x log(x); 0 at 0, -inf for x < 0.
Array entr(const Array& x);
// p log(p / q), and p log(p / q) - p + q; inf outside of p >= 0, q >= 0, and for p > 0 = q.
Array rel_entr(const Array& p, const Array& q);
Array kl_div(const Array& p, const Array& q);
// (x^lmbda - 1) / lmbda, or log(x) for lmbda = 0; and the same of 1 + x.
Array boxcox(const Array& x, const Array& lmbda);
Array boxcox1p(const Array& x, const Array& lmbda);

struct SoftmaxOptions {
  Axes axis = None;  // None: all axes
};
Array softmax(const Array& x, const SoftmaxOptions& options = {});
Array log_softmax(const Array& x, const SoftmaxOptions& options = {});
using tessera::logsumexp;
// log |sum(b exp(x))|, and the sign of the sum: JAX's logsumexp with return_sign=True.
std::pair<Array, Array> logsumexp_with_sign(const Array& x, const LogsumexpOptions& options = {});

// --- Bessel functions ---

// The modified functions of orders 0 and 1, and these times exp(-|x|).
Array i0(const Array& x);
Array i0e(const Array& x);
Array i1(const Array& x);
Array i1e(const Array& x);

struct BesselOptions {
  int64_t v = 0;        // the largest order
  int64_t n_iter = 50;  // the order that the recurrence starts from
};
// J_0 to J_v of z, the orders along a new first axis, by Miller's backward recurrence. It is exact to
// rounding if n_iter is larger than v and |z| by some 30. UserError unless 0 <= v < n_iter.
Array bessel_jn(const Array& z, const BesselOptions& options);

// --- Integrals ---

// Ei(x), the integral of exp(t) / t from -inf to x.
Array expi(const Array& x);
// E_1(x) and E_n(x), the integral of exp(-x t) / t^n from 1 on. n counts without its fraction, and
// has no derivative.
Array exp1(const Array& x);
Array expn(const Array& n, const Array& x);
// The integrals of sin(t) / t from 0 to x, and of -cos(t) / t from |x| on.
std::pair<Array, Array> sici(const Array& x);
// The integrals of sin(pi t^2 / 2) and of cos(pi t^2 / 2) from 0 to x.
std::pair<Array, Array> fresnel(const Array& x);
// The integral of log(t) / (1 - t) from 1 to x; NaN for x < 0.
Array spence(const Array& x);

// --- Hypergeometric functions and spherical harmonics ---

// Kummer's function, sum_k (a)_k / (b)_k x^k / k!.
Array hyp1f1(const Array& a, const Array& b, const Array& x);
// Gauss's function, sum_k (a)_k (b)_k / (c)_k x^k / k!, and its continuation to x < -1; inf for
// x > 1.
Array hyp2f1(const Array& a, const Array& b, const Array& c, const Array& x);

struct SphHarmOptions {
  std::optional<int64_t> n_max = std::nullopt;  // absent: the largest n, which must be known
};
// The orthonormal spherical harmonics of degree n and order m at the polar angle theta and the azimuth
// phi, complex. Degrees count as n_max at most; it is 0 for |m| > n. UserError for n or m other than
// integers, and where n is not known (under jit) and n_max is absent.
Array sph_harm_y(const Array& n, const Array& m, const Array& theta, const Array& phi,
                 const SphHarmOptions& options = {});

}  // namespace tessera::scipy::special
