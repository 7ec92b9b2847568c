// Polynomials as vectors of coefficients, the highest power first, as in jax.numpy.
//
// All functions throw UserError for coefficients that are not a vector.
#pragma once

#include <optional>
#include <utility>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// Returns the value at x, by Horner's rule. Its shape is x's broadcast with all dimensions of p
// except the first.
Array polyval(const Array& p, const Array& x);

// Return sum and difference, as long as the longer operand.
Array polyadd(const Array& a1, const Array& a2);
Array polysub(const Array& a1, const Array& a2);
// Returns the product, in a floating dtype. An empty operand counts as 0.
Array polymul(const Array& a1, const Array& a2);
// Returns the quotient and the remainder, which is as long as u. Throws UserError for an empty v.
std::pair<Array, Array> polydiv(const Array& u, const Array& v);
// Returns the m-th derivative. Throws UserError for a negative m.
Array polyder(const Array& p, int64_t m = 1);
// Returns the m-th integral. k has its constants: one for each integration, or one for all (absent:
// 0).
Array polyint(const Array& p, int64_t m = 1, const std::optional<Array>& k = std::nullopt);

// Returns the coefficients of the polynomial with these zeros and leading coefficient 1. For a
// square matrix it is the characteristic polynomial.
Array poly(const Array& seq_of_zeros);
struct RootsOptions {
  // Drops leading zeros; coefficients must then be known. false: each leading zero makes a trailing
  // root NaN.
  bool strip_zeros = true;
};
// Returns the zeros as complex numbers in no order. They are the eigenvalues of the companion
// matrix.
Array roots(const Array& p, const RootsOptions& options = {});

struct PolyfitOptions {
  std::optional<double> rcond = std::nullopt;  // as for lstsq; absent: n times epsilon
  std::optional<Array> w = std::nullopt;       // weight of each point
};
// Returns the polynomial of degree deg through the points (x[i], y[i]) with the least sum of
// squared errors, weighted by the squares of w. If y is a matrix, it returns one for each column.
Array polyfit(const Array& x, const Array& y, int64_t deg, const PolyfitOptions& options = {});
// The result of polyfit_full: the coefficients, the sum of squared errors, the rank and the
// singular values of the scaled Vandermonde matrix, and rcond.
struct PolyfitFull {
  Array coefficients, residuals, rank, singular_values, rcond;
};
PolyfitFull polyfit_full(const Array& x, const Array& y, int64_t deg,
                         const PolyfitOptions& options = {});
enum class PolyfitCov : uint8_t { kScaled, kUnscaled };  // scaled by the residuals, or not
// Returns the coefficients and their covariances. Throws UserError if they are to be scaled and
// there are no more points than coefficients.
std::pair<Array, Array> polyfit_cov(const Array& x, const Array& y, int64_t deg,
                                    PolyfitCov cov = PolyfitCov::kScaled,
                                    const PolyfitOptions& options = {});

// Returns powers of a vector as columns: x^(N - 1), ..., x, 1, or in increasing order. N is by
// default the number of elements.
Array vander(const Array& x, OrNone<int64_t> N = None, bool increasing = false);

}  // namespace tessera
