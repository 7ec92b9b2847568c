// Reductions of the expected squared errors of the queries (iterations) of a mechanism to the one
// number that is minimised, with its gradient.
#pragma once

#include <functional>
#include <vector>

namespace tessera::privacy::matrix_factorization {

struct Reduced {
  double value = 0;
  std::vector<double> gradient;  // with respect to each query's error
};

// Any differentiable function of the errors; these three are common.
using Reduction = std::function<Reduced(const std::vector<double>& errors)>;

Reduced mean_error(const std::vector<double>& errors);
// If several errors are the largest, the last one has the gradient, so that for prefix sums of a
// Toeplitz mechanism it is the gradient of last_error.
Reduced max_error(const std::vector<double>& errors);
Reduced last_error(const std::vector<double>& errors);

// Returns the reduction's result. Throws UserError for an empty function, and a gradient of another
// length.
Reduced reduce(const Reduction& reduction, const std::vector<double>& errors);

}  // namespace tessera::privacy::matrix_factorization
