// shard_map: a function of what one device holds, mapped over the shards of its arguments. JAX's
// jax.shard_map.
//
//   Mesh mesh(devices(), {"x"});
//   auto f = shard_map([](const Array& x) { return psum(sum(x), "x"); },
//                      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}});
//
// in_specs cut each argument; out_specs say how results are put together. Inside, collectives over
// the mesh's axes move data between devices. Works eagerly, inside jit, and nested over different
// axes.
#pragma once

#include <set>
#include <string>

#include "tessera/compile/jit.h"
#include "tessera/trace/shard_map_trace.h"

namespace tessera {

struct ShardMapOptions {
  Mesh mesh;
  // A spec for all arguments, or a list of one entry an argument (a spec for all its leaves, or a
  // tree of specs).
  PrefixList<PartitionSpec> in_specs = {};
  // A spec for the whole result, or a list of one entry for each of its parts.
  PrefixList<PartitionSpec> out_specs = {};
  // Axes to be manual over; empty: all of the mesh. The others stay automatic inside.
  std::set<std::string> axis_names = {};
  // Refuse an out_spec that claims replication of a value that varies.
  bool check_vma = true;
};

template <class F>
class ShardMapped {
 public:
  ShardMapped(F f, ShardMapOptions options) : f_(std::move(f)), options_(std::move(options)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    constexpr bool numbers = internal::numbers_are_arrays<F, Args...>();
    if (Trace::current()) return map(internal::as_argument<numbers>(args)...);
    // Outside any trace: one program, traced now.
    const auto traced = [this](const auto&... x) { return map(x...); };
    return internal::run_once("shard_map", traced, internal::as_argument<numbers>(args)...);
  }

 private:
  template <class... Args>
  auto map(const Args&... args) const {
    using Result = internal::CallResultOf<F, Args...>;
    std::vector<Array> leaves;
    (tree::for_each_leaf(args, [&](const Array& leaf) { leaves.push_back(leaf); }), ...);
    const std::vector<PartitionSpec> in_specs =
        options_.in_specs.of_arguments("shard_map", "in_specs", args...);
    std::optional<Result> shape;  // the result with the body's tracers for leaves
    std::vector<PartitionSpec> out_specs;
    const FlatFn body = [&](const std::vector<Array>& inputs) {
      size_t next = 0;
      [[maybe_unused]] auto with_tracers = [&]<class T>(const T& arg) {
        T copy = arg;
        tree::for_each_leaf(copy, [&](Array& leaf) { leaf = inputs[next++]; });
        return copy;
      };
      std::tuple<std::decay_t<Args>...> local{with_tracers(args)...};
      shape.emplace(internal::apply(f_, local));
      out_specs = options_.out_specs.of_result("shard_map", "out_specs", *shape);
      return tree::leaves(*shape);
    };
    const std::vector<Array> results = shard_map_flat(
        body,
        FlatShardMapOptions{.mesh = options_.mesh,
                            .in_specs = in_specs,
                            .out_specs = [&](std::span<const Array>) { return out_specs; },
                            .manual_axes = std::vector<std::string>(options_.axis_names.begin(),
                                                                    options_.axis_names.end()),
                            .check_vma = options_.check_vma},
        leaves);
    return tree::unflatten(*shape, results);
  }

  F f_;
  ShardMapOptions options_;
};

// `f` over shards. UserErrors: a spec with an unknown or repeated axis, or longer than its array
// has dimensions; a dimension that its shards do not divide; an out_spec that claims replication of
// a varying result; specs that do not fit the trees.
template <class F>
ShardMapped<F> shard_map(F f, ShardMapOptions options) {
  return ShardMapped<F>(std::move(f), std::move(options));
}

}  // namespace tessera
