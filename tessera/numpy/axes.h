// The axes that a function works on: all of them (None), one, or several. Negative axes count from
// the end.
//
//   sum(x);
//   sum(x, {.axis = 0});
//   sum(x, {.axis = {0, -1}});
//   sum(x, {.axis = None});
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/base/shape.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera {

// A T or None. A shape or a pair may be written in braces: {2, 3}. Empty braces are None.
template <class T>
class OrNone : public std::optional<T> {
 public:
  using std::optional<T>::optional;
  OrNone() = default;
  OrNone(NoneType) {}
  OrNone(std::optional<T> value) : std::optional<T>(std::move(value)) {}
  OrNone(std::initializer_list<Dims::Entry> dims) requires std::same_as<T, Dims>
      : std::optional<T>(T(dims)) {}
  template <class First, class Second>
  requires(!std::same_as<T, Dims> && std::constructible_from<T, First, Second>)
      OrNone(First first, Second second)
      : std::optional<T>(T(first, second)) {}
};

class Axes {
 public:
  Axes(NoneType) {}
  template <std::integral T>
  Axes(T axis) : axes_(Dims{static_cast<int64_t>(axis)}) {}
  Axes(std::initializer_list<Dims::Entry> axes) : axes_(Dims(axes)) {}
  Axes(Dims axes) : axes_(std::move(axes)) {}
  template <std::integral T>
  Axes(const std::vector<T>& axes) : axes_(Dims(axes)) {}

  bool all() const { return !axes_; }
  // Returns the number of axes for an array of `rank` dimensions.
  int64_t count(int64_t rank) const { return axes_ ? axes_->rank() : rank; }
  // Returns the axes as numbers in [0, rank) in the order given; None means all. Throws UserError
  // naming `op` if one is outside of [-rank, rank) or given twice.
  Dims in_order(std::string_view op, int64_t rank) const;
  // Returns the same axes in ascending order.
  Dims ascending(std::string_view op, int64_t rank) const;

 private:
  std::optional<Dims> axes_;
};

}  // namespace tessera
