// Model predictive control brings a pendulum upright: at each step, Newton's method finds the best
// torques for the next second. This solver is differentiated by the implicit function theorem, so
// that the weights of the controller's cost can be tuned by gradients of what the pendulum does.
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

#include "examples/timed.h"

using namespace tessera;

constexpr int64_t kHorizon = 20, kSteps = 40;
constexpr double kDt = 0.05;

// Returns the next state. A state is (angle from upright, speed).
Array move(const Array& state, const Array& torque) {
  const Array speed = index(state, {1}) + kDt * (9.81 * sin(index(state, {0})) + torque);
  return stack({index(state, {0}) + kDt * speed, speed});
}

// Returns the controller's cost of torques (horizon) from a state. `weights` are the logarithms of
// the weights of speed and torque.
Array plan_cost(const Array& torques, const Array& state, const Array& weights) {
  const Array w = exp(weights);
  const auto step = [&](const Array& s, const Array& torque) {
    const Array next = move(s, torque);
    return std::pair(next, 1 - cos(index(next, {0})) + index(w, {0}) * square(index(next, {1})) +
                               index(w, {1}) * square(torque));
  };
  return sum(scan(step, state, torques).second);
}

// Returns the torques at which the gradient of the cost is zero, by Newton's method from a guess.
// The cost is not convex, so the absolute values of curvatures are used, with which every step
// leads downhill. The best of several step lengths is taken.
Array solve(const Array& guess, const Array& state, const Array& weights) {
  const auto slope = [&](const Array& u) {
    return grad([&](const Array& v) { return plan_cost(v, state, weights); })(u);
  };
  const Array from = lax::stop_gradient(state), by = lax::stop_gradient(weights);
  const Array lengths = array({1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0});
  const auto newton = [&](const auto& f, const Array& start) {
    return fori_loop(
        0, 8,
        [&](const Array&, const Array& u) {
          const auto [values, vectors] = linalg::eigh(jacfwd(f)(u));
          const Array s = matmul(transpose(vectors), f(u)) / maximum(abs(values), 1e-3);
          const Array candidates = u - expand_dims(lengths, {1}) * matmul(vectors, s);
          const Array costs =
              vmap([&](const Array& v) { return plan_cost(v, from, by); })(candidates);
          // Near the end, costs are equal except for rounding. Then the longest step is the best.
          return take(candidates, argmin(costs - 1e-12 * lengths), {.axis = 0});
        },
        start);
  };
  const auto tangent = [](const auto& f, const Array& y) {
    return linalg::solve(jacfwd(f)(zeros_like(y)), y);
  };
  return lax::custom_root(slope, guess, newton, tangent);
}

// Returns the cost of what the controlled pendulum does, and the largest slope of the cost at the
// solver's plans, which is zero if the solver converges.
std::pair<Array, Array> closed_loop(const Array& weights, const Array& start) {
  const auto step = [&](const std::pair<Array, Array>& now, NoneType) {
    const auto& [state, guess] = now;
    const Array plan = solve(lax::stop_gradient(guess), state, weights);
    const Array torque = index(plan, {0}), next = move(state, torque);
    const Array cost =
        1 - cos(index(next, {0})) + 0.1 * square(index(next, {1})) + 0.01 * square(torque);
    const auto left = grad([&](const Array& u) { return plan_cost(u, state, weights); })(plan);
    return std::pair(std::pair(next, roll(plan, -1)), std::pair(cost, max(abs(left))));
  };
  const auto [costs, slopes] =
      scan(step, std::pair(start, zeros(kHorizon, start.dtype())), None, {.length = kSteps}).second;
  return {sum(costs), lax::stop_gradient(max(slopes))};
}

int main(int argc, char** argv) {
  enable_x64(true);
  const Array start = array({1.0, 0.0});
  const auto tuned = jit([&](const Array& w) { return value_and_grad(closed_loop)(w, start); });
  Array weights = array({-2.0, -5.0});
  const double before = tuned(weights).first.first.item<double>();
  for (int i = 0; i < 20; ++i) weights -= tuned(weights).second;
  const auto [result, gradient] = tuned(weights);
  const double after = result.first.item<double>(), left = result.second.item<double>();
  std::cout << "cost " << before << ", tuned " << after << " by the weights " << exp(weights)
            << "; the solver leaves slopes of at most " << left << "\n";

  // The check: the gradient by differences of the cost.
  const auto cost = jit([&](const Array& w) { return closed_loop(w, start).first; });
  const double h = 1e-4;
  double off = 0;
  for (int i = 0; i < 2; ++i) {
    const Array shift = h * one_hot(array(i), 2);
    const double difference =
        (cost(weights + shift) - cost(weights - shift)).item<double>() / (2 * h);
    off = std::max(off, std::abs(difference - index(gradient, {i}).item<double>()));
  }
  std::cout << "the gradient " << gradient << " is off differences by " << off << "\n";
  print_times(argc, argv, before, [&] { tuned(weights); });
  return left < 1e-9 && off < 1e-6 && after < before - 0.04 ? 0 : 1;
}
