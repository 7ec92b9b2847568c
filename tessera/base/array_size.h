// Checked sizes of arrays. Whatever makes the type of an array (tracing, the parser, literals)
// calls checked_bytes() first, so that afterwards numbers of elements, bytes and strides fit 64
// bits.
#pragma once

#include <string_view>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

namespace tessera {

// This is larger than any memory, and small enough that padding and alignment can be added to it
// without overflow.
inline constexpr int64_t kMaxArrayBytes = int64_t{1} << 60;

// Returns the bytes of an array. Throws a UserError that names `op` if they are more than
// kMaxArrayBytes. An empty array is refused, too, if its other extents are that large, since its
// strides are computed from these.
int64_t checked_bytes(std::string_view op, DType dtype, const Shape& shape);

// Returns whether this is more than the memory of the machine, including swap, or than the limit of
// the process's control group. Some systems grant memory that they do not have, and end the process
// when it is used.
bool exceeds_memory(int64_t bytes);

// Return a + b and a * b of extents or numbers of elements. They throw a UserError that names `op`
// if the result or an operand is more than kMaxArrayBytes.
int64_t checked_sum(std::string_view op, int64_t a, int64_t b);
int64_t checked_product(std::string_view op, int64_t a, int64_t b);

}  // namespace tessera
