// What the processes of a cluster tell each other on the host: jax.experimental.multihost_utils.
// Programs that run over several processes (docs/clusters.md) use these around their jitted
// functions: to look at results, to agree on a seed or a file, to wait for each other.
//
// All processes call each of these, in the same order; where one fails in one process, it throws in
// all of them. What comes back is host data. A process alone may call them too.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ir/array.h"

namespace tessera {

namespace internal {

struct ProcessLeaf {
  std::string path;  // of tree::for_each_leaf_with_path
  Array array;
};
std::vector<Array> process_allgather(const std::vector<ProcessLeaf>& leaves, bool tiled);
std::vector<Array> broadcast_one_to_all(const std::vector<ProcessLeaf>& leaves,
                                        std::optional<bool> is_source);
void assert_equal(const std::vector<ProcessLeaf>& leaves, std::string_view message);

template <class T>
std::vector<ProcessLeaf> process_leaves(const T& tree) {
  std::vector<ProcessLeaf> out;
  tree::for_each_leaf_with_path(tree, [&](const Array& leaf, const std::string& path) {
    out.push_back({path, leaf});
  });
  return out;
}

}  // namespace internal

// What the processes have, in each of them. For P processes:
//   an array that each has for itself (is_fully_addressable), of one shape and dtype in all:
//     shape (P, *shape), stacked in the order of the processes; with `tiled` (P * n, ...) of
//     (n, ...), one after the other, and (P,) of scalars. One process alone keeps a tiled scalar.
//   an array over devices of several processes: the whole of it. It needs `tiled`, as in JAX.
// UserError in all processes: kShape where their trees, shapes or dtypes differ, kValue for a global
// array without `tiled` and for leaves without data, kTrace for traced ones.
Array process_allgather(const Array& x, bool tiled = false);
// Of every leaf.
template <class T>
requires(!std::convertible_to<const T&, Array>) T
    process_allgather(const T& tree, bool tiled = false) {
  return tree::unflatten(tree, internal::process_allgather(internal::process_leaves(tree), tiled));
}

// The arrays of the one process that says it is the source, in all of them: of process 0 where
// nobody is asked. The others give arrays of the same shapes and dtypes. UserError in all
// processes: as above, and kValue where not exactly one is the source, or where an array is over
// devices of several processes and not replicated.
Array broadcast_one_to_all(const Array& x, std::optional<bool> is_source = std::nullopt);
template <class T>
requires(!std::convertible_to<const T&, Array>) T
    broadcast_one_to_all(const T& tree, std::optional<bool> is_source = std::nullopt) {
  return tree::unflatten(tree,
                         internal::broadcast_one_to_all(internal::process_leaves(tree), is_source));
}

// Returns once every process is here. UserError kValue in all of them where they come with
// different names: they are not at the same place of the program.
void sync_global_devices(std::string_view name);

// UserError kValue in all processes, with `message`, where an array does not have the same bits in
// all of them (so NaN equals NaN). An array over devices of several processes must be replicated.
void assert_equal(const Array& x, std::string_view message = "");
template <class T>
requires(!std::convertible_to<const T&, Array>) void assert_equal(const T& tree,
                                                                  std::string_view message = "") {
  internal::assert_equal(internal::process_leaves(tree), message);
}

}  // namespace tessera
