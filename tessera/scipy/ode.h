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
  double rtol = 1.4e-8, atol = 1.4e-8;                   // allowed error of a step: rtol |y| + atol
  int64_t mxstep = std::numeric_limits<int32_t>::max();  // most steps between two times
  double hmax = INFINITY;                                // the longest step
};

namespace internal {
using tessera::lax::internal::Leaves;
// A function of the leaves of y, followed by t, that returns the leaves of dy/dt.
using Dynamics = std::function<Leaves(const Leaves&)>;
Leaves odeint_leaves(const Dynamics& dynamics, const Leaves& y0, const Array& t,
                     const OdeintOptions& options);
}  // namespace internal

// Returns the solution of dy/dt = func(y, t) from y0 at the first time, at all times of the
// strictly increasing vector t: y0's tree with the times as the first dimension of each leaf. The
// method is that of Dormand and Prince with steps of its own choice ("A family of embedded
// Runge-Kutta formulae", 1980). The reverse derivative by y0, t and the captures of func is
// integrated backwards in time (Chen et al., "Neural ordinary differential equations", 2018); as in
// JAX, there is no forward one. Throws UserError unless y is floating, t is a floating vector, and
// func returns arrays like y's.
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
