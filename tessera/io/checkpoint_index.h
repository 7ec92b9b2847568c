// index.json of a checkpoint (checkpoint.h): the leaves of a step, and the file of each of their
// slices. Only this folder includes this header. checkpoint_save.cc writes the index,
// checkpoint_restore.cc reads it.
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
inline constexpr std::string_view kTemporary = ".tmp-";  // prefix while written or removed

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
  std::vector<SavedSlice> slices;  // disjoint; together they are the whole leaf
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

// Returns the index as JSON. Throws UserError kValue naming a path that is not UTF-8.
std::string to_json(const CheckpointIndex& index);
// Returns the contents of the file. Throws UserError kIo naming it if it is missing.
std::string read_index_text(const std::filesystem::path& file);
// Returns the index in the text of a file of this name. Throws UserError kIo naming it if it is
// damaged, of a later version, or names files that are not in its folder.
CheckpointIndex parse_index(const std::filesystem::path& file, const std::string& text);

// Returns the dtype of a leaf in files. safetensors has no complex128, and its older readers no
// complex64, so both are stored as pairs of reals in one more dimension.
DType stored_dtype(DType dtype);
Shape stored_shape(DType dtype, const ShardIndex& index);

// Returns a name like step_00000012.
std::string step_name(int64_t step);
// Returns the step of such a name.
std::optional<int64_t> step_of_name(std::string_view name);
// Returns all_steps() as this process sees them.
std::vector<int64_t> steps_in(const std::filesystem::path& folder);
// Returns whether a folder was left by a killed save, or belongs to a save that is running: it has
// a name of folders that a save writes or removes, and contains only files of a save. Other folders
// with such names are the user's.
bool is_leftover(const std::filesystem::path& folder);
// Returns a text like "leaf '.0[2]'"; "the only leaf" if the tree is an Array.
std::string leaf_text(const std::string& path);

}  // namespace tessera::internal
