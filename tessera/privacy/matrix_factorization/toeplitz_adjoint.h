// The pieces of losses of Toeplitz mechanisms with their gradients, which optimisers add up. Each
// one returns a value and writes the gradient of it by the given coefficients. Internal.
#pragma once

#include <functional>
#include <vector>

#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::matrix_factorization::toeplitz {

struct ValueAndGradient {
  double value = 0;
  Coefs gradient;
};

// The reduced error of prefix sums, for the strategy C with these (banded) coefficients ...
ValueAndGradient strategy_error(const Coefs& coef, int64_t n, const Reduction& reduction);
// ... and for these coefficients of C^-1, as many as the matrix has rows or fewer.
// Of another workload than prefix sums where `workload` is not empty.
ValueAndGradient noising_error(const Coefs& coef, int64_t n, const Reduction& reduction,
                               const Coefs& workload = {});

// The squared norm of the sum of the columns 0, min_sep, 2 min_sep, ..., participations of them.
ValueAndGradient spaced_columns(const Coefs& coef, int64_t n, int64_t min_sep,
                                int64_t participations);

// The coefficients {1, ...} that minimise a loss which does not depend on their scale, from
// `start` on; its first entry is not 0.
Coefs optimize_up_to_scale(const std::function<ValueAndGradient(const Coefs&)>& loss, Coefs start,
                           int64_t max_optimizer_steps);

// gradient by c of f(c^-1), from that by c^-1: both have n coefficients.
Coefs pull_back_inverse(const Coefs& inverse, const Coefs& gradient);

}  // namespace tessera::privacy::matrix_factorization::toeplitz
