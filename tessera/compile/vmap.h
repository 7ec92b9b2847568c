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
  // The mapped dimensions of the arguments: one for all, or a list with one entry for each
  // argument, which is the dimension for all its leaves, or a tree. Empty: 0 for all.
  PrefixList<MappedAxis> in_axes = {};
  // The mapped dimensions of the results: one for all, or a list with one entry for each part of
  // the result. Empty: 0.
  PrefixList<MappedAxis> out_axes = {};
  // The name of the mapped dimension for collectives inside.
  std::string axis_name = {};
  // The number of examples if no argument is mapped; otherwise it must agree.
  std::optional<int64_t> axis_size = std::nullopt;
  // The mesh axes that shard the mapped dimension in sharding constraints and shard_maps inside.
  SpmdAxisName spmd_axis_name = {};
  // What happens if the axes of a sharding constraint inside do not divide a dimension of one
  // example: an error, the axes shard the dimension of examples instead, or the axes are dropped.
  Indivisible indivisible = Indivisible::kError;
};

namespace internal {

ErasedResult vmap_erased(const VmapOptions& options, const ErasedCall& call,
                         const std::vector<Array>& leaves);

}  // namespace internal

template <class F>
using Vmapped = internal::Mapped<F, VmapOptions, internal::vmap_erased>;

// Returns `f` over examples. Calls throw a UserError with the path of the leaf if the leaf does not
// have the mapped axis, if mapped dimensions have different sizes, if no argument is mapped and
// axis_size is not given, if a result is mapped though out_axes says None, if an op has no batching
// rule, and for a constraint as `indivisible` says.
template <class F>
Vmapped<F> vmap(F f, VmapOptions options = {}) {
  return Vmapped<F>(std::move(f), std::move(options));
}
// Returns `f` over examples, with one axis for all arguments: vmap(f, 1).
template <class F, std::integral Axis>
Vmapped<F> vmap(F f, Axis in_axes) {
  return vmap(std::move(f), VmapOptions{.in_axes = static_cast<int>(in_axes)});
}

}  // namespace tessera
