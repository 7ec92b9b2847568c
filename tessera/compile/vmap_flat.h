// vmap as a function of lists of arrays. vmap.h and the functions for whole Jacobians use it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/compile/mapped_axis.h"
#include "tessera/ir/array.h"
#include "tessera/ops/core/batch_axis.h"

namespace tessera::internal {

struct FlatVmap {
  std::vector<std::optional<int>> in_axes = {};  // the mapped dimension of each leaf
  std::vector<std::string> paths = {};
  std::optional<int64_t> axis_size = std::nullopt;
  ops::BatchAxis axis = {};  // its size is not set here
};
// Returns the results of `body` over examples; runs under a trace. `out_axes` is called once the
// body's results are known, and returns one axis for each.
std::vector<Array> vmap_flat(const ir::FlatFn& body, std::span<const Array> leaves,
                             FlatVmap options,
                             const std::function<std::vector<MappedAxis>()>& out_axes);

}  // namespace tessera::internal
