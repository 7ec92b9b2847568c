#include "tessera/ops/core/log_add.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/select.h"

namespace tessera::lax {

using namespace ops;

namespace {

using namespace array_math;

// Returns x plus the multiple of 2 * half that moves it into [-half, half]. If x is inside already,
// it is returned without rounding.
Array wrapped(const Array& x, double half) {
  const Array bound = full_like(x, half);
  const Array turn = rem(x + bound, full_like(x, 2 * half));
  const Array shifted = select(turn < full_like(x, 0), turn + 2 * half, turn) - bound;
  return select(abs(x) <= bound, x, shifted);
}

// Returns z * by. The parts are scaled separately, because the product of an infinite z and a
// complex number would be NaN.
Array scaled(const Array& z, double by) {
  return by == 1 ? z : complex(real(z) * by, imag(z) * by);
}

}  // namespace

Array log_add_complex(const Array& a, const Array& b, double base) {
  const double log_base = base == std::numbers::e ? 1 : std::log(base);
  const Array largest = max(a, b);
  const Array minus_inf = full_like(real(largest), -std::numeric_limits<double>::infinity());
  const Array something = bitwise_not(real(largest) == minus_inf);
  // One of the two differences is 0. They are added, instead of choosing that of the smaller
  // operand, because a NaN is neither the smaller nor the larger operand.
  const Array distance = select(something, (a - largest) + (b - largest), full_like(a, 0));
  const Array sum = largest + scaled(log1p(exp(scaled(distance, log_base))), 1 / log_base);
  const double half = std::numbers::pi / log_base;
  return select(something, complex(real(sum), wrapped(imag(sum), half)), largest);
}

}  // namespace tessera::lax
