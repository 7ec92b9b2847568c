// MappedAxis: the dimension in which vmap maps an argument or a result.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include "tessera/compile/prefix_tree.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera {

// The mapped dimension of an argument or a result (negative numbers count from the end), or None.
class MappedAxis {
 public:
  MappedAxis(int axis) : axis_(axis) {}
  MappedAxis(NoneType) {}
  // Declared so that the compiler's error says what to write.
  template <class T>
  requires(std::is_floating_point_v<T> || std::is_convertible_v<T, std::string_view>)
      MappedAxis(const T&) {
    static_assert(std::is_void_v<T>,
                  "a mapped axis of vmap is the number of a dimension, or None: write "
                  "{.in_axes = 0}, or {.in_axes = {0, None}} for two arguments");
  }
  const std::optional<int>& axis() const { return axis_; }

 private:
  std::optional<int> axis_;
};

extern template class PrefixTree<MappedAxis>;
extern template class PrefixList<MappedAxis>;

}  // namespace tessera
