#include "tessera/codegen/helpers.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tessera/ir/format.h"

namespace tessera::codegen {
namespace {

void copy_bytes(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

// Applies F to each lane. F is a function of one or two arguments.
template <class T, class F>
void lanes(T* out, const T* x, [[maybe_unused]] const T* y, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    if constexpr (std::invocable<F, T>) {
      out[i] = static_cast<T>(F()(x[i]));
    } else {
      out[i] = static_cast<T>(F()(x[i], y[i]));
    }
  }
}
// Computes in double, then rounds: libm is exact for arguments of any size.
template <double (*F)(double)>
void lanes_by_f64(float* out, const float* x, const float*, int32_t n) {
  for (int32_t i = 0; i < n; ++i) out[i] = static_cast<float>(F(static_cast<double>(x[i])));
}

// Shifts x to 10 by the recurrence, then uses the asymptotic series; for x <= 0, the reflection.
double digamma(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (std::isnan(x) || x == -std::numeric_limits<double>::infinity()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (x == 0) return -1 / x;  // an infinity
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    double fraction = -x - std::floor(-x);
    if (fraction > 0.5) fraction -= 1;
    return digamma(1 - x) + kPi / std::tan(kPi * fraction);
  }
  // Near the positive root (1.46163...) it uses the Taylor series about the root, which is stored
  // in two parts.
  constexpr double kRoot = 1.4616321449683623413, kRootLow = -5.6e-17;
  if (std::fabs(x - kRoot) < 1e-3) {
    const double t = (x - kRoot) - kRootLow;
    return t * (0.967672245447621170 +
                t * (-0.442763168983592106 +
                     t * (0.258499760955651 + t * (-0.163942705442406 + t * 0.107824050691262))));
  }
  double shift = 0;
  while (x < 10) {
    shift += 1 / x;
    x += 1;
  }
  const double r = 1 / x, t = r * r;
  const double series =
      t * (1.0 / 12 -
           t * (1.0 / 120 -
                t * (1.0 / 252 -
                     t * (1.0 / 240 - t * (1.0 / 132 - t * (691.0 / 32760 - t * (1.0 / 12)))))));
  return std::log(x) - 0.5 * r - series - shift;
}

double lgamma_any(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

template <class F>
void* address(F* f) {
  return reinterpret_cast<void*>(f);
}

using Symbols = std::vector<std::pair<std::string, void*>>;

template <class T, class F>
void add_lanes(Symbols& symbols, std::string_view name, F) {
  symbols.emplace_back(lanes_symbol(std::same_as<T, double>, name), address(&lanes<T, F>));
}
// Rows of scalar_ops.def without a C function for the dtype have no helper.
template <class T>
void add_lanes(Symbols&, std::string_view, std::nullptr_t) {}

Symbols make_symbols() {
  Symbols symbols{
      {kCopyBytes, address(&copy_bytes)},
      {kSinLanes, address(&lanes_by_f64<std::sin>)},
      {kCosLanes, address(&lanes_by_f64<std::cos>)},
      {kTanLanes, address(&lanes_by_f64<std::tan>)},
  };
#define LANES(function) [](auto... x) -> decltype(function(x...)) { return function(x...); }
  add_lanes<double>(symbols, "sin", LANES(std::sin));
  add_lanes<double>(symbols, "cos", LANES(std::cos));
#define VECTOR(expression) nullptr
#define SPECIAL nullptr
#define SCALAR_OP(op, name, signature, kinds, cost, halves, float32, float64) \
  add_lanes<float>(symbols, name, float32);                                   \
  add_lanes<double>(symbols, name, float64);
#include "tessera/ir/scalar_ops.def"
#undef SCALAR_OP
#undef SPECIAL
#undef VECTOR
#undef LANES
  return symbols;
}

}  // namespace

std::string lanes_symbol(bool is_f64, std::string_view name) {
  return fmt::format("tessera_{}_{}", is_f64 ? "f64" : "f32", name);
}

const Symbols& helper_symbols() {
  static const Symbols& symbols = *new Symbols(make_symbols());
  return symbols;
}

}  // namespace tessera::codegen
