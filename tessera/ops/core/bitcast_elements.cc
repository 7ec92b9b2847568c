#include "tessera/ops/core/bitcast_elements.h"

#include <algorithm>

#include "tessera/base/format.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

DType unsigned_of(DType dtype) {
  const int64_t bytes = itemsize(dtype);
  return bytes == 1 ? uint8 : bytes == 2 ? uint16 : bytes == 4 ? uint32 : uint64;
}

Array bitcast(const Array& x, DType dtype) {
  return bind_op1(bitcast_convert_op, BitcastParams{dtype}, {x});
}

// Returns the lowest bits of a wider dtype as elements of `dtype`.
Array low_bits(const Array& bits, DType dtype) {
  const DType code = unsigned_of(dtype);
  Array low = lax::convert_element_type(bits, code);
  if (bit_width(dtype) < 8)
    low = lax::bitwise_and(low, lax::full(low.shape(), (1 << bit_width(dtype)) - 1, code));
  return dtype == bool_ ? lax::convert_element_type(low, bool_) : bitcast(low, dtype);
}

// Returns each element as `count` narrower ones, in a new last dimension.
Array split_bits(const Array& x, DType dtype) {
  const int width = bit_width(dtype), count = bit_width(x.dtype()) / width;
  const DType wide = unsigned_of(x.dtype());
  Shape shape = x.shape();
  shape.push_back(count);
  const Array bits = lax::broadcast_in_dim(bitcast(x, wide), shape, iota_dims(x.ndim()));
  const Array offset = lax::mul(lax::iota(wide, shape, x.ndim()), lax::full(shape, width, wide));
  return low_bits(lax::shift_right_logical(bits, offset), dtype);
}

// Returns the elements of the last dimension as one wider element.
Array join_bits(const Array& x, DType dtype) {
  const int width = bit_width(x.dtype()), count = bit_width(dtype) / width;
  const DType wide = unsigned_of(dtype);
  const Array bits =
      lax::convert_element_type(x.dtype() == bool_ ? x : bitcast(x, unsigned_of(x.dtype())), wide);
  Shape shape = x.shape();
  shape.pop_back();
  Array out;
  for (int64_t i = 0; i < count; ++i) {
    Dims start(x.ndim(), 0), limit = x.shape();
    start.back() = i;
    limit.back() = i + 1;
    const Array piece = lax::reshape(lax::slice(bits, start, limit), shape);
    const Array shifted =
        lax::shift_left(piece, lax::full(shape, static_cast<double>(width * i), wide));
    out = out.defined() ? lax::bitwise_or(out, shifted) : shifted;
  }
  return bitcast(out, dtype);
}

// parts_of() returns the real and imaginary parts of complex numbers along a new last dimension.
// of_parts() is its inverse.
Array parts_of(const Array& z) {
  Shape shape = z.shape();
  shape.push_back(1);
  const Array parts[] = {lax::reshape(lax::real(z), shape), lax::reshape(lax::imag(z), shape)};
  return lax::concatenate(parts, z.ndim());
}
Array of_parts(const Array& x) {
  Shape shape = x.shape();
  shape.pop_back();
  const auto part = [&](int64_t k) {
    return lax::reshape(lax::slice_in_dim(x, k, k + 1, 1, x.ndim() - 1), shape);
  };
  return lax::complex(part(0), part(1));
}

}  // namespace

Array bitcast_elements(const Array& x, DType dtype) {
  const int from = bit_width(x.dtype()), to = bit_width(dtype);
  if (from == to || is_complex(x.dtype()) != is_complex(dtype)) return bitcast(x, dtype);
  const auto [narrow, wide] = std::minmax({from, to});
  if (wide % narrow != 0)
    type_error("bitcast_convert",
               "expected a width that is a multiple of the other (C1), got {} as {}",
               describe(x.type()), dtype);
  if (const int count = wide / narrow; from < to && (x.ndim() == 0 || x.shape(-1) != count))
    shape_error("bitcast_convert", "expected a last dimension of {} to make {} (C1), got {}", count,
                dtype, describe(x.type()));
  // [..., real or imaginary, half]
  if (is_complex(dtype))
    return of_parts(from > to ? split_bits(parts_of(x), real_dtype(dtype))
                              : join_bits(parts_of(x), real_dtype(dtype)));
  return from > to ? split_bits(x, dtype) : join_bits(x, dtype);
}

}  // namespace tessera::ops
