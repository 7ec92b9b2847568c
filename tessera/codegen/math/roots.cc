// Reciprocal square roots by multiplications. A square root and a division of a vector take four
// times as long on some machines with AVX-512, and no machine has an exact instruction for both.
#include <cstdint>
#include <limits>

#include "tessera/codegen/math/elementary.h"

namespace tessera::codegen {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct Root {
  Vec reciprocal;
  llvm::Value* extreme;  // whether any lane is negative, infinite, NaN or too small
  Vec fits;              // the lanes that are none of these
};

// Returns 1 / sqrt(x), within 0.501 ulp, for the lanes that fit: those from 2^least on. Others are
// arbitrary.
//
// The first guess halves the bits of x and subtracts them from a constant, which is right to 3.5 %
// (C. Lomont, "Fast inverse square root", 2003). If e is 1 - x y^2, then
// y (1 + e / 2 + 3 e^2 / 8) is right to 5 e^3 / 16: to 2^-13 after one step, to 2^-38 after two.
Root reciprocal_root(Vec x, int least) {
  const bool f64 = x.is_f64();
  Vec bits = bits_of(x);
  const uint64_t first = bits_of_power(x, least), infinite = bits_of_power(x, f64 ? 1024 : 128);
  Vec fits = ult(bits - bits.like_int(first), bits.like_int(infinite - first));

  const uint64_t guess = f64 ? 0x5fe6eb50c7b537a9 : 0x5f375a86;
  Vec y = float_of_bits(bits.like_int(guess) - shr(bits, 1));
  for (int step = 0; step < (f64 ? 2 : 1); ++step) {
    Vec e = fma(-(x * y), y, 1.0);
    y = fma(y * e, fma(e, 0.375, 0.5), y);
  }
  // The last step knows x y^2 with twice the precision.
  Vec root = x * y, low = fma(x, y, -root);
  Vec e = fma(-low, y, fma(-root, y, 1.0));
  Vec half = f64 ? y.like(0.5) : fma(e, 0.375, 0.5);
  return {fma(y * e, half, y), any(~fits), fits};
}

}  // namespace

Vec rsqrt(Vec x) {
  const Root root = reciprocal_root(x, x.is_f64() ? -1022 : -126);
  return unlikely(root.extreme, root.reciprocal,
                  [&] { return select(root.fits, root.reciprocal, 1.0 / sqrt(x)); });
}

// Both the root and the quotient are corrected by their remainders, so that a / sqrt(a * a) is 1
// (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
// 1990).
Vec quotient_by_root(Vec a, Vec x) {
  // The remainder of the root of a smaller number may be denormal.
  const Root found = reciprocal_root(x, x.is_f64() ? -900 : -70);
  Vec y = found.reciprocal, root = x * y;
  root = fma(fma(-root, root, x), y * 0.5, root);
  Vec q = a * y;
  // It has the opposite sign of the remainder, so that the sign of a zero is kept. It is infinite
  // or NaN if the quotient is infinite.
  Vec excess = fma(root, q, -a);
  q = select(abs(excess) < kUnbounded, fma(-excess, y, q), q);
  return unlikely(found.extreme, q, [&] { return select(found.fits, q, a / sqrt(x)); });
}

}  // namespace tessera::codegen
