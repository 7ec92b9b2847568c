// vmap: a function of one example over every example of mapped dimensions at once. JAX's vmap.
//
//   vmap(f)(x, y);                                    // both mapped at dimension 0
//   vmap(f, {.in_axes = {0, None}})(x, params);       // params are the same for every example
//   vmap(f, {.in_axes = 0, .axis_name = "i"})(x);     // f may call psum(v, "i")
#pragma once

#include <optional>
#include <string>

#include "tessera/compile/jit.h"
#include "tessera/compile/leaf_function.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/ops/core/batch_axis.h"

namespace tessera {

// Where an argument or a result is mapped: a dimension (negative ones count from the end), or None.
class MappedAxis {
 public:
  MappedAxis(int axis) : axis_(axis) {}
  MappedAxis(NoneType) {}
  const std::optional<int>& axis() const { return axis_; }

 private:
  std::optional<int> axis_;
};

// A mesh axis or several, major first.
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
  // Of all arguments, or a list of one entry an argument: where all its leaves are mapped, or a
  // tree. Empty: all at 0.
  PrefixList<MappedAxis> in_axes = {};
  // Of the whole result, or a list of one for each of its parts. Empty: 0.
  PrefixList<MappedAxis> out_axes = {};
  // Binds the mapped dimension for collectives inside.
  std::string axis_name = {};
  // The number of examples where no argument is mapped; else it must agree.
  std::optional<int64_t> axis_size = std::nullopt;
  // Mesh axes by which sharding constraints and shard_maps inside cut the mapped dimension.
  SpmdAxisName spmd_axis_name = {};
  // What becomes of a sharding constraint inside whose axes one example's dimension cannot be
  // divided by: an error, or its axes cut the dimension of examples, or they are dropped.
  Indivisible indivisible = Indivisible::kError;
};

namespace internal {

struct FlatVmap {
  std::vector<std::optional<int>> in_axes = {};  // one a leaf
  std::vector<std::string> paths = {};
  std::optional<int64_t> axis_size = std::nullopt;
  BatchAxis axis = {};  // but the size
};
// Under a trace. `out_axes`, one a result, is asked for once the body's results are known.
std::vector<Array> vmap_flat(const FlatFn& body, std::span<const Array> leaves, FlatVmap options,
                             const std::function<std::vector<MappedAxis>()>& out_axes);

}  // namespace internal

template <class F>
class Vmapped {
 public:
  Vmapped(F f, VmapOptions options) : f_(std::move(f)), options_(std::move(options)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    constexpr bool numbers = internal::numbers_are_arrays<F, Args...>();
    if (Trace::current()) return traced(internal::as_argument<numbers>(args)...);
    const auto whole = [this](const auto&... x) { return traced(x...); };
    return internal::run_once("vmap", whole, internal::as_argument<numbers>(args)...);
  }

 private:
  template <class... Args>
  auto traced(const Args&... args) const {
    internal::LeafFunction<F, Args...> f(f_, args...);
    const std::vector<Array> leaves = f.leaves();
    internal::FlatVmap flat{.paths = f.paths(), .axis_size = options_.axis_size};
    flat.axis = {.name = options_.axis_name,
                 .spmd_axes = options_.spmd_axis_name.axes(),
                 .indivisible = options_.indivisible};
    if (options_.in_axes.empty()) {
      flat.in_axes.assign(leaves.size(), 0);
    } else {
      // A list of one axis is that of all arguments, too.
      const std::vector<PrefixTree<MappedAxis>>& entries = options_.in_axes.entries();
      const bool for_all = entries.size() == 1 && sizeof...(Args) != 1 && entries[0].value();
      const PrefixList<MappedAxis> axes =
          for_all ? PrefixList<MappedAxis>(*entries[0].value()) : options_.in_axes;
      for (const MappedAxis& axis : axes.of_arguments("vmap", "in_axes", args...))
        flat.in_axes.push_back(axis.axis());
    }
    const auto out_axes = [&] {
      const auto& result = f.result();
      if (!options_.out_axes.empty())
        return options_.out_axes.of_result("vmap", "out_axes", result);
      return std::vector<MappedAxis>(tree::num_leaves(result), MappedAxis(0));
    };
    const std::vector<Array> results =
        internal::vmap_flat(f.flat(), leaves, std::move(flat), out_axes);
    return tree::unflatten(f.result(), results);
  }

  F f_;
  VmapOptions options_;
};

// `f` over examples. UserErrors, with the path of the leaf: an axis that the leaf does not have;
// mapped dimensions of different sizes; no mapped argument and no axis_size; a result that is
// mapped where out_axes says None; an op without a batching rule; a constraint as `indivisible`
// says.
template <class F>
Vmapped<F> vmap(F f, VmapOptions options = {}) {
  return Vmapped<F>(std::move(f), std::move(options));
}

}  // namespace tessera
