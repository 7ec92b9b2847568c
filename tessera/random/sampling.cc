#include "tessera/random/sampling.h"

#include <cmath>
#include <numbers>

#include "tessera/base/array_size.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"

namespace tessera::random::internal {

using namespace ops;

namespace {

// Returns u of [0, 1) scaled to [low, high).
Array scaled(const Array& u, const Array& low, const Array& high) {
  const Array offset = rounded(lax::mul(u, rounded(lax::sub(high, low))));
  // Rounding could give a number below low.
  return lax::max(low, rounded(lax::add(offset, low)));
}

}  // namespace

DType floating(std::string_view op, OptionalDType dtype) {
  const DType out = canonical_dtype(dtype.value_or(float64));
  if (!is_floating(out)) type_error(op, "expected a floating-point dtype, got {}", out);
  return out;
}

void check_shape(std::string_view op, const Shape& shape) {
  for (int64_t d : shape)
    if (d < 0) shape_error(op, "expected extents of at least 0, got {}", shape);
  checked_bytes(op, uint32, shape);
}

Shape sample_shape(std::string_view op, const OrNone<Shape>& shape,
                   std::initializer_list<Shape> parameters) {
  const Shape common =
      broadcast_shapes(op, std::span<const Shape>(parameters.begin(), parameters.size()));
  if (!shape) return common;
  check_shape(op, *shape);
  if (broadcast_shapes(op, std::vector<Shape>{*shape, common}) != *shape)
    shape_error(op, "expected parameters that broadcast to the shape {}, got {}; widen the shape",
                *shape, common);
  return *shape;
}

Array sample_parameter(std::string_view op, const Array& x, const Shape& shape, DType dtype) {
  if (is_complex(x.dtype()))
    type_error(op, "expected real parameters, got {}; take real(z) or abs(z)", describe(x.type()));
  return broadcast_array(op, as_dtype(x, dtype), shape);
}

DType uint_of_bits(int bits) {
  return bits == 8 ? uint8 : bits == 16 ? uint16 : bits == 32 ? uint32 : uint64;
}

Array constant_like(const Array& x, uint64_t value) {
  return lax::full(x.shape(), convert_literal(Literal::scalar(value), x.dtype()));
}

Array rounded(const Array& x) {
  const DType dtype = x.dtype();
  if (dtype != float16 && dtype != bfloat16) return x;
  return lax::convert_element_type(lax::convert_element_type(x, float32), dtype);
}

Array unit_uniform(const Words& key, const Shape& shape, DType dtype) {
  const FloatInfo info = finfo(dtype);
  const int drawn = info.mantissa_bits < 8 ? 8 : info.bits;  // bfloat16 needs only 8 bits
  const DType as_bits = uint_of_bits(info.bits);
  Array bits = lax::convert_element_type(random_bits(key, shape, uint_of_bits(drawn)), as_bits);
  bits = lax::shift_right_logical(
      bits, constant_like(bits, static_cast<uint64_t>(drawn - info.mantissa_bits)));
  const uint64_t one = dtype == float16    ? 0x3c00
                       : dtype == bfloat16 ? 0x3f80
                       : dtype == float32  ? 0x3f800000
                                           : 0x3ff0000000000000;
  const Array floats =
      lax::bitcast_convert_type(lax::bitwise_or(bits, constant_like(bits, one)), dtype);
  return lax::sub(floats, lax::full_like(floats, 1));
}

Array scaled_uniform(const Words& key, const Shape& shape, const Array& low, const Array& high) {
  return scaled(unit_uniform(key, shape, low.dtype()), low, high);
}

Array scaled_uniform(const Words& key, const Shape& shape, DType dtype, double low, double high) {
  const Array u = unit_uniform(key, shape, dtype);
  return scaled(u, lax::full_like(u, low), lax::full_like(u, high));
}

Array real_normal(const Words& key, const Shape& shape, DType dtype) {
  // Uniform in the open interval (-1, 1), where erf_inv is finite. -1 + 2^-(mantissa + 1) is the
  // smallest number above -1.
  const double low = -1 + std::ldexp(1, -finfo(dtype).mantissa_bits - 1);
  const Array u = scaled_uniform(key, shape, dtype, low, 1);
  return lax::mul(lax::full_like(u, std::numbers::sqrt2), rounded(lax::erf_inv(u)));
}

}  // namespace tessera::random::internal
