#include "tessera/codegen/helpers.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tessera::codegen {
namespace {

void copy_bytes(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

// In double, then rounded: libm reduces any argument exactly.
template <double (*F)(double)>
void lanes_f32(float* out, const float* x, const float*, int32_t lanes) {
  for (int32_t i = 0; i < lanes; ++i) out[i] = static_cast<float>(F(static_cast<double>(x[i])));
}
template <double (*F)(double)>
void lanes_f64(double* out, const double* x, const double*, int32_t lanes) {
  for (int32_t i = 0; i < lanes; ++i) out[i] = F(x[i]);
}
template <double (*F)(double, double)>
void lanes2_f64(double* out, const double* x, const double* y, int32_t lanes) {
  for (int32_t i = 0; i < lanes; ++i) out[i] = F(x[i], y[i]);
}
void rem_f32(float* out, const float* x, const float* y, int32_t lanes) {
  for (int32_t i = 0; i < lanes; ++i) out[i] = std::fmod(x[i], y[i]);
}

// Halley's method from the leading terms of the inverse.
double erf_inv(double x) {
  const double a = std::fabs(x);
  if (!(a <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (a == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (a < 1e-150) return x * 0.8862269254527580136491;
  const double w = -std::log((1 - a) * (1 + a));
  double y =
      a < 0.9 ? a * (0.88622692545 + 0.2328 * a * a) : std::sqrt(w - 0.5 * std::log(3.14159 * w));
  for (int i = 0; i < 12; ++i) {
    // erfc keeps the digits that erf loses near 1.
    const double error = a > 0.5 ? (1 - a) - std::erfc(y) : std::erf(y) - a;
    const double step = error * 0.8862269254527580136491 * std::exp(y * y);
    const double change = step / (1 + y * step);
    y -= change;
    if (std::fabs(change) < 1e-9 * y) break;  // the next one would be below rounding
  }
  return std::copysign(y, x);
}

double logistic(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

// Recurrence up to 10, then the asymptotic series; reflection below 0.
double digamma(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (std::isnan(x) || x == -std::numeric_limits<double>::infinity()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    double fraction = -x - std::floor(-x);
    if (fraction > 0.5) fraction -= 1;
    return digamma(1 - x) + kPi / std::tan(kPi * fraction);
  }
  // Near the root (of the first kind, 1.46163...) by its Taylor series about the root in two parts.
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

}  // namespace

const std::vector<std::pair<const char*, void*>>& helper_symbols() {
#define TESSERA_UNARY(name, f) \
  { "tessera_f64_" name, address(&lanes_f64<f>) }
#define TESSERA_BINARY(name, f) \
  { "tessera_f64_" name, address(&lanes2_f64<f>) }
  using Symbols = std::vector<std::pair<const char*, void*>>;
  static const Symbols& symbols = *new Symbols{
      {kCopyBytes, address(&copy_bytes)},
      {kSinLanes, address(&lanes_f32<std::sin>)},
      {kCosLanes, address(&lanes_f32<std::cos>)},
      {kTanLanes, address(&lanes_f32<std::tan>)},
      {kRemLanes, address(&rem_f32)},
      TESSERA_BINARY("rem", std::fmod),
      TESSERA_BINARY("pow", std::pow),
      TESSERA_BINARY("atan2", std::atan2),
      TESSERA_UNARY("cbrt", std::cbrt),
      TESSERA_UNARY("expm1", std::expm1),
      TESSERA_UNARY("log1p", std::log1p),
      TESSERA_UNARY("sin", std::sin),
      TESSERA_UNARY("cos", std::cos),
      TESSERA_UNARY("tan", std::tan),
      TESSERA_UNARY("asin", std::asin),
      TESSERA_UNARY("acos", std::acos),
      TESSERA_UNARY("atan", std::atan),
      TESSERA_UNARY("sinh", std::sinh),
      TESSERA_UNARY("cosh", std::cosh),
      TESSERA_UNARY("asinh", std::asinh),
      TESSERA_UNARY("acosh", std::acosh),
      TESSERA_UNARY("atanh", std::atanh),
      TESSERA_UNARY("logistic", logistic),
      TESSERA_UNARY("erf", std::erf),
      TESSERA_UNARY("erfc", std::erfc),
      TESSERA_UNARY("erf_inv", erf_inv),
      TESSERA_UNARY("lgamma", lgamma_any),
      TESSERA_UNARY("digamma", digamma),
  };
#undef TESSERA_UNARY
#undef TESSERA_BINARY
  return symbols;
}

}  // namespace tessera::codegen
