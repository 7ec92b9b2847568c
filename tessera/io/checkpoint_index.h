// index.json of a checkpoint (checkpoint.h): which leaves a step has, and where each slice of them
// is. Private to this folder: written by checkpoint_save.cc, read by checkpoint_restore.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::internal {

inline constexpr std::string_view kIndexFile = "index.json";
inline constexpr std::string_view kTemporary = ".tmp-";  // what is being written or removed

// Part of a leaf: a tensor of a file.
struct SavedSlice {
  ShardIndex index;
  std::string file, tensor;
  uint32_t crc32c = 0;  // of its bytes
};
struct SavedLeaf {
  std::string path;
  DType dtype = float32;
  Shape shape;
  std::vector<SavedSlice> slices;  // disjoint; together the whole leaf
};
struct SavedFile {
  uint64_t bytes = 0;
  uint32_t header_crc32c = 0;
};
struct CheckpointIndex {
  int64_t step = 0;
  std::map<std::string, SavedFile> files;
  std::vector<SavedLeaf> leaves;
};

// UserError kValue naming a path that is not UTF-8.
std::string to_json(const CheckpointIndex& index);
// UserError kIo naming the file where it is missing.
std::string read_index_text(const std::filesystem::path& file);
// What a file of this name says. UserError kIo naming it where it is damaged or of a later version,
// or names files that are not beside it.
CheckpointIndex parse_index(const std::filesystem::path& file, const std::string& text);

// What files hold of a leaf: safetensors does not have complex128, nor do its older readers have
// complex64, so both are pairs of reals in one more dimension.
DType stored_dtype(DType dtype);
Shape stored_shape(DType dtype, const ShardIndex& index);

// step_00000012.
std::string step_name(int64_t step);
// The step of such a name.
std::optional<int64_t> step_of_name(std::string_view name);
// all_steps() as this process sees them.
std::vector<int64_t> steps_in(const std::filesystem::path& folder);
// Of a name that a save gives to what it is writing or removing, and without other files than a
// save's: what a killed one left, or a save that runs. Other things of such names are the user's.
bool is_leftover(const std::filesystem::path& folder);
// "leaf '.0[2]'"; "the only leaf" where the tree is an Array.
std::string leaf_text(const std::string& path);

}  // namespace tessera::internal
