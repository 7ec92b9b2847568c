#include "tessera/base/literal.h"

#include <cstring>
#include <functional>
#include <new>
#include <string_view>

#include "tessera/base/array_size.h"
#include "tessera/base/format.h"
#include "tessera/base/hash.h"

namespace tessera {

namespace {

std::shared_ptr<std::byte[]> host_memory(int64_t bytes, bool zeroed) {
  const auto n = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  try {
    if (!exceeds_memory(bytes))
      return std::shared_ptr<std::byte[]>(zeroed ? new std::byte[n]() : new std::byte[n]);
  } catch (const std::bad_alloc&) {  // reported below
  }
  throw RuntimeError(fmt::format(
      "[array] the system has no memory for {} bytes on the host; use smaller arrays", bytes));
}

}  // namespace

Literal::Literal(DType dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      elements_(checked_bytes("array", dtype_, shape_) / itemsize(dtype_)),
      bytes_(host_memory(bytes(), true)) {}

void Literal::throw_dtype() const {
  internal::check_failed("dtype_ == dtype_of<T>", __FILE__, __LINE__,
                         fmt::format("literal of {}", dtype_name(dtype_)));
}

std::byte* Literal::mutable_raw() {
  if (bytes_.use_count() > 1) {
    std::shared_ptr<std::byte[]> own = host_memory(bytes(), false);
    std::memcpy(own.get(), bytes_.get(), static_cast<size_t>(bytes()));
    bytes_ = std::move(own);
  }
  return bytes_.get();
}

Literal Literal::reshaped(const Shape& shape) const {
  Literal out = *this;
  out.shape_ = shape;
  out.elements_ = shape.elements();
  TESSERA_CHECK(out.elements_ == elements_, "{} as {}", shape_, shape);
  return out;
}

bool operator==(const Literal& a, const Literal& b) {
  return a.dtype_ == b.dtype_ && a.shape_ == b.shape_ &&
         std::memcmp(a.bytes_.get(), b.bytes_.get(), static_cast<size_t>(a.bytes())) == 0;
}

void Literal::check_count(int64_t count) const {
  if (count != elements_)
    shape_error("array", "expected {} values for shape {}, got {}", elements_, shape_, count);
}

size_t hash_value(const Literal& literal) {
  const std::string_view bytes(reinterpret_cast<const char*>(literal.raw()),
                               static_cast<size_t>(literal.bytes()));
  return hash_combine(
      hash_combine(static_cast<size_t>(literal.dtype()), hash_value(literal.shape())),
      std::hash<std::string_view>()(bytes));
}

}  // namespace tessera
