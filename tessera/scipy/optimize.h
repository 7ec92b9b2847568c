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

// kBfgs keeps the inverse of the Hessian, n^2 numbers; kLbfgs the last steps.
enum class Method : uint8_t { kBfgs, kLbfgs };
struct MinimizeOptions {
  Method method = Method::kBfgs;
  double gtol = 1e-5;                             // the largest element of the gradient to stop at
  std::optional<int64_t> maxiter = std::nullopt;  // absent: 200 times the number of variables
  int64_t maxls = 30;                             // function values in a search along a line
  int64_t maxcor = 10;                            // how many steps kLbfgs keeps
};
struct OptimizeResults {
  Array x, success;  // success: whether the gradient is as small as asked for
  Array status;      // 0: success; 1: maxiter steps were made; 3: a search along a line failed
  Array fun, jac;    // the value and the gradient at x
  // The approximation of the inverse of the Hessian; absent for kLbfgs.
  std::optional<Array> hess_inv;
  Array nfev, njev, nit;
};
// A minimum of a scalar function of a vector, near x0 (Nocedal and Wright, "Numerical Optimization",
// 6.1 and 7.2). The function is called while tracing and runs as one program; it may be called
// inside jit and vmap. Results are not differentiated: a derivative is a UserError or zero as for
// any while loop. UserError unless x0 is a floating vector, the function returns a scalar of its
// dtype, and the options are positive.
OptimizeResults minimize(const std::function<Array(const Array&)>& fun, const Array& x0,
                         const MinimizeOptions& options = {});

}  // namespace tessera::scipy::optimize
