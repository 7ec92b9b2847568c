// Helpers for the strategies of a plan's noise (plan.h). Only plan.cc uses it.
#pragma once

#include "tessera/privacy/plan.h"

namespace tessera::privacy::internal {

// Returns whether the noise of steps that are a cycle of the sampler apart is independent, as
// amplification by sampling requires: it has no more bands than the cycle has steps.
bool amplifiable(const NoiseStrategy& strategy);

// Throw UserError (kValue): expect_lower_triangular unless the strategy is square and
// lower-triangular, with finite numbers and no 0 on the diagonal; the other function, for a first
// column, unless its numbers are finite and the first one is not 0.
void expect_lower_triangular(const matrix_factorization::Matrix& c);
void expect_toeplitz(const matrix_factorization::toeplitz::Coefs& coefs);
// Returns the inverse of a lower-triangular matrix.
matrix_factorization::Matrix inverse_of_lower(const matrix_factorization::Matrix& c);

// Returns the first column of C: the given one, or the best one with noise.bands bands. Throws
// UserError (kValue) if bands is outside [1, steps].
matrix_factorization::toeplitz::Coefs banded_strategy(const BandedNoise& noise, int64_t steps);
// Returns the first column of C^-1 for a run of `steps` steps: the given one, or the best one for
// an example that takes part as often as `participation` allows. Throws UserError (kValue) if both
// noising and workload are given, and the errors of banded_inverse::optimize.
matrix_factorization::toeplitz::Coefs noising_coefs(
    const BandedInverseNoise& noise, int64_t steps,
    const matrix_factorization::Participation& participation);

}  // namespace tessera::privacy::internal
