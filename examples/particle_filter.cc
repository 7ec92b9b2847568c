// A particle filter estimates the volatility of returns: particles move, get weights by how well
// they explain the return, and are drawn again in proportion to their weights.
#include <tessera/tessera.h>

#include <array>
#include <cmath>
#include <iostream>
#include <numbers>

#include "examples/timed.h"

using namespace tessera;

// The model: volatility' = kPersistence volatility + kSpread noise; return = exp(volatility / 2)
// noise.
constexpr double kPersistence = 0.95, kSpread = 0.3;
const double kStationary = kSpread / std::sqrt(1 - kPersistence * kPersistence);

// Returns the log density of a return, given the volatilities.
Array log_density(const Array& volatility, const Array& y) {
  return -0.5 * (std::log(2 * std::numbers::pi) + volatility + square(y) * exp(-volatility));
}

// Returns as many particles as there are, each about in proportion to its weight. The weights
// divide [0, 1) into intervals, and evenly spaced points, of which the first is random, select the
// particles whose intervals they are in.
Array resample(const random::Key& key, const Array& particles, const Array& weights) {
  const int64_t n = particles.size();
  const Array points = (arange(n) + random::uniform(key)) / n;
  const Array chosen = searchsorted(cumsum(weights), points);
  return take(particles, chosen, {.mode = IndexMode::kClip});
}

// Returns the log likelihood of the returns, and the mean volatility after each return.
std::pair<Array, Array> filter(const random::Key& key, const Array& returns, int64_t particles) {
  const auto [first, steps] = random::split<2>(key);
  const auto step = [&](const std::pair<Array, Array>& state, const auto& now) {
    const auto& [y, step_key] = now;
    const auto [move, draw] = random::split<2>(step_key);
    const Array moved = kPersistence * state.first + kSpread * random::normal(move, {particles});
    const Array log_weights = log_density(moved, y);
    const Array total = logsumexp(log_weights);
    const Array weights = exp(log_weights - total);
    return std::pair(
        std::pair(resample(draw, moved, weights), state.second + total - std::log(particles)),
        vdot(weights, moved));
  };
  const Array start = kStationary * random::normal(first, {particles});
  const auto [last, means] = scan(step, std::pair(start, zeros(Shape{})),
                                  std::pair(returns, random::split(steps, returns.size())));
  return {last.second, means};
}

// Returns the log likelihood of the returns, integrated on a grid. With a single variable this is
// exact enough to compare with.
Array filter_on_grid(const Array& returns) {
  const Array grid = linspace(-6.0, 6.0, 601);
  const auto gauss = [](const Array& x, double deviation) {
    return exp(-0.5 * square(x / deviation)) / (deviation * std::sqrt(2 * std::numbers::pi));
  };
  const double width = 12.0 / 600;
  const Array transition = width * gauss(expand_dims(grid, 1) - kPersistence * grid, kSpread);
  const auto step = [&](const Array& density, const Array& y) {
    const Array joint = matmul(transition, density) * exp(log_density(grid, y));
    const Array total = width * sum(joint);
    return std::pair(joint / total, log(total));
  };
  return sum(scan(step, gauss(grid, kStationary), returns).second);
}

int main(int argc, char** argv) {
  const std::array<random::Key, 3> keys = random::split<3>(random::key(0));
  const auto walk = [](const Array& v, const Array& e) {
    const Array next = kPersistence * v + kSpread * e;
    return std::pair(next, next);
  };
  const Array volatility = scan(walk, zeros(Shape{}), random::normal(keys[0], {250})).second;
  const Array returns = exp(volatility / 2) * random::normal(keys[1], {250});

  const auto run =
      jit([](const random::Key& key, const Array& y) { return filter(key, y, 10'000); });
  const auto [likelihood, means] = run(keys[2], returns);
  const Array expected = filter_on_grid(returns);
  std::cout << "log likelihood by 10,000 particles " << likelihood << ", on a grid " << expected
            << "\n"
            << "correlation with the true volatility "
            << index(corrcoef(stack({volatility, means})), {0, 1}) << "\n";
  print_times(argc, argv, likelihood.item<double>(), [&] { run(keys[2], returns); });
  return abs(likelihood - expected).item<double>() < 0.5 ? 0 : 1;
}
