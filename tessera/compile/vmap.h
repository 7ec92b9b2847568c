// vmap: applies a function of one example to every example of mapped dimensions at once. It is
// JAX's vmap.
//
//   vmap(f)(x, y);                                    // both mapped at dimension 0
//   vmap(f, {.in_axes = {0, None}})(x, params);       // params are the same for every example
//   vmap(f, {.in_axes = 0, .axis_name = "i"})(x);     // f may call psum(v, "i")
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "tessera/compile/mapped.h"
#include "tessera/compile/mapped_axis.h"
#include "tessera/ops/core/batch_axis.h"

namespace tessera {

// One mesh axis or several, major first.
class SpmdAxisName {
 public:
  SpmdAxisName() = default;
  SpmdAxisName(const char* axis) : axes_{axis} {}
  SpmdAxisName(std::string axis) : axes_{std::move(axis)} {}
  SpmdAxisName(std::initializer_list<std::string> axes) : axes_(axes) {}
  const std::vector<std::string>& axes() const { return axes_; }

 private:
  std::vector<std::string> axes_;
};

struct VmapOptions {
  // One for all arguments, or a list with one entry for each argument: the mapped dimension of all
  // its leaves, or a tree. Empty: 0 for all.
  PrefixList<MappedAxis> in_axes = {};
  // One for the whole result, or a list with one entry for each of its parts. Empty: 0.
  PrefixList<MappedAxis> out_axes = {};
  // The name of the mapped dimension for collectives inside.
  std::string axis_name = {};
  // The number of examples if no argument is mapped; otherwise it must agree.
  std::optional<int64_t> axis_size = std::nullopt;
  // The mesh axes by which sharding constraints and shard_maps inside shard the mapped dimension.
  SpmdAxisName spmd_axis_name = {};
  // What happens to the axes of a sharding constraint inside if they do not divide a dimension of
  // one example: an error, they shard the dimension of examples, or they are dropped.
  Indivisible indivisible = Indivisible::kError;
};

namespace internal {

ErasedResult vmap_erased(const VmapOptions& options, const ErasedCall& call,
                         const std::vector<Array>& leaves);

}  // namespace internal

template <class F>
using Vmapped = internal::Mapped<F, VmapOptions, internal::vmap_erased>;

// Returns `f` over examples. Calls throw a UserError with the path of the leaf for: an axis that
// the leaf does not have; mapped dimensions of different sizes; no mapped argument and no
// axis_size; a result that is mapped though out_axes says None; an op without a batching rule; a
// constraint as `indivisible` says.
template <class F>
Vmapped<F> vmap(F f, VmapOptions options = {}) {
  return Vmapped<F>(std::move(f), std::move(options));
}
// Returns the same for one `in_axes` of all arguments: vmap(f, 1).
template <class F, std::integral Axis>
Vmapped<F> vmap(F f, Axis in_axes) {
  return vmap(std::move(f), VmapOptions{.in_axes = static_cast<int>(in_axes)});
}

}  // namespace tessera
