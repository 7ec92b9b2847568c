// Polynomials as vectors of coefficients, the highest power first, as in jax.numpy.
//
// Errors, of all: UserError for coefficients that are not a vector.
#pragma once

#include <optional>
#include <utility>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// The value at x, by Horner's rule: the shape of x, broadcast with p's dimensions but the first.
Array polyval(const Array& p, const Array& x);

// Sum and difference, as long as the longer one.
Array polyadd(const Array& a1, const Array& a2);
Array polysub(const Array& a1, const Array& a2);
// The product, floating. An empty operand counts as 0.
Array polymul(const Array& a1, const Array& a2);
// The quotient and the rest, which is as long as u. UserError for an empty v.
std::pair<Array, Array> polydiv(const Array& u, const Array& v);
// The m-th derivative. UserError for a negative m.
Array polyder(const Array& p, int64_t m = 1);
// The m-th integral, with the constants k: one for each integration, or one for all (absent: 0).
Array polyint(const Array& p, int64_t m = 1, const std::optional<Array>& k = std::nullopt);

// The coefficients of the polynomial with these zeros, the first one 1; of a square matrix, of its
// characteristic polynomial.
Array poly(const Array& seq_of_zeros);
struct RootsOptions {
  // Drops leading zeros, whose number must be known then; false: they make trailing roots NaN.
  bool strip_zeros = true;
};
// The zeros, complex, in no order: the eigenvalues of the companion matrix.
Array roots(const Array& p, const RootsOptions& options = {});

struct PolyfitOptions {
  std::optional<double> rcond = std::nullopt;  // as lstsq's; absent: n times epsilon
  std::optional<Array> w = std::nullopt;       // of each point
};
// The polynomial of degree deg through the points (x[i], y[i]) with the least sum of squared
// errors, weighted by the squares of w; of each column where y is a matrix.
Array polyfit(const Array& x, const Array& y, int64_t deg, const PolyfitOptions& options = {});
// And the sum of squares, the rank and singular values of the scaled Vandermonde matrix, rcond.
struct PolyfitFull {
  Array coefficients, residuals, rank, singular_values, rcond;
};
PolyfitFull polyfit_full(const Array& x, const Array& y, int64_t deg,
                         const PolyfitOptions& options = {});
enum class PolyfitCov : uint8_t { kScaled, kUnscaled };  // by the residuals, or not
// And the covariances of the coefficients. UserError where scaling has no more points than
// coefficients.
std::pair<Array, Array> polyfit_cov(const Array& x, const Array& y, int64_t deg,
                                    PolyfitCov cov = PolyfitCov::kScaled,
                                    const PolyfitOptions& options = {});

// Powers of a vector as columns: x^(N - 1), ..., x, 1, or in increasing order. N absent: as many as
// elements.
Array vander(const Array& x, OrNone<int64_t> N = None, bool increasing = false);

}  // namespace tessera
