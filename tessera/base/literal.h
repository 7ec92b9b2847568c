// Literal: a dense row-major array on the host. Files contain them, printing takes them, and the
// naive evaluator computes with them.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

namespace tessera {

// A Literal that is shared is immutable: copies share the bytes, and mutable_data() copies them
// first.
class Literal {
 public:
  Literal() : Literal(float32, Shape{0}) {}
  // All elements are zero.
  Literal(DType dtype, Shape shape);
  // A rank-0 literal.
  template <class T>
  static Literal scalar(T value) {
    Literal out(dtype_of<T>, Shape{});
    out.mutable_data<T>()[0] = value;
    return out;
  }
  // `values` are in row-major order. Throws UserError if their number is not that of `shape`.
  template <class T>
  static Literal from(std::span<const T> values, const Shape& shape) {
    Literal out(dtype_of<T>, shape);
    out.check_count(static_cast<int64_t>(values.size()));
    if (!values.empty()) std::memcpy(out.mutable_raw(), values.data(), values.size_bytes());
    return out;
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  int64_t bytes() const { return elements_ * itemsize(dtype_); }

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

  // Returns the same bytes under another shape with as many elements.
  Literal reshaped(const Shape& shape) const;
  // Returns whether dtype, shape and all bits are equal (so NaN == NaN and 0 != -0).
  friend bool operator==(const Literal& a, const Literal& b);

 private:
  void check_count(int64_t count) const;
  void check_dtype(DType expected) const {
    if (dtype_ != expected) throw_dtype();
  }
  [[noreturn]] void throw_dtype() const;

  DType dtype_;
  Shape shape_;
  int64_t elements_;
  std::shared_ptr<std::byte[]> bytes_;
};

size_t hash_value(const Literal& literal);

}  // namespace tessera
