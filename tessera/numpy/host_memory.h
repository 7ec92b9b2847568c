// Makes arrays of the caller's memory, and shows the memory of arrays to the caller, without
// copies.
//
// borrow() and adopt() make an array of memory that exists; view() shows the elements of an array.
// Borrowed memory is never written to: a program that would compute in place of a donated array
// uses other memory. The caller must not write to it either while arrays use it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/placement.h"

namespace tessera {

struct BorrowOptions {
  // The distance in elements of neighbours along each dimension; none: row-major and dense.
  OrNone<Dims> strides = std::nullopt;
  // Copies memory that arrays cannot use as it is, instead of throwing UserError. The copy is made
  // at once.
  bool copy = false;
};

namespace internal {
// Throws UserError [borrow] unless `values` is the number of elements of the shape.
void expect_elements(int64_t values, const Shape& shape);
// Does the same as borrow(), with errors that name `op`.
Array borrowed(std::string_view op, const void* data, DType dtype, const Shape& shape,
               std::function<void()> release, const BorrowOptions& options);
// Returns the elements for view() and similar functions. Errors name `op`.
Literal viewed(std::string_view op, const Array& x);
void check_viewed(DType expected, DType got);
}  // namespace internal

// Returns an array on the default device that uses the elements at `data`. Nothing is copied if
// that device is an emulated one; a device of a plugin copies them. `release` is called once,
// without arguments, on any thread, when no array, literal or view uses the memory any more. It
// must not throw. If borrow() throws a UserError, it is not called.
//
// Throws UserError, unless options.copy is set, for memory that is not dense in row-major order,
// that is not aligned as its elements require, or of 64-bit elements while x64 is disabled. It
// always throws for a null pointer if there are elements, and for a number of strides that is not
// the rank.
Array borrow(const void* data, DType dtype, const Shape& shape, std::function<void()> release,
             const BorrowOptions& options = {});
template <Element T>
Array borrow(const T* data, const Shape& shape, std::function<void()> release,
             const BorrowOptions& options = {}) {
  return borrow(static_cast<const void*>(data), dtype_of<T>, shape, std::move(release), options);
}
// Returns the same for a range of memory. Also throws UserError if its length is not the number of
// elements of the shape.
template <Element T>
Array borrow(std::span<const T> values, const Shape& shape, std::function<void()> release) {
  internal::expect_elements(static_cast<int64_t>(values.size()), shape);
  return borrow(values.data(), shape, std::move(release));
}

// Returns an array that owns the vector's memory, which is not copied. Throws UserError as borrow()
// does, and then leaves the vector unchanged.
template <Element T>
requires(!std::is_same_v<T, bool>) Array adopt(std::vector<T>&& values, const Shape& shape) {
  internal::expect_elements(static_cast<int64_t>(values.size()), shape);
  // The elements stay where they are when the vector moves.
  const auto owner = std::make_shared<std::vector<T>>();
  Array out = borrow(values.data(), shape, [owner] {});
  owner->swap(values);
  return out;
}
template <Element T>
requires(!std::is_same_v<T, bool>) Array adopt(std::vector<T>&& values) {
  const auto count = static_cast<int64_t>(values.size());
  return adopt(std::move(values), {count});
}

// The elements of an array or of a shard in row-major order: a read-only range of T. It keeps their
// memory even after the array was destroyed or donated.
template <Element T>
class HostView {
 public:
  explicit HostView(Literal elements)
      : elements_(std::move(elements)), values_(elements_.values<T>()) {}

  const Shape& shape() const { return elements_.shape(); }
  const T* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  const T& operator[](size_t i) const { return values_[i]; }
  // Returns the elements as a span, which is valid as long as this view exists.
  std::span<const T> span() const& { return values_; }
  std::span<const T> span() && = delete;

 private:
  Literal elements_;
  std::span<const T> values_;
};

// Returns the elements of x in its own memory, without a copy. Throws UserError if T is not the C++
// type of its dtype, for a traced array, and for one whose elements are not in one piece of this
// process's memory (several shards that are not one after the other, or a plugin's device): then
// to_host(x) copies them, and addressable_shards(x) returns the shards.
template <Element T>
HostView<T> view(const Array& x) {
  internal::check_viewed(x.dtype(), dtype_of<T>);
  return HostView<T>(internal::viewed("view", x));
}
// Returns the elements of one shard. For emulated devices these are in the array's own memory,
// unless the shard has padding between its rows.
template <Element T>
HostView<T> view(const Shard& shard) {
  internal::check_viewed(shard.data.dtype(), dtype_of<T>);
  return HostView<T>(shard.data);
}
// Returns a view of each shard of this process, in the order of addressable_shards(x).
template <Element T>
std::vector<HostView<T>> shard_views(const Array& x) {
  std::vector<HostView<T>> out;
  for (const Shard& shard : addressable_shards(x)) out.push_back(view<T>(shard));
  return out;
}

}  // namespace tessera
