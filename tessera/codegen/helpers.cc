#include "tessera/codegen/helpers.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

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
  add_lanes<double>(symbols, "tan", LANES(std::tan));
  add_lanes<double>(symbols, "lgamma", LANES(lgamma_any));
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
