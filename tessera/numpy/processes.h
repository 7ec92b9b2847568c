// Data that the processes of a cluster exchange on the host: jax.experimental.multihost_utils.
// Programs that run over several processes (docs/clusters.md) use these functions around their
// jitted functions: to look at results, to agree on a seed or a file, to wait for each other.
//
// All processes call each of these, in the same order. If a call fails in one process, it throws in
// all of them. Results are host data. A single process may call them too.
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
  std::string path;  // as in tree::for_each_leaf_with_path
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

// Returns in each process what all processes have. For P processes, x may be
//   an array that each process has for itself (is_fully_addressable), of one shape and dtype: the
//     result has shape (P, *shape), stacked in the order of the processes. With `tiled`, arrays of
//     (n, ...) are concatenated to (P * n, ...) and scalars to (P,). A single process keeps a tiled
//     scalar as it is.
//   an array over devices of several processes: the result is all of it. This needs `tiled`, as in
//     JAX.
// Throws UserError in all processes: kShape if their trees, shapes or dtypes differ, kValue for an
// array over several processes without `tiled` and for leaves without data, kTrace for traced ones.
Array process_allgather(const Array& x, bool tiled = false);
// Does the same to every leaf of a tree.
template <class T>
requires(!std::convertible_to<const T&, Array>) T
    process_allgather(const T& tree, bool tiled = false) {
  return tree::unflatten(tree, internal::process_allgather(internal::process_leaves(tree), tiled));
}

// Returns in every process the array of the one process that is the source: of the process for
// which is_source is true, or of process 0 if is_source is left out. The other processes pass
// arrays of the same shape and dtype. Throws in all processes the UserErrors above, and kValue if
// not exactly one process is the source or if an array is on devices of several processes and not
// replicated.
Array broadcast_one_to_all(const Array& x, std::optional<bool> is_source = std::nullopt);
template <class T>
requires(!std::convertible_to<const T&, Array>) T
    broadcast_one_to_all(const T& tree, std::optional<bool> is_source = std::nullopt) {
  return tree::unflatten(tree,
                         internal::broadcast_one_to_all(internal::process_leaves(tree), is_source));
}

// Returns when every process has called it. Throws UserError kValue in all of them if they pass
// different names: then they are not at the same point of the program.
void sync_global_devices(std::string_view name);

// Throws UserError kValue in all processes, with `message`, if an array does not have the same bits
// in all of them (so NaN equals NaN). An array over devices of several processes must be
// replicated.
void assert_equal(const Array& x, std::string_view message = "");
template <class T>
requires(!std::convertible_to<const T&, Array>) void assert_equal(const T& tree,
                                                                  std::string_view message = "") {
  internal::assert_equal(internal::process_leaves(tree), message);
}

}  // namespace tessera
