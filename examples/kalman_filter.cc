// A Kalman filter tracks a ship by noisy measurements of its position, and finds out how noisy they
// are: the likelihood of the measurements is differentiated through the whole filter.
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>
#include <numbers>

#include "examples/timed.h"

using namespace tessera;

// state' = transition state + process noise; measurement = observation state + measurement noise.
struct Model {
  Array transition, observation;  // (4, 4), (2, 4)
  Array process, measurement;     // standard deviations of accelerations and of positions
};

struct Belief {
  Array mean, covariance;
};

Model ship(const Array& process, const Array& measurement) {
  const Array step = array(
      {{1.0, 0.0, 1.0, 0.0}, {0.0, 1.0, 0.0, 1.0}, {0.0, 0.0, 1.0, 0.0}, {0.0, 0.0, 0.0, 1.0}});
  return {step, eye(2, 4), process, measurement};
}

// Returns the covariance for an acceleration that is constant during a step.
Array process_covariance(const Model& m) {
  const Array push = concatenate({0.5 * eye(2), eye(2)});
  return square(m.process) * matmul(push, transpose(push));
}

// Returns the log likelihood of measurements (n, 2), and the belief after each of them.
std::pair<Array, Belief> filter(const Model& m, const Array& measurements) {
  const Array c = m.observation, noise = square(m.measurement) * eye(2);
  const auto step = [&](const Belief& before, const Array& y) {
    const Array mean = matmul(m.transition, before.mean);
    const Array covariance =
        matmul(matmul(m.transition, before.covariance), transpose(m.transition)) +
        process_covariance(m);
    const Array surprise = y - matmul(c, mean);
    const Array s = matmul(matmul(c, covariance), transpose(c)) + noise;
    const Array gain = transpose(linalg::solve(s, matmul(c, covariance)));
    const Belief after{mean + matmul(gain, surprise), matmul(eye(4) - matmul(gain, c), covariance)};
    const Array log_density = -0.5 * (vdot(surprise, linalg::solve(s, surprise)) +
                                      linalg::slogdet(2 * std::numbers::pi * s).logabsdet);
    return std::pair(after, std::pair(log_density, after));
  };
  const auto [densities, beliefs] = scan(step, Belief{zeros(4), eye(4)}, measurements).second;
  return {sum(densities), beliefs};
}

// Returns the measurements (n, 2) that result from standard normal noise (4 + 4 n).
Array simulate(const Model& m, const Array& noise) {
  const auto step = [&](const Array& state, const Array& e) {
    const Array push = concatenate({0.5 * index(e, {Slice(0, 2)}), index(e, {Slice(0, 2)})});
    const Array next = matmul(m.transition, state) + m.process * push;
    return std::pair(next, matmul(m.observation, next) + m.measurement * index(e, {Slice(2, 4)}));
  };
  return scan(step, index(noise, {Slice(0, 4)}), reshape(index(noise, {Slice(4, None)}), {-1, 4}))
      .second;
}

int main(int argc, char** argv) {
  const Array measurements =
      simulate(ship(0.1, 2.0), random::normal(random::key(0), {4 + 4 * 1000}));
  const auto likelihood = [&](const Array& logs) {
    return filter(ship(exp(index(logs, {0})), exp(index(logs, {1}))), measurements).first;
  };
  // A step of Newton's method for the logarithms of both standard deviations.
  const auto improved = jit([&](const Array& logs) {
    return logs - linalg::solve(hessian(likelihood)(logs), grad(likelihood)(logs));
  });
  Array logs = log(array({0.2, 1.0}));
  for (int i = 0; i < 8; ++i) logs = improved(logs);
  const Array found = exp(logs);
  std::cout << "process noise 0.1 found as " << index(found, {0}) << ", measurement noise 2 as "
            << index(found, {1}) << "\n";

  // The check: measurements are linear in the noise, so their covariance is J J'.
  const int64_t n = 30;
  const Model m = ship(0.1, 2.0);
  const Array y = index(measurements, {Slice(0, n)});
  const Array j = reshape(jacrev([&](const Array& e) { return simulate(m, e); })(zeros(4 + 4 * n)),
                          {2 * n, -1});
  const Array covariance = matmul(j, transpose(j));
  const Array whole = -0.5 * (vdot(ravel(y), linalg::solve(covariance, ravel(y))) +
                              linalg::slogdet(2 * std::numbers::pi * covariance).logabsdet);
  const double difference = abs(whole - filter(m, y).first).item<double>();
  std::cout << "log likelihood of " << n << " measurements at once " << whole
            << ", by the filter off by " << difference << "\n";

  const auto value_and_gradient =
      jit([&](const Array& l) { return value_and_grad(likelihood)(l); });
  const double value = value_and_gradient(logs).first.item<double>();
  print_times(argc, argv, value, [&] { value_and_gradient(logs); });
  const bool near = std::abs(index(found, {1}).item<double>() - 2) < 0.1;
  return difference < 1e-3 && near ? 0 : 1;
}
