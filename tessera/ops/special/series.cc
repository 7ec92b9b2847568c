#include "tessera/ops/special/series.h"

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

Array polynomial(std::span<const double> coefficients, const Array& t) {
  Array sum = lax::full_like(t, coefficients.back());
  for (size_t k = coefficients.size() - 1; k-- > 0;) sum = sum * t + coefficients[k];
  return sum;
}

}  // namespace tessera::ops::special
