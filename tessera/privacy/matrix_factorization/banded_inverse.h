// Strategies whose inverse is banded: Toeplitz noising matrices C^-1 of few coefficients, which
// need as little state as a banded C and suit many participations better (Kalinin et al., "Back to
// Square Roots", arXiv:2505.12128: BISR, the square root, and BandInvMF, which is optimized
// starting from it). These are the functions of noising coefficients in
// jax_privacy.matrix_factorization.toeplitz.
//
// A workload is given by the first column of its Toeplitz matrix, for example the one of SGD with
// momentum (toeplitz::sgd_workload_coefs). If it is empty, the workload is prefix sums: all
// coefficients are 1.
#pragma once

#include <cstdint>

#include "tessera/privacy/matrix_factorization/reduction.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::matrix_factorization::banded_inverse {

// Returns the banded inverse square root: the first coefficients of the inverse of the square root
// of the workload; for prefix sums 1, -1/2, -1/8, -1/16, ... A workload of fewer than `bands`
// coefficients is extended by zeros. Throws UserError for bands below 1, for coefficients that are
// not finite, and for a first one that is not above 0.
toeplitz::Coefs square_root_coefs(int64_t bands, const toeplitz::Coefs& workload = {});

// The bound of the sensitivity of C. Both bounds are exact if the coefficients of C are not
// negative and do not increase; otherwise either may be the smaller one.
enum class SensitivityBound : uint8_t {
  kMajorant,  // of the least non-increasing coefficients not below |C|'s: O(n bands)
  kMatrix,    // of |C|, by sensitivity::get_min_sep_sensitivity_upper_bound: O(n^3)
};

// Returns a bound of the squared sensitivity of the n x n matrix C whose inverse has these
// coefficients. Throws UserError as toeplitz::inverse_coef and
// sensitivity::minsep_true_max_participations do.
double minsep_sensitivity_squared(const toeplitz::Coefs& noising_coef,
                                  const Participation& participation, int64_t n,
                                  SensitivityBound bound = SensitivityBound::kMajorant);

// Returns the reduced error of the workload times the squared sensitivity (kMajorant).
double loss(const toeplitz::Coefs& noising_coef, const Participation& participation, int64_t n,
            const Reduction& reduction = mean_error, const toeplitz::Coefs& workload = {});

struct Options {
  int64_t n = 0;
  int64_t bands = 0;  // of C^-1, including the diagonal
  Participation participation = {};
  // The start of the search: the first `bands` noising coefficients of the one that is given, or
  // square_root_coefs if both are empty.
  toeplitz::Coefs noising_coef = {};
  toeplitz::Coefs strategy_coef = {};
  int64_t max_optimizer_steps = 250;
  Reduction reduction = mean_error;
  toeplitz::Coefs workload = {};  // n coefficients
};
// Returns the noising coefficients, the first of them 1, that minimise the loss. Throws UserError
// for bands outside [1, n]; if noising_coef and strategy_coef are both given, if noising_coef does
// not have `bands` entries, or a first entry is 0; and if the workload does not have n
// coefficients.
toeplitz::Coefs optimize(const Options& options);

}  // namespace tessera::privacy::matrix_factorization::banded_inverse
