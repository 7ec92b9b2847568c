// Literal: a dense row-major array on the host. Files contain literals, printing takes them, and
// the naive evaluator computes with them.
//
// Its memory is a Buffer, which it may share with arrays of this process: nothing is copied between
// a literal and an array if the elements have the same order in both.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "tessera/base/buffer.h"
#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

namespace tessera {

// Shared or borrowed memory is never written to: copies of a literal share the bytes, and
// mutable_data() copies the bytes first.
class Literal {
 public:
  Literal() : Literal(float32, Shape{0}) {}
  // Makes a literal of zeros.
  Literal(DType dtype, Shape shape);
  // Returns a literal whose elements have no values before they are written.
  static Literal uninitialized(DType dtype, Shape shape);
  // Returns a literal that shares `memory`, where its elements begin at byte `offset`.
  static Literal view(DType dtype, Shape shape, Buffer memory, int64_t offset = 0);
  // Makes a literal of rank 0.
  template <class T>
  static Literal scalar(T value) {
    Literal out(dtype_of<T>, Shape{});
    out.mutable_data<T>()[0] = value;
    return out;
  }
  // Returns a copy of `values`, which are in row-major order. Throws UserError if their number is
  // not that of `shape`.
  template <class T>
  static Literal from(std::span<const T> values, const Shape& shape) {
    return copied(dtype_of<T>, shape, values.data(), static_cast<int64_t>(values.size()));
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  int64_t bytes() const { return elements_ * itemsize(dtype_); }

  // Returns the elements in row-major order. They are valid as long as this literal. Throws
  // UserError if T is not the C++ type of the dtype.
  template <class T>
  std::span<const T> values() const& {
    check_values(dtype_of<T>);
    return {reinterpret_cast<const T*>(raw()), static_cast<size_t>(elements_)};
  }
  // A span of a temporary literal would dangle.
  template <class T>
  std::span<const T> values() && = delete;

  // Returns the memory, and where the elements begin in it, in bytes.
  const Buffer& buffer() const;
  int64_t offset() const { return raw() - buffer().data(); }
  const std::byte* raw() const { return bytes_.get(); }
  std::byte* mutable_raw();
  template <class T>
  const T* data() const {
    check_dtype(dtype_of<T>);
    return reinterpret_cast<const T*>(bytes_.get());
  }
  template <class T>
  T* mutable_data() {
    check_dtype(dtype_of<T>);
    return reinterpret_cast<T*>(mutable_raw());
  }

  // Returns the same bytes with another shape of as many elements.
  Literal reshaped(const Shape& shape) const;
  // Returns whether dtype, shape and all bits are equal (so NaN == NaN and 0 != -0).
  friend bool operator==(const Literal& a, const Literal& b);

 private:
  Literal(DType dtype, Shape shape, int64_t elements)
      : dtype_(dtype), shape_(std::move(shape)), elements_(elements) {}
  void check_count(int64_t count) const;
  static Literal copied(DType dtype, const Shape& shape, const void* values, int64_t count);
  void check_values(DType expected) const;
  void check_dtype(DType expected) const {
    if (dtype_ != expected) throw_dtype();
  }
  [[noreturn]] void throw_dtype() const;

  DType dtype_;
  Shape shape_;
  int64_t elements_;
  std::shared_ptr<std::byte[]> bytes_;  // its deleter owns the buffer
};

size_t hash_value(const Literal& literal);

}  // namespace tessera
