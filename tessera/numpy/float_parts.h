// The parts of numbers, as in jax.numpy: mantissas and exponents, whole and fractional parts,
// common divisors, bits packed into bytes.
//
// All functions throw UserError for dtypes that they do not take and shapes that do not broadcast.
#pragma once

#include <utility>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// Returns m and e (int32) with x = m 2^e and 0.5 <= |m| < 1. For 0, infinities and NaN it returns x
// itself and 0. Takes no complex numbers.
std::pair<Array, Array> frexp(const Array& x);
// Returns x1 2^x2, rounded once. x2 has an integer dtype.
Array ldexp(const Array& x1, const Array& x2);
// Returns the fractional and the whole part. Both have x's sign.
std::pair<Array, Array> modf(const Array& x);
// Returns the distance from x to the next number away from 0, with x's sign. It is NaN for
// infinities.
Array spacing(const Array& x);

// Returns the greatest common divisor of integers. It is never negative; gcd(0, 0) = 0.
Array gcd(const Array& x1, const Array& x2);
// Returns the least common multiple of integers. It is never negative, and 0 if either argument is
// 0.
Array lcm(const Array& x1, const Array& x2);

// Whether the first of eight bits is the highest bit of its byte (kBig) or the lowest (kLittle).
enum class BitOrder : uint8_t { kBig, kLittle };
struct PackbitsOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of the flattened array
  BitOrder bitorder = BitOrder::kBig;
};
// Returns the elements along the axis, eight to a uint8: a bit is 1 if the element is not 0. The
// last byte is filled up with zeros. Takes integers and bool.
Array packbits(const Array& a, const PackbitsOptions& options = {});
struct UnpackbitsOptions {
  OrNone<int64_t> axis = std::nullopt;
  OrNone<int64_t> count = std::nullopt;  // number of bits, filled with zeros; None: all
  BitOrder bitorder = BitOrder::kBig;
};
// Returns the bits of uint8 elements, as uint8. Throws UserError for other dtypes.
Array unpackbits(const Array& a, const UnpackbitsOptions& options = {});

}  // namespace tessera
