// Finds where a function changes its sign. Internal to auditing/.
#pragma once

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cstdint>

namespace tessera::privacy::auditing::internal {

// Returns a double just below the root of a function that is positive at `low` and not at `high`.
// The function is positive at the result, so that bounds made from it err to the safe side.
template <class F>
double last_positive(const F& f, double low, double high) {
  // Values may be logarithms: the search cannot step at infinity.
  const auto finite = [&](double x) { return std::clamp(f(x), -1e100, 1e100); };
  const double at_low = finite(low), at_high = finite(high);
  if (at_high == 0) return high;
  std::uintmax_t iterations = 200;
  const auto bracket =
      boost::math::tools::toms748_solve(finite, low, high, at_low, at_high,
                                        boost::math::tools::eps_tolerance<double>(50), iterations);
  return bracket.first;
}

}  // namespace tessera::privacy::auditing::internal
