#include "tessera/codegen/quotient.h"

namespace tessera::codegen {
namespace {

// The exponents on either side of 0.
struct Range {
  uint64_t dividend, divisor;
};
Range range_of(Vec x) { return x.is_f64() ? Range{800, 200} : Range{90, 30}; }

uint64_t bits_of_power(Vec x, int64_t exponent) {
  return x.is_f64() ? static_cast<uint64_t>(1023 + exponent) << 52
                    : static_cast<uint64_t>(127 + exponent) << 23;
}

// Returns how far the magnitude's bits are above those of 2^-exponent.
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
  // The first step makes q at most an ulp off, the second rounds it.
  for (int step = 0; step < 2; ++step) q = fma(fma(-q, divisor_, a), reciprocal_, q);
  Vec fits = ult(above(a, range_of(a).dividend), span_);
  return unlikely(any(~fits), q, [&] { return a / divisor_; });
}

}  // namespace tessera::codegen
