// Minimises a smooth function of a vector by L-BFGS (liblbfgs). It suits the strategies of this
// folder: each evaluation is expensive, optima are needed to many digits, and beyond barriers the
// function is infinite.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tessera::privacy::matrix_factorization {

// A function that returns the value at `params` and fills in `gradient`, which has the same size.
// An infinite or NaN value means that the point is outside of the domain: the line search then
// takes a shorter step.
using Objective =
    std::function<double(const std::vector<double>& params, std::vector<double>& gradient)>;

struct OptimizerStep {
  int64_t step = 0;  // counts from 0
  double loss = 0;
  const std::vector<double>& params;
  const std::vector<double>& gradient;
};

// A function that returns true to stop the search.
using OptimizerCallback = std::function<bool(const OptimizerStep&)>;

struct OptimizerOptions {
  int64_t max_optimizer_steps = 250;
  int memory_size = 15;  // the number of steps from which the curvature is estimated
  // The search stops when no entry of the gradient is larger than this; with 0, when no step makes
  // the loss smaller.
  double gradient_tolerance = 0;
  OptimizerCallback callback = {};
};

// Returns the best parameters found, starting with `params`. Throws UserError if the loss or
// gradient at `params` is not finite.
std::vector<double> optimize(const Objective& objective, std::vector<double> params,
                             const OptimizerOptions& options = {});

}  // namespace tessera::privacy::matrix_factorization
