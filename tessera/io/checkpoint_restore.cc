#include <algorithm>
#include <cstring>

#include "tessera/cluster/joint_step.h"
#include "tessera/compile/place.h"
#include "tessera/io/checkpoint.h"
#include "tessera/io/checkpoint_index.h"
#include "tessera/io/crc32c.h"
#include "tessera/io/safetensors.h"
#include "tessera/ir/format.h"
#include "tessera/runtime/copy.h"

namespace tessera::internal {

using namespace runtime;

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kCheckpointRestoreOp = "restore_checkpoint";

int64_t find_step(const fs::path& path, std::optional<int64_t> step) {
  const std::vector<int64_t> steps = steps_in(path);
  if (!step && !steps.empty()) return steps.back();
  if (step && std::find(steps.begin(), steps.end(), *step) != steps.end()) return *step;
  const std::string wanted = step ? fmt::format("step {}", *step) : std::string("a checkpoint");
  std::error_code ignored;
  for (fs::directory_iterator entry(path, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    if (is_leftover(entry->path()) && (!step || name.ends_with(step_name(*step))))
      io_error(kCheckpointRestoreOp,
               "expected {} in '{}', got one that is being written or that a killed save left "
               "('{}'); wait for that save, or save again",
               wanted, path.string(), name);
  }
  if (steps.empty())
    io_error(kCheckpointRestoreOp,
             "expected {} in '{}', got no checkpoint; check the path, or start from step 0", wanted,
             path.string());
  io_error(kCheckpointRestoreOp, "expected {} in '{}', got steps {}; choose one of these", wanted,
           path.string(), fmt::join(steps, ", "));
}

// Returns the checkpoint's leaf for each leaf of `like`. Throws UserError naming the difference if
// they do not match.
std::vector<const SavedLeaf*> match(const CheckpointIndex& index,
                                    const std::vector<NamedLeaf>& like, const fs::path& folder) {
  std::map<std::string_view, const SavedLeaf*> saved;
  for (const SavedLeaf& leaf : index.leaves) saved[leaf.path] = &leaf;
  std::vector<const SavedLeaf*> out;
  for (const auto& [path, array] : like) {
    const std::string leaf = leaf_text(path);
    const auto found = saved.find(path);
    if (found == saved.end())
      value_error(kCheckpointRestoreOp,
                  "expected '{}' to have {}, got none of that path among its {}; restore into the "
                  "tree that was saved",
                  folder.string(), leaf, index.leaves.size());
    if (!found->second)
      value_error(kCheckpointRestoreOp,
                  "expected leaves of different paths, got two of {}; rename keys of the map",
                  leaf);
    if (!array.defined())
      value_error(kCheckpointRestoreOp,
                  "expected {} of `like` to be an array, got none; give an abstract_array", leaf);
    if (array.is_tracer())
      trace_error(kCheckpointRestoreOp,
                  "expected {} of `like` to have a sharding, got the traced {}; restore outside "
                  "of jit",
                  leaf, describe(array.type()));
    const SavedLeaf& have = *std::exchange(found->second, nullptr);
    if (have.shape != array.shape())
      shape_error(kCheckpointRestoreOp,
                  "expected {} of shape {}, got {} in '{}'; restore into the tree that was saved",
                  leaf, array.shape(), have.shape, folder.string());
    if (have.dtype != array.dtype())
      type_error(kCheckpointRestoreOp,
                 "expected {} of {}, got {} in '{}'; restore it as that and convert", leaf,
                 array.dtype(), have.dtype, folder.string());
    out.push_back(&have);
  }
  for (const SavedLeaf& leaf : index.leaves)
    if (saved[leaf.path])
      value_error(kCheckpointRestoreOp,
                  "expected '{}' to have the {} leaves of `like`, got {} besides; restore into the "
                  "tree that was saved",
                  folder.string(), like.size(), leaf_text(leaf.path));
  return out;
}

class Restore {
 public:
  Restore(fs::path folder, CheckpointIndex index)
      : folder_(std::move(folder)), index_(std::move(index)) {}

  const CheckpointIndex& index() const { return index_; }
  const fs::path& folder() const { return folder_; }

  Array leaf(const SavedLeaf& saved, const Array& like) {
    check_slices(saved);
    slices_.assign(saved.slices.size(), std::nullopt);
    const auto part = [&](const ShardIndex& index) { return assemble(saved, index); };
    if (like.data()->kind == ArrayData::Kind::kHost) {
      ShardIndex whole;
      for (int64_t extent : saved.shape) whole.push_back({0, extent});
      return Array(std::make_shared<HostData>(part(whole), like.type()));
    }
    return Array(compile::placed_from_callback(saved.dtype, saved.shape, like.sharding(), part,
                                               like.weak_type()));
  }

 private:
  [[noreturn]] void damaged(const SavedLeaf& leaf, const std::string& file,
                            std::string_view what) const {
    io_error(kCheckpointRestoreOp,
             "expected {} in '{}' as it was saved, got {}; restore another step",
             leaf_text(leaf.path), (folder_ / file).string(), what);
  }

  void check_slices(const SavedLeaf& leaf) const {
    std::vector<const ShardIndex*> slices;
    for (const SavedSlice& slice : leaf.slices) {
      bool inside = slice.index.size() == leaf.shape.size();
      for (size_t d = 0; inside && d < slice.index.size(); ++d) {
        const IndexRange& range = slice.index[d];
        inside = 0 <= range.start && range.start <= range.stop && range.stop <= leaf.shape[d];
      }
      if (!inside) damaged(leaf, slice.file, "a slice that is outside of it");
      slices.push_back(&slice.index);
    }
    if (leaf.shape.elements() > 0 && !tile(slices, leaf.shape, 0))
      damaged(leaf, std::string(kIndexFile), "slices that leave gaps or overlap");
  }

  // Returns whether slices that agree in the dimensions before `d` are the cells of a grid, as
  // those of every sharding are.
  static bool tile(std::span<const ShardIndex*> slices, const Shape& shape, size_t d) {
    if (d == shape.size()) return slices.size() == 1;
    const auto range = [d](const ShardIndex* index) { return (*index)[d]; };
    std::sort(slices.begin(), slices.end(), [&](const ShardIndex* a, const ShardIndex* b) {
      return std::pair(range(a).start, range(a).stop) < std::pair(range(b).start, range(b).stop);
    });
    int64_t at = 0;
    for (size_t i = 0, end = 0; i < slices.size(); i = end) {
      const IndexRange here = range(slices[i]);
      while (end < slices.size() && range(slices[end]) == here) ++end;
      if (here.start != at || !tile(slices.subspan(i, end - i), shape, d + 1)) return false;
      at = here.stop;
    }
    return at == shape[d];
  }

  // Returns the part of a leaf at `index`, from the slices that overlap it.
  Literal assemble(const SavedLeaf& leaf, const ShardIndex& index) {
    for (size_t s = 0; s < leaf.slices.size(); ++s)
      if (leaf.slices[s].index == index) return slice(leaf, s);
    const Shape shape = shard_shape(index);
    Literal out(leaf.dtype, shape);
    if (out.elements() == 0) return out;
    const int64_t size = itemsize(leaf.dtype);
    const Dims to = byte_strides(shape, size);
    for (size_t s = 0; s < leaf.slices.size(); ++s) {
      const ShardIndex& have = leaf.slices[s].index;
      Shape overlap;
      int64_t dst = 0, src = 0;
      const Dims from = byte_strides(shard_shape(have), size);
      for (size_t d = 0; d < have.size(); ++d) {
        const int64_t start = std::max(have[d].start, index[d].start);
        overlap.push_back(std::max<int64_t>(std::min(have[d].stop, index[d].stop) - start, 0));
        dst += (start - index[d].start) * to[d];
        src += (start - have[d].start) * from[d];
      }
      if (overlap.elements() == 0) continue;
      copy_all(make_copy_pattern(overlap, to, from, size), out.mutable_raw() + dst,
               slice(leaf, s).raw() + src);
    }
    return out;
  }

  // Returns a slice, which is read once for each leaf.
  const Literal& slice(const SavedLeaf& leaf, size_t s) {
    std::optional<Literal>& out = slices_[s];
    if (out) return *out;
    const SavedSlice& slice = leaf.slices[s];
    const SafetensorsFile& file = open(leaf, slice.file);
    const auto entry = file.entries().find(slice.tensor);
    const Shape shape = stored_shape(leaf.dtype, slice.index);
    if (entry == file.entries().end() || entry->second.dtype != stored_dtype(leaf.dtype) ||
        entry->second.shape != shape)
      damaged(leaf, slice.file, "a file of other slices");
    const Literal stored = file.read(entry->second);
    const uint32_t sum = crc32c(stored.raw(), static_cast<size_t>(stored.bytes()));
    if (sum != slice.crc32c)
      damaged(leaf, slice.file,
              fmt::format("bytes with checksum {:08x} instead of {:08x}", sum, slice.crc32c));
    if (!is_complex(leaf.dtype)) return out.emplace(stored);
    out.emplace(leaf.dtype, shard_shape(slice.index));
    std::memcpy(out->mutable_raw(), stored.raw(), static_cast<size_t>(stored.bytes()));
    return *out;
  }

  static Shape shard_shape(const ShardIndex& index) {
    Shape out;
    for (const IndexRange& range : index) out.push_back(range.size());
    return out;
  }

  const SafetensorsFile& open(const SavedLeaf& leaf, const std::string& name) {
    const auto found = files_.find(name);
    if (found != files_.end()) return found->second;
    const auto saved = index_.files.find(name);
    if (saved == index_.files.end()) damaged(leaf, name, "a file that the index does not list");
    std::error_code error;
    const uintmax_t bytes = fs::file_size(folder_ / name, error);
    if (error) damaged(leaf, name, error.message());
    if (bytes != saved->second.bytes)
      damaged(leaf, name, fmt::format("{} bytes instead of {}", bytes, saved->second.bytes));
    SafetensorsFile file(kCheckpointRestoreOp, folder_ / name);
    if (file.header_crc32c() != saved->second.header_crc32c)
      damaged(leaf, name, "a header whose checksum differs");
    return files_.emplace(name, std::move(file)).first->second;
  }

  fs::path folder_;
  CheckpointIndex index_;
  std::map<std::string, SafetensorsFile> files_;
  std::vector<std::optional<Literal>> slices_;  // of the leaf that is being read
};

std::vector<Array> restore_leaves(Restore& restore, const std::vector<NamedLeaf>& like) {
  const std::vector<const SavedLeaf*> saved = match(restore.index(), like, restore.folder());
  std::vector<Array> out;
  for (size_t l = 0; l < like.size(); ++l) {
    try {
      out.push_back(restore.leaf(*saved[l], like[l].array));
    } catch (const UserError& error) {
      // Errors of files and shardings do not name leaves.
      const std::string leaf = leaf_text(like[l].path), what = error.what();
      if (what.find(leaf) != std::string::npos) throw;
      throw UserError(error.kind(), fmt::format("{} (restoring {})", what, leaf));
    }
  }
  return out;
}

}  // namespace

std::vector<Array> restore_checkpoint(const FilePath& path, const std::vector<NamedLeaf>& like,
                                      std::optional<int64_t> wanted) {
  const auto what = [&] {
    return fmt::format("restore_checkpoint of {} from '{}'",
                       wanted ? fmt::format("step {}", *wanted) : "the latest step", path.text());
  };
  const auto folder_of = [&](int64_t step) { return fs::path(path.text()) / step_name(step); };
  // Process 0 decides which step it is, and reads its index.
  const std::string found = cluster::joint_step(what, [&] {
    if (process_index() != 0) return std::string();
    const int64_t step = find_step(path.text(), wanted);
    return fmt::format("{} {}", step, read_index_text(folder_of(step) / kIndexFile));
  })[0];
  const size_t space = found.find(' ');
  const fs::path folder = folder_of(std::stoll(found.substr(0, space)));
  std::vector<Array> out;
  cluster::joint_step(what, [&] {
    Restore restore(folder, parse_index(folder / kIndexFile, found.substr(space + 1)));
    out = restore_leaves(restore, like);
    return std::string();
  });
  return out;
}

}  // namespace tessera::internal
