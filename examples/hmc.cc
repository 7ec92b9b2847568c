// Hamiltonian Monte Carlo: 64 chains at once draw samples of the coefficients of a logistic
// regression, following the gradient of the posterior's density.
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

#include "examples/timed.h"

using namespace tessera;

struct Data {
  Array x, y;  // (n, features), (n): 0 or 1
};

// Returns the log density of the posterior, up to a constant. The prior is standard normal.
Array log_density(const Array& w, const Data& data) {
  const Array logits = matmul(data.x, w);
  return sum(data.y * logits - softplus(logits)) - 0.5 * vdot(w, w);
}

// Returns the next point of a chain, and whether the proposed point was accepted.
std::pair<Array, Array> step(const random::Key& key, const Array& w, const Data& data, double size,
                             int64_t leaps) {
  const auto [a, b] = random::split<2>(key);
  const auto slope = [&](const Array& at) {
    return value_and_grad([&](const Array& v) { return log_density(v, data); })(at);
  };
  const Array momentum = random::normal(a, w.shape());
  const auto [density, start_slope] = slope(w);
  const auto leap = [&](const Array&, const std::array<Array, 4>& state) {
    auto [at, p, unused, gradient] = state;
    p += 0.5 * size * gradient;
    at += size * p;
    const auto [value, next] = slope(at);
    return std::array{at, p + 0.5 * size * next, value, next};
  };
  const auto [end, p, end_density, unused] =
      fori_loop(0, leaps, leap, std::array{w, momentum, density, start_slope});
  const Array gain = end_density - density + 0.5 * (vdot(momentum, momentum) - vdot(p, p));
  const Array accepted = tessera::log(random::uniform(b)) < gain;
  return {where(accepted, end, w), accepted};
}

// Returns samples (n, features), and the fraction of proposals that was accepted.
std::pair<Array, Array> chain(const random::Key& key, const Data& data, int64_t samples) {
  const auto next = [&](const Array& w, const random::Key& k) {
    const auto [after, accepted] = step(k, w, data, 0.1, 10);
    return std::pair(after, std::pair(after, accepted));
  };
  const auto [points, accepted] =
      scan(next, zeros(data.x.shape(1)), random::split(key, samples)).second;
  return {points, mean(astype(accepted, float32))};
}

int main(int argc, char** argv) {
  const int64_t features = 5, samples = 300, warm_up = 50;
  const auto [a, b, c] = random::split<3>(random::key(0));
  const Array x = random::normal(a, {200, features}), truth = array({1.0, -2.0, 0.5, 0.0, 1.5});
  const Data data{x, astype(random::bernoulli(b, sigmoid(matmul(x, truth))), float32)};
  const auto run = jit([&](const random::Key& keys, const Data& d) {
    return vmap([&](const random::Key& key) { return chain(key, d, samples); })(keys);
  });
  const random::Key keys = random::split(c, 64);
  const auto [points, accepted] = run(keys, data);
  const Array kept = index(points, {Slice(), Slice(warm_up, None)});
  const Array means = mean(kept, {.axis = {0, 1}}),
              deviations = tessera::std(kept, {.axis = {0, 1}});
  std::cout << "accepted " << mean(accepted) << "\nmeans      " << means << "\ndeviations "
            << deviations << "\n";

  // The check: the means by importance sampling from a normal distribution at the mode.
  const auto density = [&](const Array& w) { return log_density(w, data); };
  Array mode = zeros(features);
  for (int i = 0; i < 10; ++i) mode -= linalg::solve(hessian(density)(mode), grad(density)(mode));
  const Array covariance = linalg::inv(-hessian(density)(mode));
  const Array draws = random::multivariate_normal(random::key(1), mode, covariance, Shape{100'000});
  const Array apart = draws - mode;
  const Array log_weights = vmap(density)(draws) +
                            0.5 * sum(apart * matmul(apart, linalg::inv(covariance)), {.axis = -1});
  const Array expected = matmul(softmax(log_weights), draws);
  std::cout << "expected   " << expected << "\n";
  // The bound is a few standard errors of the chains' means.
  const double off = max(abs(means - expected) / deviations).item<double>();
  print_times(argc, argv, sum(means).item<double>(), [&] { run(keys, data); });
  return off < 0.05 && mean(accepted).item<double>() > 0.7 ? 0 : 1;
}
