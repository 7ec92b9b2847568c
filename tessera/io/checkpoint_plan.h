// SavePlan: which slices of a tree a checkpoint has, which process writes each, and into which
// file. Private to this folder: made by every process alike, before anything is written
// (checkpoint_save.cc).
#pragma once

#include <string>
#include <vector>

#include "tessera/io/checkpoint.h"
#include "tessera/io/checkpoint_index.h"
#include "tessera/io/safetensors.h"
#include "tessera/runtime/device_array.h"

namespace tessera::internal {

// Returns the data of `x`, which is in the memory of this process; null if it has not met a device.
const runtime::DeviceArray* on_devices(const Array& x);

// A slice to write: where it lies in memory.
struct SavedPiece {
  size_t leaf = 0, slice = 0;  // of the index
  int64_t instance = 0;        // of the array
  int64_t holder = 0;          // position in the mesh of the first device that holds it
  int writer = 0;              // the first process that holds it
};

struct FilePlan {
  std::string name;
  std::vector<SafetensorsEntry> entries;
  std::vector<size_t> pieces;  // one an entry
  int writer = 0;
  uint64_t header_bytes = 0;  // at most
};

struct SavePlan {
  CheckpointIndex index;  // without the checksums, and without `files`
  std::vector<SavedPiece> pieces;
  std::vector<FilePlan> files;  // at least one

  SavedSlice& slice(const SavedPiece& piece) {
    return index.leaves[piece.leaf].slices[piece.slice];
  }
};

// `max_header`: of a file, in bytes. `one_a_process`: in a cluster, one file of each process that
// writes (more where a header is full); otherwise up to 16 by `holder`, of a tree of more bytes than
// single_file_bytes. The leaves have data.
SavePlan plan_save(int64_t step, const std::vector<NamedLeaf>& leaves, const SaveOptions& options,
                   uint64_t max_header, bool one_a_process);

// What all processes must have in common to save one tree: a line a leaf, with how it lies, or the
// checksum of what each process has for itself.
std::string describe_for_all(const std::vector<NamedLeaf>& leaves);

}  // namespace tessera::internal
