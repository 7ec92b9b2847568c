// MappedAxis: the dimension in which vmap maps an argument or a result.
#pragma once

#include <optional>

#include "tessera/compile/prefix_tree.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera {

// The mapped dimension of an argument or a result (negative ones count from the end), or None.
class MappedAxis {
 public:
  MappedAxis(int axis) : axis_(axis) {}
  MappedAxis(NoneType) {}
  const std::optional<int>& axis() const { return axis_; }

 private:
  std::optional<int> axis_;
};

extern template class PrefixTree<MappedAxis>;
extern template class PrefixList<MappedAxis>;

}  // namespace tessera
