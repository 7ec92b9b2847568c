// Minimises a smooth function of a vector by L-BFGS (liblbfgs), for the strategies of this folder:
// few iterates that cost much each, optima needed to many digits, and barriers beyond which the
// function is infinite.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tessera::privacy::matrix_factorization {

// Returns the value at `params`, and fills in `gradient`, which has their size. An infinite or NaN
// value means that the point is outside of the domain: the line search then takes a shorter step.
using Objective =
    std::function<double(const std::vector<double>& params, std::vector<double>& gradient)>;

struct OptimizerStep {
  int64_t step = 0;  // counts from 0
  double loss = 0;
  const std::vector<double>& params;
  const std::vector<double>& gradient;
};

// Returns true to stop.
using OptimizerCallback = std::function<bool(const OptimizerStep&)>;

struct OptimizerOptions {
  int64_t max_optimizer_steps = 250;
  int memory_size = 15;  // the number of steps from which the curvature is estimated
  // The search stops where no entry of the gradient is larger; with 0, where no step makes the loss
  // smaller.
  double gradient_tolerance = 0;
  OptimizerCallback callback = {};
};

// Returns the best parameters found, starting with `params`. Throws UserError if the loss or
// gradient at `params` is not finite.
std::vector<double> optimize(const Objective& objective, std::vector<double> params,
                             const OptimizerOptions& options = {});

}  // namespace tessera::privacy::matrix_factorization
