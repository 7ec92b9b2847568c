#include <array>

#include "tessera/ops/special/series.h"
#include "tessera/scipy/special/iteration.h"

namespace tessera::scipy::special::internal {
namespace {

// Returns sum_k r^k / (2 k + 3), which is (artanh(s) / s - 1) / r for r = s^2 <= 1/9.
Array artanh_series(const Array& r) {
  constexpr int kTerms = 17;
  std::array<double, kTerms> c;
  for (int k = 0; k < kTerms; ++k) c[k] = 1.0 / (2 * k + 3);
  return ops::special::polynomial(c, r);
}

}  // namespace

Array log1p_minus(const Array& u) {
  const Array small = abs(u) < 0.5, v = where(small, u, 0);
  const Array s = v / (2 + v), r = s * s;
  return where(small, s * (2 * r * artanh_series(r) - v), log1p(u) - u);
}

Array root_of_log1p_minus(const Array& u) {
  const Array inverse = 1 / (2 + u), s = u * inverse;
  // This is -2 (log(1 + u) - u) / u^2.
  const Array ratio = 2 * inverse * (1 - 2 * s * inverse * artanh_series(s * s));
  return u * sqrt(ratio);
}

}  // namespace tessera::scipy::special::internal
