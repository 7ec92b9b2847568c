// SavePlan: the slices of a tree in a checkpoint, and the process and the file that write each.
// Only this folder includes this header. Every process makes the same plan before anything is
// written (checkpoint_save.cc).
#pragma once

#include <string>
#include <vector>

#include "tessera/io/checkpoint.h"
#include "tessera/io/checkpoint_index.h"
#include "tessera/io/safetensors.h"
#include "tessera/runtime/device_array.h"

namespace tessera::internal {

// Returns the data of `x`, which is in the memory of this process; null if x has not been on a
// device.
const runtime::DeviceArray* on_devices(const Array& x);

// A slice to write, and the memory that holds it.
struct SavedPiece {
  size_t leaf = 0, slice = 0;  // in the index
  int64_t instance = 0;        // which of the array's
  int64_t holder = 0;          // position in the mesh of the first device that holds it
  int writer = 0;              // the first process that holds it
};

struct FilePlan {
  std::string name;
  std::vector<SafetensorsEntry> entries;
  std::vector<size_t> pieces;  // one for each entry
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

// Returns the plan of leaves that have data. `max_header` is the limit of a file's header in bytes.
// With `one_a_process`, in a cluster, there is one file for each process that writes, or more if a
// header is full. Otherwise there are up to 16 files, by `holder`, if the tree has more bytes than
// single_file_bytes.
SavePlan plan_save(int64_t step, const std::vector<NamedLeaf>& leaves, const SaveOptions& options,
                   uint64_t max_header, bool one_a_process);

// Returns the text that must be equal in all processes that save one tree: a line for each leaf,
// with its sharding, or the checksum of an array that each process has for itself.
std::string describe_for_all(const std::vector<NamedLeaf>& leaves);

}  // namespace tessera::internal
