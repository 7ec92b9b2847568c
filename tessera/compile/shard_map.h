// shard_map: maps a function of the values that one device holds over the shards of its arguments.
// It is JAX's jax.shard_map.
//
//   Mesh mesh(devices(), {"x"});
//   auto f = shard_map([](const Array& x) { return psum(sum(x), "x"); },
//                      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}});
//
// in_specs shard each argument; out_specs say how results are combined. Inside, collectives over
// the mesh's axes move data between devices. It works eagerly, inside jit, and nested over
// different axes.
#pragma once

#include <set>
#include <string>

#include "tessera/compile/mapped.h"
#include "tessera/compile/prefix_tree.h"
#include "tessera/mesh/mesh.h"

namespace tessera {

struct ShardMapOptions {
  Mesh mesh;
  // A spec for all arguments, or a list with one entry for each argument (a spec for all its
  // leaves, or a tree of specs).
  PrefixList<PartitionSpec> in_specs = {};
  // A spec for the whole result, or a list with one entry for each of its parts.
  PrefixList<PartitionSpec> out_specs = {};
  // The axes that are manual inside; empty: all axes of the mesh. The others stay automatic.
  std::set<std::string> axis_names = {};
  // Rejects an out_spec that claims replication of a value that varies.
  bool check_vma = true;
};

namespace internal {

ErasedResult shard_map_erased(const ShardMapOptions& options, const ErasedCall& call,
                              const std::vector<Array>& leaves);

}  // namespace internal

template <class F>
using ShardMapped = internal::Mapped<F, ShardMapOptions, internal::shard_map_erased>;

// Returns `f` over shards. Calls throw UserError for a spec with an unknown or repeated axis, or
// with more entries than its array has dimensions; a dimension that its shards do not divide; an
// out_spec that claims replication of a varying result; specs that do not fit the trees.
template <class F>
ShardMapped<F> shard_map(F f, ShardMapOptions options) {
  return ShardMapped<F>(std::move(f), std::move(options));
}

}  // namespace tessera
