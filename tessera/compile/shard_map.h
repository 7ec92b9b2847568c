// shard_map: calls a function of one device's shards on every device. It is JAX's jax.shard_map.
//
//   Mesh mesh(devices(), {"x"});
//   auto f = shard_map([](const Array& x) { return psum(sum(x), "x"); },
//                      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}});
//
// in_specs shard each argument; out_specs say how results are combined. Inside, collectives over
// the mesh's axes move data between devices. shard_map works eagerly, inside jit, and nested over
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
  // The axes that are manual inside; the others stay automatic. If empty, all axes are manual.
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

// Returns `f` over shards. Calls throw UserError if a spec has an unknown or repeated axis or more
// entries than its array has dimensions, if a dimension is not divisible by its number of shards,
// if an out_spec claims replication of a varying result, and if specs do not fit the trees.
template <class F>
ShardMapped<F> shard_map(F f, ShardMapOptions options) {
  return ShardMapped<F>(std::move(f), std::move(options));
}

}  // namespace tessera
