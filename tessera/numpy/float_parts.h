// The parts of numbers and of integers, as in jax.numpy: mantissas and exponents, whole and
// fractional parts, common divisors, bits packed into bytes.
//
// Errors, of all: UserError for dtypes that a function does not take and shapes that do not
// broadcast.
#pragma once

#include <utility>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// m and e with x = m 2^e, 0.5 <= |m| < 1 (0, infinities and NaN: x itself and 0); e is int32. Not
// of complex numbers.
std::pair<Array, Array> frexp(const Array& x);
// x1 2^x2, rounded once. x2 of integers.
Array ldexp(const Array& x1, const Array& x2);
// The fractional and the whole part, both of x's sign.
std::pair<Array, Array> modf(const Array& x);
// The distance from x to the next number away from 0, of x's sign; NaN of infinities.
Array spacing(const Array& x);

// The greatest common divisor, never negative; gcd(0, 0) = 0. Of integers.
Array gcd(const Array& x1, const Array& x2);
// The least common multiple, never negative; 0 where either is 0. Of integers.
Array lcm(const Array& x1, const Array& x2);

// Where the first of eight bits stands in a byte.
enum class BitOrder : uint8_t { kBig, kLittle };
struct PackbitsOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of the flattened array
  BitOrder bitorder = BitOrder::kBig;
};
// Eight elements (0 or not) along the axis as one uint8; zeros fill the last one. Of integers and
// bool.
Array packbits(const Array& a, const PackbitsOptions& options = {});
struct UnpackbitsOptions {
  OrNone<int64_t> axis = std::nullopt;
  OrNone<int64_t> count = std::nullopt;  // how many bits; zeros behind the last. None: all
  BitOrder bitorder = BitOrder::kBig;
};
// The bits of uint8, as uint8. UserError for other dtypes.
Array unpackbits(const Array& a, const UnpackbitsOptions& options = {});

}  // namespace tessera
