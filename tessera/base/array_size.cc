#include "tessera/base/array_size.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/base/memory_limit.h"

namespace tessera {
namespace {

bool is_extent(int64_t n) { return n >= -kMaxArrayBytes && n <= kMaxArrayBytes; }

}  // namespace

int64_t checked_bytes(std::string_view op, DType dtype, const Shape& shape) {
  int64_t bytes = itemsize(dtype);
  bool fits = true;
  for (int64_t d : shape) {
    const int64_t extent = std::max<int64_t>(d, 1);
    fits = fits && extent <= kMaxArrayBytes / bytes;
    if (fits) bytes *= extent;
  }
  if (!fits)
    shape_error(op,
                "expected an array of at most 2^60 bytes, got {} of shape {}; use smaller extents",
                dtype_name(dtype), shape);
  return shape.elements() == 0 ? 0 : bytes;
}

bool exceeds_memory(int64_t bytes) { return bytes > memory_limit(); }

int64_t checked_sum(std::string_view op, int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || !is_extent(a) || !is_extent(b) || !is_extent(sum))
    shape_error(op, "expected an extent of at most 2^60, got {} + {}; use smaller numbers", a, b);
  return sum;
}

int64_t checked_product(std::string_view op, int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || !is_extent(a) || !is_extent(b) ||
      !is_extent(product))
    shape_error(op, "expected an extent of at most 2^60, got {} * {}; use smaller numbers", a, b);
  return product;
}

}  // namespace tessera
