// Terms of the losses of Toeplitz mechanisms, with their gradients. Optimisers combine them. Each
// function returns a value and its gradient with respect to the given coefficients. Internal.
#pragma once

#include <functional>
#include <vector>

#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::matrix_factorization::toeplitz {

struct ValueAndGradient {
  double value = 0;
  Coefs gradient;
};

// Returns the reduced error of prefix sums for the strategy C with these coefficients.
ValueAndGradient strategy_error(const Coefs& coef, int64_t n, const Reduction& reduction);
// Returns the reduced error of `workload`, or of prefix sums if that is empty, for these
// coefficients of C^-1. There are at most n coefficients.
ValueAndGradient noising_error(const Coefs& coef, int64_t n, const Reduction& reduction,
                               const Coefs& workload = {});

// Returns the squared norm of the sum of the columns 0, min_sep, 2 min_sep, ... of C, of which
// there are as many as participations.
ValueAndGradient spaced_columns(const Coefs& coef, int64_t n, int64_t min_sep,
                                int64_t participations);

// Returns the coefficients, the first of which is 1, that minimise a loss which does not depend on
// their scale. The search begins at `start`, whose first entry is not 0.
Coefs optimize_up_to_scale(const std::function<ValueAndGradient(const Coefs&)>& loss, Coefs start,
                           int64_t max_optimizer_steps);

// Returns the gradient of f(c^-1) with respect to c, given the gradient with respect to c^-1. Both
// have n coefficients.
Coefs pull_back_inverse(const Coefs& inverse, const Coefs& gradient);

}  // namespace tessera::privacy::matrix_factorization::toeplitz
