#include "tessera/codegen/quotient.h"

#include <cmath>

#include "tessera/codegen/math/elementary.h"

namespace tessera::codegen {
namespace {

// For each operand, the largest magnitude of the exponents for which multiplication is exact.
struct Range {
  uint64_t dividend, divisor;
};
Range range_of(Vec x) { return x.is_f64() ? Range{800, 200} : Range{90, 30}; }

// Returns how far the bits of |x| are above those of 2^-exponent, as an unsigned integer.
Vec above(Vec x, uint64_t exponent) {
  Vec bits = bits_of(abs(x));
  return bits - bits.like_int(bits_of_power(x, -static_cast<int64_t>(exponent)));
}
uint64_t span_of(Vec x, uint64_t exponent) {
  const auto e = static_cast<int64_t>(exponent);
  return bits_of_power(x, e) - bits_of_power(x, -e);
}

// Returns whether d is a whole number, but no power of two, that is small enough: a quotient of a
// float is then more than 2^-26 (float32: 2^-13) of its last place away from all numbers halfway
// between two floats, and remainders are exact, even those of denormal quotients.
bool divides_apart(double d, bool f64) {
  int exponent = 0;
  return std::abs(d) <= (f64 ? 0x1p25 : 0x1p12) && std::trunc(d) == d && d != 0 &&
         std::frexp(std::abs(d), &exponent) != 0.5;
}

}  // namespace

Vec quotient(Vec a, Vec d) {
  const llvm::ConstantFP* constant = splat_float(d);
  if (!constant || !a.ir->target.avx512) return a / d;
  const llvm::APFloat& value = constant->getValueAPF();
  const double divisor = a.is_f64() ? value.convertToDouble() : value.convertToFloat();
  if (!divides_apart(divisor, a.is_f64())) return a / d;
  if (divisor < 0) return quotient(-a, -d);
  Vec reciprocal = 1.0 / d, q = a * reciprocal;
  // It has the opposite sign of the remainder, so that the sign of a zero is kept. It is NaN if `a`
  // is infinite.
  Vec excess = fma(q, d, -a);
  Vec corrected = select(is_nan(excess), q, fma(-excess, reciprocal, q));
  if (std::fmod(divisor, 2) != 0) return corrected;
  // A denormal quotient by an even number may be halfway between two floats.
  Vec halfway = (abs(q) < (a.is_f64() ? 0x1p-1022 : 0x1p-126)) & (excess != 0.0);
  return unlikely(any(halfway), corrected, [&] { return a / d; });
}

SharedDivisor::SharedDivisor(Vec d) {
  const auto [dividends, divisors] = range_of(d);
  Vec bucket = above(d, divisors);
  Vec fits = ult(bucket, bucket.like_int(span_of(d, divisors)));
  Vec span = select(fits, bucket.like_int(span_of(d, dividends)), bucket.like_int(0));
  const int lanes = d.ir->lanes;
  divisor_ = broadcast(d, lanes);
  reciprocal_ = broadcast(1.0 / d, lanes);
  span_ = broadcast(span, lanes);
}

Vec SharedDivisor::divide(Vec a) const {
  Vec q = a * reciprocal_;
  // After the first step q is at most an ulp off; the second step rounds it correctly.
  for (int step = 0; step < 2; ++step) q = fma(fma(-q, divisor_, a), reciprocal_, q);
  Vec fits = ult(above(a, range_of(a).dividend), span_);
  return unlikely(any(~fits), q, [&] { return a / divisor_; });
}

}  // namespace tessera::codegen
