// Reductions of the expected squared errors of a mechanism's queries (iterations) to one number,
// which is minimised, and its gradient.
#pragma once

#include <functional>
#include <vector>

namespace tessera::privacy::matrix_factorization {

struct Reduced {
  double value = 0;
  std::vector<double> gradient;  // with respect to each query's error
};

// A reduction can be any differentiable function of the errors; these three are common.
using Reduction = std::function<Reduced(const std::vector<double>& errors)>;

Reduced mean_error(const std::vector<double>& errors);
// If several errors are the largest, only the last of them has a gradient of 1. So for prefix sums
// of a Toeplitz mechanism the gradient is that of last_error.
Reduced max_error(const std::vector<double>& errors);
Reduced last_error(const std::vector<double>& errors);

// Returns the reduction's result. Throws UserError if the function is empty, and if its gradient
// has another length than `errors`.
Reduced reduce(const Reduction& reduction, const std::vector<double>& errors);

}  // namespace tessera::privacy::matrix_factorization
