// The flat core of vmap: a function of lists of arrays over examples. Behind vmap.h, and what whole
// Jacobians are computed with.
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
  std::vector<std::optional<int>> in_axes = {};  // one a leaf
  std::vector<std::string> paths = {};
  std::optional<int64_t> axis_size = std::nullopt;
  ops::BatchAxis axis = {};  // but the size
};
// Under a trace. `out_axes`, one a result, is asked for once the body's results are known.
std::vector<Array> vmap_flat(const ir::FlatFn& body, std::span<const Array> leaves,
                             FlatVmap options,
                             const std::function<std::vector<MappedAxis>()>& out_axes);

}  // namespace tessera::internal
