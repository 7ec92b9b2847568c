// American put options and their Greeks, for many options at once: a binomial tree (Cox, Ross and
// Rubinstein, 1979), whose derivatives by its five parameters come from one backward pass.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

#include "examples/timed.h"

using namespace tessera;

struct Contract {
  Array spot, strike, rate, volatility, years;
};
enum class Kind { kCall, kPut };
constexpr int64_t kSteps = 500;

// Returns the value of one option that may be exercised at any step. The value at a node of the
// tree is the larger one of the payoff of exercise and the discounted mean of the next two nodes.
Array price(Kind kind, const Contract& c) {
  const Array dt = c.years / kSteps;
  const Array up = exp(c.volatility * sqrt(dt));
  const Array discount = exp(-c.rate * dt);
  const Array rise = (1 / discount - 1 / up) / (up - 1 / up);
  const auto payoff = [&](const Array& spot) {
    return maximum(kind == Kind::kCall ? spot - c.strike : c.strike - spot, 0);
  };
  const Array nodes = c.spot * exp((2 * arange(kSteps + 1.0) - kSteps) * log(up));
  const auto back = [&](const std::pair<Array, Array>& state, NoneType) {
    const auto& [value, spot] = state;
    // The spot of node j one step earlier. The last entry is not used.
    const Array earlier = spot * up;
    const Array kept = discount * (rise * roll(value, -1) + (1 - rise) * value);
    return std::pair(std::pair(maximum(kept, payoff(earlier)), earlier), None);
  };
  const auto last = scan(back, std::pair(payoff(nodes), nodes), None, {.length = kSteps}).first;
  return index(last.first, {0});
}

// Returns the value of a European call (Black and Scholes, 1973).
Array black_scholes_call(const Contract& c) {
  const Array deviation = c.volatility * sqrt(c.years);
  const Array d = (log(c.spot / c.strike) + c.rate * c.years) / deviation + deviation / 2;
  const auto normal_cdf = [](const Array& x) { return 0.5 * erfc(-x / std::sqrt(2.0)); };
  return c.spot * normal_cdf(d) - c.strike * exp(-c.rate * c.years) * normal_cdf(d - deviation);
}

int main(int argc, char** argv) {
  const auto prices = [](Kind kind) {
    return jit(vmap(value_and_grad([kind](const Contract& c) { return price(kind, c); })));
  };
  const auto put = prices(Kind::kPut), call = prices(Kind::kCall);
  const Array strikes = linspace(80.0, 120.0, 41), same = ones(41);
  const Contract contracts{100 * same, strikes, 0.05 * same, 0.2 * same, same};

  const auto [values, greeks] = put(contracts);
  std::cout << "strike  value   delta   vega    rho     theta\n";
  for (int64_t i : {0, 20, 40}) {
    const auto at = [i](const Array& x) {
      return fmt::format("{:<8.3f}", index(x, {i}).item<double>());
    };
    std::cout << at(strikes) << at(values) << at(greeks.spot) << at(greeks.volatility)
              << at(greeks.rate) << at(-greeks.years) << "\n";
  }

  // The check: without dividends, early exercise of a call never pays, so calls must have the
  // values of European calls. A tree's value is piecewise linear in the spot, so its slope (delta)
  // has an error of about the change of slope between two nodes.
  const auto [calls, call_greeks] = call(contracts);
  const auto [european, european_greeks] = vmap(value_and_grad(black_scholes_call))(contracts);
  const double off = max(abs(calls - european)).item<double>();
  const double delta_off = max(abs(call_greeks.spot - european_greeks.spot)).item<double>();
  std::cout << "calls are off by " << off << ", their deltas by " << delta_off << "\n";
  print_times(argc, argv, sum(values).item<double>(), [&] { put(contracts); });
  const double at_the_money = index(values, {20}).item<double>();
  // 6.0904 is the mean of the trees of 5,000 and 5,001 steps in double precision.
  return off < 0.02 && delta_off < 0.02 && std::abs(at_the_money - 6.0904) < 0.01 ? 0 : 1;
}
