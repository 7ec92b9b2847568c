// Sizes that a user's extents ask for. Whatever makes the type of an array (tracing, the parser,
// literals) asks checked_bytes() first: behind it, elements, bytes and strides fit 64 bits.
#pragma once

#include <string_view>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

namespace tessera {

// Larger than any memory, small enough that what is added to it (padding, alignment) fits.
inline constexpr int64_t kMaxArrayBytes = int64_t{1} << 60;

// Bytes of an array. UserError naming `op` beyond kMaxArrayBytes, of an empty array too if its
// other extents would be: its strides are made of these.
int64_t checked_bytes(std::string_view op, DType dtype, const Shape& shape);

// Whether that many bytes are more than the machine's memory, swap included: a system that promises
// memory it has not would end the process later.
bool exceeds_memory(int64_t bytes);

// a + b, a * b: extents or numbers of elements. UserError naming `op` where the result, or an
// operand, is of more than kMaxArrayBytes.
int64_t checked_sum(std::string_view op, int64_t a, int64_t b);
int64_t checked_product(std::string_view op, int64_t a, int64_t b);

}  // namespace tessera
