#include "tessera/interchange/bytecode/blob.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/narrow.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/format.h"

namespace tessera::interchange::bytecode {
namespace {

bool bit(std::string_view bytes, int64_t i) {
  return (static_cast<uint8_t>(bytes[static_cast<size_t>(i / 8)]) >> (i % 8) & 1) != 0;
}

// Returns the bools that these bytes encode. 0 and 0xFF alone are splats; other values are bits, or
// bytes in older files.
Literal bools(std::string_view bytes, const Shape& shape) {
  const int64_t n = shape.elements();
  const auto size = static_cast<int64_t>(bytes.size());
  const bool splat =
      size == 1 && (n == 1 || n > 8 || bytes[0] == 0 || static_cast<uint8_t>(bytes[0]) == 0xFF);
  if (splat) return Literal::scalar(bytes[0] != 0);
  Literal out(bool_, shape);
  for (int64_t i = 0; i < n; ++i)
    out.mutable_data<bool>()[i] = size == n ? bytes[static_cast<size_t>(i)] != 0 : bit(bytes, i);
  // Bools that are all equal are a splat, since they are written as one.
  const bool* first = out.data<bool>();
  if (n > 0 && std::all_of(first, first + n, [&](bool b) { return b == *first; }))
    return Literal::scalar(*first);
  return out;
}

}  // namespace

std::optional<Literal> literal_of_bytes(std::string_view bytes, const Type& type,
                                        std::string& problem) {
  const int64_t n = type.elements(), item = itemsize(type.dtype);
  const auto size = static_cast<int64_t>(bytes.size());
  if (type.dtype == bool_ && (size == n || size == ceil_div(n, 8) || (size == 1 && n > 0)))
    return bools(bytes, type.shape);
  const bool splat = size == item;  // text writes a single element in this form, too
  if (!splat && (n > size || size != n * item)) {
    problem = fmt::format("expected {} bytes for {}, or {} for one element, got {}", n * item, type,
                          item, size);
    return std::nullopt;
  }
  Literal out(type.dtype, splat ? Shape{} : type.shape);
  if (size > 0) std::memcpy(out.mutable_raw(), bytes.data(), bytes.size());
  return canonical_bits(std::move(out));
}

std::optional<Dims> integers_of(const TextAttr::Tensor& tensor) {
  const Literal value = widened(tensor.value);
  if (tensor.shape.rank() != 1 || tensor.shape.elements() > (1 << 20) ||
      !(is_integer(value.dtype()) || value.dtype() == bool_))
    return std::nullopt;
  const bool splat = value.shape().empty();
  Dims out;
  visit_dtype(value.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>)
      for (int64_t i = 0; i < tensor.shape.elements(); ++i)
        out.push_back(static_cast<int64_t>(value.data<T>()[splat ? 0 : i]));
  });
  return out;
}

}  // namespace tessera::interchange::bytecode
