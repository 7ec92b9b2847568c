#include "tessera/privacy/noise/normal_draws.h"

#include <numbers>
#include <span>

#include "tessera/ops/core/array_math.h"

namespace tessera::privacy::internal {

using namespace ops::array_math;
using random::internal::Words;

namespace {

// Returns the value at x of a polynomial, by Horner's scheme. The first coefficient is the
// constant.
Array polynomial(const Array& x, std::span<const double> coefficients) {
  Array sum = lax::full_like(x, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// Returns -log(x 2^-126) for x in [2^-800, 2^126], within 2e-12. It takes half the time of
// lax::log, which also has to handle zeros, infinities and the last bit. With x 2^-126 = 2^e m,
// m in [sqrt(1/2), sqrt(2)), it is -e log(2) - 2 atanh(s), s = (m - 1) / (m + 1).
Array minus_log_of_scaled(const Array& x) {
  static constexpr double kAtanh[] = {-2.000000000008466, -0.666666652358776, -0.40000386646086133,
                                      -0.28534943697902543, -0.2361818306381564};
  constexpr uint64_t kOne = 0x3ff0000000000000, kRootOfHalf = 0x3fe6a09e667f3bcd;
  const auto number = [&](uint64_t value) { return lax::full(x.shape(), Literal::scalar(value)); };
  const Array bits = lax::bitcast_convert_type(x, uint64);
  // This is e + 126 + 1023: a mantissa of at least sqrt(1/2) carries into the exponent.
  const Array biased = lax::shift_right_logical(bits + number(kOne - kRootOfHalf), number(52));
  const Array m = lax::bitcast_convert_type(
      (bits + number(kOne)) - lax::shift_left(biased, number(52)), float64);
  // If an integer below 2^52 is put into the low bits of the float64 2^52, the result is their sum.
  const Array e =
      lax::bitcast_convert_type(lax::bitwise_or(biased, number(0x4330000000000000)), float64) -
      (0x1p52 + 1023 + 126);
  const Array s = (m - 1) / (m + 1);
  return e * -std::numbers::ln2 + s * polynomial(s * s, kAtanh);
}

}  // namespace

Array normal_tail_quantile(const Array& k) {
  // With p = k 2^-64 and x = 1 - 2p the result is sqrt(2) erf_inv(x) = x F(w). Here w = -log(1 -
  // x^2) is a good variable both in the middle and in the tail (Giles, "Approximating the erfinv
  // function", 2010), and 1 - x^2 = 4 p (1 - p) keeps the digits of p. F is a quotient of
  // polynomials for w in [0, 43.7], fitted by scripts/normal_quantile.py to 7.3e-12. No coefficient
  // is negative, so no digits of float64 are lost. (Errors of the fit are smooth and change the
  // density by as little. Rounding errors matter more, because the result is later rounded to
  // float32.)
  static constexpr double kTop[] = {
      1.2533141373176664,   0.7542282160910011,    0.21485568263537214,   0.04154665508665623,
      0.005889414296699757, 0.0006245795281993054, 4.998826827316847e-05, 3.109324959696775e-06,
      1.76948763322043e-07, 3.072732547806534e-09, 9.634852125633212e-12};
  static constexpr double kBottom[] = {1.0,
                                       0.3399876614140076,
                                       0.0693894298120815,
                                       0.013187489197409192,
                                       0.001382581325835037,
                                       0.00014393148418331793,
                                       8.757864822327032e-06,
                                       6.00182031338203e-07,
                                       1.996059935615359e-08,
                                       1.5816229583641586e-10,
                                       1.3233496845297962e-13};
  const Array w = minus_log_of_scaled(k * (0x1p64 - k));
  return (1 - k * 0x1p-63) * polynomial(w, kTop) / polynomial(w, kBottom);
}

Array normal_of_words(const Words& words) {
  // The words (high ^ low, low) are as uniform as (high, low). If the first bit is set, the number
  // is positive, and the complement of the bits is used for its tail probability.
  const Array bits = lax::bitcast_convert_type(lax::bitwise_xor(words.high, words.low), int32);
  const Array positive = bits < 0;
  const Array mask = lax::shift_right_arithmetic(bits, lax::full_like(bits, 31));
  const auto as_double = [](const Array& x) { return lax::convert_element_type(x, float64); };
  const Array high = as_double(lax::bitwise_xor(bits, mask));
  const Array low = as_double(lax::bitwise_xor(words.low, lax::bitcast_convert_type(mask, uint32)));
  // high * 2^32 and low + 1/2 are exact, so that their sum is rounded once.
  const Array z = normal_tail_quantile(high * 0x1p32 + (low + 0.5));
  return lax::select(positive, z, -z);
}

}  // namespace tessera::privacy::internal
