// How the expected squared errors of the queries (iterations) of a mechanism become the one number
// that is minimised, with its gradient.
#pragma once

#include <functional>
#include <vector>

namespace tessera::privacy::matrix_factorization {

struct Reduced {
  double value = 0;
  std::vector<double> gradient;  // by each query's error
};

// Any differentiable function of the errors; these three are the usual ones.
using Reduction = std::function<Reduced(const std::vector<double>& errors)>;

Reduced mean_error(const std::vector<double>& errors);
// Of equal largest errors the last one has the gradient: prefix sums of a Toeplitz mechanism are
// then differentiated as last_error is.
Reduced max_error(const std::vector<double>& errors);
Reduced last_error(const std::vector<double>& errors);

// What the reduction gives. Errors: an empty function, a gradient of another length.
Reduced reduce(const Reduction& reduction, const std::vector<double>& errors);

}  // namespace tessera::privacy::matrix_factorization
