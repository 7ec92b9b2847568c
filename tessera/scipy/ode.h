// Ordinary differential equations: odeint of jax.experimental.ode.
//
//   const Array ys = experimental::ode::odeint(
//       [&](const Array& y, const Array& t) { return -rate * y; }, ones(2), linspace(0, 1, 5));
//
// tessera/tessera.h does not include this header.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tessera/compile/control_flow.h"
#include "tessera/numpy/custom_solve.h"

namespace tessera::experimental::ode {

struct OdeintOptions {
  double rtol = 1.4e-8, atol = 1.4e-8;  // the error of a step relative to y, and beside that
  int64_t mxstep = std::numeric_limits<int32_t>::max();  // steps between two times
  double hmax = INFINITY;                                // the longest step
};

namespace internal {
using tessera::lax::internal::Leaves;
// (leaves of y, then t) -> leaves of dy/dt.
using Dynamics = std::function<Leaves(const Leaves&)>;
Leaves odeint_leaves(const Dynamics& dynamics, const Leaves& y0, const Array& t,
                     const OdeintOptions& options);
}  // namespace internal

// The solution of dy/dt = func(y, t) at the times t, a strictly increasing vector, from y0 at the
// first one: y's tree with the times in front of each leaf. By the method of Dormand and Prince with
// steps of its own choice ("A family of embedded Runge-Kutta formulae", 1980). The reverse derivative by y0, t and what func
// captures is integrated backwards in time (Chen et al., "Neural ordinary differential equations",
// 2018); there is no forward one, as in JAX. UserError unless y is floating, t a floating vector, and func returns
// arrays as y's.
template <class F, class T>
T odeint(const F& func, const T& y0, const Array& t, const OdeintOptions& options = {}) {
  const auto run = [&](const T& start, const Array& times) {
    const auto dynamics = [&](const internal::Leaves& leaves) {
      const internal::Leaves y(leaves.begin(), leaves.end() - 1);
      return tree::leaves(func(tree::unflatten(start, y), leaves.back()));
    };
    return tree::unflatten(start,
                           internal::odeint_leaves(dynamics, tree::leaves(start), times, options));
  };
  return tessera::internal::under_trace("odeint", run, y0, t);
}

}  // namespace tessera::experimental::ode
