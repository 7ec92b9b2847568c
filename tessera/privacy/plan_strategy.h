// Parts of the strategies of a plan's noise (plan.h). For plan.cc.
#pragma once

#include "tessera/privacy/plan.h"

namespace tessera::privacy::internal {

// Whether the noise of steps that are a cycle of the sampler apart is independent, as amplification by
// sampling needs: of no more bands than the cycle has steps.
bool amplifiable(const NoiseStrategy& strategy);

// Returns the first column of C^-1 for a run of so many steps: the given one, or the best one for an
// example that takes part so. UserError (kValue) where both noising and workload are given, and as
// banded_inverse::optimize.
matrix_factorization::toeplitz::Coefs noising_coefs(
    const BandedInverseNoise& noise, int64_t steps,
    const matrix_factorization::Participation& participation);

}  // namespace tessera::privacy::internal
