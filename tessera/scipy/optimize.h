// Minimization, with the names of jax.scipy.optimize.
//
//   const auto result = scipy::optimize::minimize(
//       [&](const Array& x) { return sum(square(x - target)); }, zeros(3));
//
// tessera/tessera.h does not include this header.
#pragma once

#include <functional>
#include <optional>

#include "tessera/ir/array.h"

namespace tessera::scipy::optimize {

// kBfgs keeps an approximation of the inverse Hessian, n^2 numbers; kLbfgs keeps the last steps.
enum class Method : uint8_t { kBfgs, kLbfgs };
struct MinimizeOptions {
  Method method = Method::kBfgs;
  double gtol = 1e-5;                             // stops if no element of the gradient is larger
  std::optional<int64_t> maxiter = std::nullopt;  // absent: 200 times the number of variables
  int64_t maxls = 30;                             // most function values in a line search
  int64_t maxcor = 10;                            // number of steps that kLbfgs keeps
};
struct OptimizeResults {
  Array x, success;  // success: whether the gradient is small enough
  Array status;      // 0: success; 1: maxiter steps were made; 3: a line search failed
  Array fun, jac;    // the value and the gradient at x
  // The approximation of the inverse Hessian; absent for kLbfgs.
  std::optional<Array> hess_inv;
  Array nfev, njev, nit;
};
// Returns a minimum of a scalar function of a vector near x0 (Nocedal and Wright, "Numerical
// Optimization", 6.1 and 7.2). The function is called while tracing and runs as one program;
// minimize may be called inside jit and vmap. Results are not differentiable: as for any while
// loop, a derivative is zero or throws UserError. Throws UserError unless x0 is a floating vector,
// the function returns a scalar of its dtype, and the options are positive.
OptimizeResults minimize(const std::function<Array(const Array&)>& fun, const Array& x0,
                         const MinimizeOptions& options = {});

}  // namespace tessera::scipy::optimize
