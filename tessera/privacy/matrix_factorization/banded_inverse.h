// Strategies whose inverse is banded: Toeplitz noising matrices C^-1 of few coefficients, which need
// as little state as a banded C and suit many participations better (Kalinin et al., "Back to Square
// Roots", arXiv:2505.12128: BISR, the square root, and BandInvMF, what is optimized from it on).
// jax_privacy.matrix_factorization.toeplitz's functions of noising coefficients.
//
// A workload is given by the first column of its Toeplitz matrix, e.g. that of SGD with momentum
// (toeplitz::sgd_workload_coefs); empty stands for prefix sums, ones.
#pragma once

#include <cstdint>

#include "tessera/privacy/matrix_factorization/reduction.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::matrix_factorization::banded_inverse {

// Returns the banded inverse square root: the first coefficients of the inverse of the square root of
// the workload, of prefix sums 1, -1/2, -1/8, -1/16, ... A workload of fewer than `bands`
// coefficients has zeros behind. UserError for bands below 1, coefficients that are not finite, a
// first one that is not above 0.
toeplitz::Coefs square_root_coefs(int64_t bands, const toeplitz::Coefs& workload = {});

// How the sensitivity of the C of size n with these coefficients of C^-1 is bounded. Both are exact
// where the coefficients of C are not negative and do not increase; elsewhere either may be smaller.
enum class SensitivityBound : uint8_t {
  kMajorant,  // that of the smallest non-increasing coefficients not below |C|'s: O(n bands)
  kMatrix,    // that of the matrix |C|, by sensitivity::get_min_sep_sensitivity_upper_bound: O(n^3)
};

// Returns a bound of the squared sensitivity of C. UserError as toeplitz::inverse_coef and
// sensitivity::minsep_true_max_participations.
double minsep_sensitivity_squared(const toeplitz::Coefs& noising_coef,
                                  const Participation& participation, int64_t n,
                                  SensitivityBound bound = SensitivityBound::kMajorant);

// Returns the reduced error of the workload times the squared sensitivity (kMajorant).
double loss(const toeplitz::Coefs& noising_coef, const Participation& participation, int64_t n,
            const Reduction& reduction = mean_error, const toeplitz::Coefs& workload = {});

struct Options {
  int64_t n = 0;
  int64_t bands = 0;  // of C^-1, with the diagonal
  Participation participation = {};
  // Where to begin: the first `bands` noising coefficients of one of them. Empty: square_root_coefs.
  toeplitz::Coefs noising_coef = {};
  toeplitz::Coefs strategy_coef = {};
  int64_t max_optimizer_steps = 250;
  Reduction reduction = mean_error;
  toeplitz::Coefs workload = {};  // n coefficients
};
// Returns the noising coefficients, the first of them 1, that minimise the loss. UserError: bands
// outside [1, n]; both of noising_coef and strategy_coef, one of noising_coef's that is not of
// `bands` entries, a first entry of 0; a workload of other than n coefficients.
toeplitz::Coefs optimize(const Options& options);

}  // namespace tessera::privacy::matrix_factorization::banded_inverse
