// Checkpoints: trees of Arrays in a folder, one for each step, independent of the mesh that wrote
// them.
//
//   save_checkpoint("runs/digits", step, std::tuple(params, opt_state), {.keep = 3});
//   if (auto last = latest_step("runs/digits"))
//     std::tie(params, opt_state) =
//         restore_checkpoint("runs/digits", std::tuple(params, opt_state));
//
// The contents of runs/digits/step_00000012:
//   index.json            leaves by path, the slices of each, checksums
//   arrays.safetensors    the slices (arrays-00001-of-00008.safetensors, ... of a large tree)
//
// Each distinct shard of a leaf is written once; restoring assembles the slices that the new
// sharding needs. A step appears under its name only when all of it is on the disk, so a save that
// is killed does not change the steps before it. The files that it leaves behind
// (.tmp-step_00000012) are never read, and the next save removes them. docs/checkpoints.md has the
// format.
//
// In a cluster all processes call these functions, each with its own handles on the same arrays,
// and `path` is a folder that all see. Each process writes the shards that no lower process holds.
// Process 0 writes arrays of the host or of one device, which must be equal in all processes, and
// names the step once all have written. Each process reads what its own devices need. A failure in
// one process throws in all.
//
// The static parts of a tree (numbers, strings, sizes) belong to the program and are not saved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/io/file_path.h"
#include "tessera/ir/array.h"

namespace tessera {

struct SaveOptions {
  // The number of steps to keep, including the new one; 0: all. Lower steps beyond them are removed
  // once the new one is complete; higher ones (of a run that was rolled back) stay.
  int64_t keep = 0;
  // A larger tree is written in several files, by the devices that hold its shards. In a cluster
  // there is one file for each process.
  int64_t single_file_bytes = int64_t{64} << 20;
};

// Returns the complete steps, ascending; none if there is no folder. In a cluster process 0 reads
// it.
std::vector<int64_t> all_steps(const FilePath& path);
std::optional<int64_t> latest_step(const FilePath& path);

namespace internal {

struct NamedLeaf {
  std::string path;  // as in tree::for_each_leaf_with_path
  Array array;
};
// `max_header` is the limit of a file's header in bytes, by default that of the format.
void save_checkpoint(const FilePath& path, int64_t step, const std::vector<NamedLeaf>& leaves,
                     const SaveOptions& options, std::optional<uint64_t> max_header = std::nullopt);
std::vector<Array> restore_checkpoint(const FilePath& path, const std::vector<NamedLeaf>& like,
                                      std::optional<int64_t> step);
template <class T>
std::vector<NamedLeaf> named_leaves(const T& tree) {
  std::vector<NamedLeaf> out;
  tree::for_each_leaf_with_path(tree, [&](const Array& leaf, const std::string& path) {
    out.push_back({path, leaf});
  });
  return out;
}

}  // namespace internal

// Writes `tree` as path/step_<step>, and returns when it is on the disk. Only one save at a time,
// of all processes, may write to `path`. Throws UserError, with nothing changed on the disk: kValue
// for a negative step, for one that exists already, for leaves with the same path or without data,
// and for processes whose trees differ; kTrace for traced leaves; kIo if the folder cannot be
// written, if it is not one that all processes see, or if another save is writing.
template <class T>
void save_checkpoint(const FilePath& path, int64_t step, const T& tree,
                     const SaveOptions& options = {}) {
  internal::save_checkpoint(path, step, internal::named_leaves(tree), options);
}

// Returns the tree of `step` (the latest, if none is given). Each leaf has the sharding of its
// counterpart in `like`, which is an array or an abstract_array() with or without a sharding.
// `like` also provides the static parts. Throws UserError naming the leaf: kValue for another
// structure, kShape, kType; kIo if there is no such step and for damaged files.
template <class T>
T restore_checkpoint(const FilePath& path, const T& like,
                     std::optional<int64_t> step = std::nullopt) {
  return tree::unflatten(like,
                         internal::restore_checkpoint(path, internal::named_leaves(like), step));
}

}  // namespace tessera
