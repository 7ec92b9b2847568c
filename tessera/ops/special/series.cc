#include "tessera/ops/special/series.h"

#include <cmath>
#include <utility>

#include "tessera/ops/core/array_math.h"

namespace tessera::ops::special {

using namespace array_math;

Array chebyshev(std::span<const double> coefficients, const Array& t) {
  const Array twice = t + t;
  Array b = lax::full_like(t, 0), next = b;
  for (size_t k = coefficients.size(); k-- > 1;) {
    const Array sum = twice * b - next + coefficients[k];
    next = b;
    b = sum;
  }
  return t * b - next + coefficients[0];
}

std::vector<double> powers_of_chebyshev(std::span<const double> coefficients, double least) {
  size_t count = coefficients.size();
  while (count > 1 && std::abs(coefficients[count - 1]) <= least) --count;
  std::vector<long double> sum(count, 0), last(count, 0), now(count, 0);  // T_(k-1) and T_k
  now[0] = 1;
  for (size_t k = 0; k < count; ++k) {
    for (size_t power = 0; power <= k; ++power) sum[power] += coefficients[k] * now[power];
    // T_1 = t, and T_(k+1) = 2 t T_k - T_(k-1) from k = 1 on.
    std::vector<long double> next(count, 0);
    for (size_t power = 0; power < count; ++power) {
      if (power > 0) next[power] = (k == 0 ? 1 : 2) * now[power - 1];
      if (k > 0) next[power] -= last[power];
    }
    last = std::exchange(now, std::move(next));
  }
  return {sum.begin(), sum.end()};
}

Array polynomial(std::span<const double> coefficients, const Array& t) {
  Array sum = lax::full_like(t, coefficients.back());
  for (size_t k = coefficients.size() - 1; k-- > 0;) sum = sum * t + coefficients[k];
  return sum;
}

}  // namespace tessera::ops::special
