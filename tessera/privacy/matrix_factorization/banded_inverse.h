// Strategies whose inverse is banded: Toeplitz noising matrices C^-1 of few coefficients, which need
// as little state as a banded C and suit many participations better (Kalinin et al., "Back to Square
// Roots", arXiv:2505.12128). jax_privacy 2.0 has errors for them (noising_coef) alone.
#pragma once

#include <cstdint>

#include "tessera/privacy/matrix_factorization/reduction.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::matrix_factorization::banded_inverse {

// The banded inverse square root: the first coefficients of the inverse of the square root of the
// prefix sum, 1, -1/2, -1/8, -1/16, ...
toeplitz::Coefs square_root_coefs(int64_t bands);

// Of the C of size n with these coefficients of C^-1. Exact where those of C are not negative and do
// not increase, else a bound.
double minsep_sensitivity_squared(const toeplitz::Coefs& noising_coef,
                                  const Participation& participation, int64_t n);

// The reduced error on prefix sums times that sensitivity.
double loss(const toeplitz::Coefs& noising_coef, const Participation& participation, int64_t n,
            const Reduction& reduction = mean_error);

struct Options {
  int64_t n = 0;
  int64_t bands = 0;  // of C^-1, with the diagonal
  Participation participation = {};
  toeplitz::Coefs noising_coef = {};  // where to begin; empty: square_root_coefs
  int64_t max_optimizer_steps = 250;
  Reduction reduction = mean_error;
};
// The noising coefficients, the first of them 1, that minimise the loss.
toeplitz::Coefs optimize(const Options& options);

}  // namespace tessera::privacy::matrix_factorization::banded_inverse
