#include "tessera/base/literal.h"

#include <cstring>
#include <functional>
#include <string_view>

#include "tessera/base/array_size.h"
#include "tessera/base/format.h"
#include "tessera/base/hash.h"
#include "tessera/base/parallel_copy.h"

namespace tessera {

namespace {

Buffer host_memory(int64_t bytes) {
  if (exceeds_memory(bytes))
    throw RuntimeError(fmt::format(
        "[array] the system has no memory for {} bytes on the host; use smaller arrays", bytes));
  return Buffer::allocate(bytes);
}

// A deleter that owns the buffer into which the pointer points.
struct HoldBuffer {
  Buffer buffer;
  void operator()(std::byte*) { buffer = Buffer(); }
};

std::shared_ptr<std::byte[]> bytes_in(Buffer buffer, int64_t offset = 0) {
  std::byte* bytes = buffer.data() + offset;
  return std::shared_ptr<std::byte[]>(bytes, HoldBuffer{std::move(buffer)});
}

}  // namespace

Literal Literal::uninitialized(DType dtype, Shape shape) {
  const int64_t bytes = checked_bytes("array", dtype, shape);
  Literal out(dtype, std::move(shape), bytes / itemsize(dtype));
  out.bytes_ = bytes_in(host_memory(bytes));
  return out;
}

Literal::Literal(DType dtype, Shape shape) : Literal(uninitialized(dtype, std::move(shape))) {
  fill_zeros(bytes_.get(), bytes());
}

Literal Literal::view(DType dtype, Shape shape, Buffer memory, int64_t offset) {
  const int64_t elements = shape.elements();
  Literal out(dtype, std::move(shape), elements);
  TESSERA_CHECK(offset >= 0 && offset + out.bytes() <= memory.capacity(),
                "{} bytes at {} of a buffer of {}", out.bytes(), offset, memory.capacity());
  out.bytes_ = bytes_in(std::move(memory), offset);
  return out;
}

Literal Literal::copied(DType dtype, const Shape& shape, const void* values, int64_t count) {
  Literal out = uninitialized(dtype, shape);
  out.check_count(count);
  copy_bytes(out.bytes_.get(), static_cast<const std::byte*>(values), out.bytes());
  return out;
}

const Buffer& Literal::buffer() const { return std::get_deleter<HoldBuffer>(bytes_)->buffer; }

void Literal::check_count(int64_t count) const {
  if (count != elements_)
    shape_error("array", "expected {} values for shape {}, got {}", elements_, shape_, count);
}

void Literal::throw_dtype() const {
  internal::check_failed("dtype_ == dtype_of<T>", __FILE__, __LINE__,
                         fmt::format("literal of {}", dtype_name(dtype_)));
}

void Literal::check_values(DType expected) const {
  if (dtype_ != expected)
    type_error("values",
               "expected the C++ type of the elements, which are {}, got that of {}; convert the "
               "array with astype, or read it with to_vector",
               dtype_name(dtype_), dtype_name(expected));
}

std::byte* Literal::mutable_raw() {
  if (bytes_.use_count() > 1 || !buffer().unique()) {
    Buffer own = host_memory(bytes());
    copy_bytes(own.data(), raw(), bytes());
    bytes_ = bytes_in(std::move(own));
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
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

size_t hash_value(const Literal& literal) {
  const std::string_view bytes(reinterpret_cast<const char*>(literal.raw()),
                               static_cast<size_t>(literal.bytes()));
  return hash_combine(
      hash_combine(static_cast<size_t>(literal.dtype()), hash_value(literal.shape())),
      std::hash<std::string_view>()(bytes));
}

}  // namespace tessera
