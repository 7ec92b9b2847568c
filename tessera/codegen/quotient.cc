#include "tessera/codegen/quotient.h"

namespace tessera::codegen {
namespace {

// For each operand, the largest magnitude of the exponents for which multiplication is exact.
struct Range {
  uint64_t dividend, divisor;
};
Range range_of(Vec x) { return x.is_f64() ? Range{800, 200} : Range{90, 30}; }

uint64_t bits_of_power(Vec x, int64_t exponent) {
  return x.is_f64() ? static_cast<uint64_t>(1023 + exponent) << 52
                    : static_cast<uint64_t>(127 + exponent) << 23;
}

// Returns how far the bits of |x| are above those of 2^-exponent, as an unsigned integer.
Vec above(Vec x, uint64_t exponent) {
  Vec bits = bits_of(abs(x));
  return bits - bits.like_int(bits_of_power(x, -static_cast<int64_t>(exponent)));
}
uint64_t span_of(Vec x, uint64_t exponent) {
  const auto e = static_cast<int64_t>(exponent);
  return bits_of_power(x, e) - bits_of_power(x, -e);
}

}  // namespace

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
