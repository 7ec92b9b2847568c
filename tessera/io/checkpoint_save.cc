#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <set>

#include "tessera/base/warning.h"
#include "tessera/io/checkpoint.h"
#include "tessera/io/checkpoint_index.h"
#include "tessera/io/crc32c.h"
#include "tessera/io/safetensors.h"
#include "tessera/ir/format.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/device_array.h"

namespace tessera::internal {

using namespace runtime;

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kOp = "save_checkpoint";
constexpr int64_t kMaxFiles = 16;  // unless headers ask for more

[[noreturn]] void failed(const fs::path& path, int error) {
  io_error(kOp,
           "expected to write '{}', got: {}; check that it is a folder, writable and has space",
           path.string(), error_text(error));
}

const DeviceArray* on_devices(const Array& x) {
  return x.data()->kind == ArrayData::Kind::kDevice
             ? static_cast<const DeviceArray*>(x.data().get())
             : nullptr;
}

// Everything that can be wrong with a tree, before anything is written.
void check_leaves(const std::vector<NamedLeaf>& leaves) {
  std::set<std::string_view> paths;
  for (const auto& [path, array] : leaves) {
    const std::string leaf = leaf_text(path);
    if (!paths.insert(path).second)
      value_error(kOp, "expected leaves of different paths, got two of {}; rename keys of the map",
                  leaf);
    if (!array.defined())
      value_error(kOp, "expected {} to be an array, got none; set it or make it an std::optional",
                  leaf);
    if (array.is_tracer())
      trace_error(kOp, "expected {} to have data, got the traced {}; save outside of jit", leaf,
                  describe(array.type()));
    if (array.data()->kind == ArrayData::Kind::kAbstract)
      value_error(kOp, "expected {} to have data, got the abstract {}; initialise it first", leaf,
                  describe(array.type()));
    if (const DeviceArray* data = on_devices(array); data && data->is_deleted())
      value_error(kOp,
                  "expected {} to have data, got {} that was donated; save what the program gave "
                  "back for it",
                  leaf, describe(array.type()));
  }
}

// A slice to write: where it lies in memory, and in which file it goes.
struct Piece {
  size_t leaf = 0, slice = 0;  // of the index
  int64_t instance = 0;        // of the array
  int64_t holder = 0;          // position in the mesh of the first device that holds it
};

struct FilePlan {
  std::string name, header;
  std::vector<SafetensorsEntry> entries;
  std::vector<size_t> pieces;  // one an entry
  uint64_t header_bytes = 0;   // at most
};

// One save, step by step; what fails leaves `path` as it was.
class Save {
 public:
  Save(const fs::path& path, int64_t step, const std::vector<NamedLeaf>& leaves,
       const SaveOptions& options, uint64_t max_header)
      : path_(path), leaves_(leaves), options_(options), max_header_(max_header) {
    index_.step = step;
    temporary_ = path_ / fmt::format("{}{}", kTemporary, step_name(step));
  }

  void run() {
    plan_slices();
    plan_files();
    lock();
    const fs::path place = path_ / step_name(index_.step);
    std::error_code absent;
    if (fs::exists(place, absent))
      value_error(kOp,
                  "expected a step that '{}' does not have, got {}; choose another or remove {}",
                  path_.string(), index_.step, place.string());
    if (locked_) remove_leftovers();
    make_temporary();
    try {
      write();
      if (::rename(temporary_.c_str(), place.c_str()) != 0) failed(place, errno);
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(temporary_, ignored);
      throw;
    }
    flush_folder(path_);
    remove_old();
  }

 private:
  // Wide elements first, so that every array of a file is aligned.
  void plan_slices() {
    for (size_t l = 0; l < leaves_.size(); ++l) {
      const Array& array = leaves_[l].array;
      SavedLeaf& saved = index_.leaves.emplace_back();
      saved = {leaves_[l].path, array.dtype(), array.shape(), {}};
      const auto add = [&](ShardIndex index, int64_t instance, int64_t holder) {
        // Beyond the end of a dimension that does not divide, shards are empty.
        if (std::any_of(index.begin(), index.end(), [](auto r) { return r.size() == 0; })) return;
        pieces_.push_back({l, saved.slices.size(), instance, holder});
        saved.slices.push_back({std::move(index), {}, {}, 0});
      };
      if (const DeviceArray* data = on_devices(array)) {
        const ArrayLayout& layout = *data->layout();
        std::vector<bool> seen(static_cast<size_t>(layout.instances));
        for (size_t p = 0; p < layout.device_instances.size(); ++p) {
          const auto instance = static_cast<size_t>(layout.device_instances[p]);
          if (seen[instance]) continue;
          seen[instance] = true;
          const auto i = static_cast<int64_t>(instance);
          add(layout.index(i), i, static_cast<int64_t>(p));
        }
      } else {
        ShardIndex whole;
        for (int64_t extent : array.shape()) whole.push_back({0, extent});
        add(std::move(whole), 0, 0);
      }
    }
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [&](const Piece& a, const Piece& b) { return width(a) > width(b); });
  }

  int64_t width(const Piece& piece) const {
    return itemsize(stored_dtype(index_.leaves[piece.leaf].dtype));
  }

  void plan_files() {
    int64_t bytes = 0, holders = 1;
    for (const auto& leaf : leaves_) bytes += leaf.array.size() * itemsize(leaf.array.dtype());
    for (const Piece& piece : pieces_) holders = std::max(holders, piece.holder + 1);
    const int64_t count = bytes <= options_.single_file_bytes ? 1 : std::min(holders, kMaxFiles);
    files_.resize(static_cast<size_t>(count));
    std::vector<size_t> open(files_.size());  // which file of a group is still being filled
    std::iota(open.begin(), open.end(), 0);
    for (size_t p = 0; p < pieces_.size(); ++p)
      plan_piece(p, open[static_cast<size_t>(pieces_[p].holder * count / holders)]);
    for (size_t f = 0; f < files_.size(); ++f) {
      FilePlan& file = files_[f];
      file.name = files_.size() == 1
                      ? "arrays.safetensors"
                      : fmt::format("arrays-{:05}-of-{:05}.safetensors", f + 1, files_.size());
      for (size_t p : file.pieces) slice_of(pieces_[p]).file = file.name;
      file.header = safetensors_header(kOp, file.entries, max_header_);
    }
  }

  // Into file `f`, or a new one if the header of that is full.
  void plan_piece(size_t p, size_t& f) {
    const Piece& piece = pieces_[p];
    const SavedLeaf& leaf = index_.leaves[piece.leaf];
    SavedSlice& slice = slice_of(piece);
    // No path ends as these names do.
    slice.tensor = leaf.slices.size() == 1
                       ? leaf.path
                       : fmt::format("{}@{}", leaf.path, fmt::join(slice.index, ","));
    SafetensorsEntry entry{slice.tensor, stored_dtype(leaf.dtype),
                           stored_shape(leaf.dtype, slice.index)};
    const uint64_t bytes = safetensors_entry_bytes(entry);
    if (!files_[f].entries.empty() && files_[f].header_bytes + bytes > max_header_) {
      f = files_.size();
      files_.emplace_back();
    }
    files_[f].header_bytes += bytes;
    files_[f].entries.push_back(std::move(entry));
    files_[f].pieces.push_back(p);
  }

  SavedSlice& slice_of(const Piece& piece) { return index_.leaves[piece.leaf].slices[piece.slice]; }

  // Two saves at once would take each other's files for leftovers.
  void lock() {
    std::error_code error, unknown;
    if (fs::create_directories(path_, error))
      flush_folder(fs::absolute(path_, unknown).parent_path());
    if (error) failed(path_, error.value());
    lock_ = File(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock_.fd() < 0) failed(path_, errno);
    locked_ = ::flock(lock_.fd(), LOCK_EX | LOCK_NB) == 0;
    if (!locked_ && errno == EWOULDBLOCK)
      io_error(kOp,
               "expected no other save to be writing to '{}', got one; wait for it, or give each "
               "run a folder of its own",
               path_.string());
  }

  // Of saves that were killed: whoever holds the lock is the only one that writes here. What has
  // other names or holds other files is the user's.
  void remove_leftovers() {
    std::vector<fs::path> left;
    std::error_code error;
    for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
         entry.increment(error))
      if (is_leftover(entry->path())) left.push_back(entry->path());
    for (const fs::path& folder : left) {
      fs::remove_all(folder, error);
      if (error) failed(folder, error.value());
    }
  }

  void make_temporary() {
    if (::mkdir(temporary_.c_str(), 0777) == 0) return;
    if (errno != EEXIST) failed(temporary_, errno);
    io_error(kOp,
             "expected no '{}', where the step is written first, got one that {}; remove or rename "
             "it",
             temporary_.string(),
             locked_ ? "holds other files than a save" : "another save may be writing");
  }

  void write() {
    for (FilePlan& file : files_) write_file(file);
    const std::string text = to_json(index_);
    File index = create(std::string(kIndexFile));
    write_all(index.fd(), text.data(), text.size(), kOp, temporary_ / kIndexFile);
    finish(index, std::string(kIndexFile));
    flush_folder(temporary_);
  }

  void write_file(FilePlan& plan) {
    const fs::path path = temporary_ / plan.name;
    File file = create(plan.name);
    write_all(file.fd(), plan.header.data(), plan.header.size(), kOp, path);
    SavedFile& saved = index_.files[plan.name];
    saved = {plan.header.size(), crc32c(plan.header.data(), plan.header.size())};
    for (const SafetensorsEntry& entry : plan.entries) saved.bytes += entry.bytes();
    for (size_t p : plan.pieces) {
      const Piece& piece = pieces_[p];
      const SavedLeaf& leaf = index_.leaves[piece.leaf];
      SavedSlice& slice = slice_of(piece);
      const Literal data = piece_data(leaves_[piece.leaf].array, piece.instance);
      const auto bytes = static_cast<size_t>(data.bytes());
      slice.crc32c = crc32c(data.raw(), bytes);
      TESSERA_CHECK(data.elements() * (is_complex(leaf.dtype) ? 2 : 1) ==
                    stored_shape(leaf.dtype, slice.index).elements());
      write_all(file.fd(), data.raw(), bytes, kOp, path);
    }
    finish(file, plan.name);
  }

  // Without padding.
  static Literal piece_data(const Array& array, int64_t instance) {
    const DeviceArray* data = on_devices(array);
    if (!data) return array.to_host();
    const ArrayUse use(*data);
    const ArrayLayout& layout = *data->layout();
    Shape shape;
    for (const IndexRange& range : layout.index(instance)) shape.push_back(range.size());
    const int64_t size = itemsize(layout.dtype);
    Literal out(layout.dtype, shape);
    copy_all(
        make_copy_pattern(shape, byte_strides(shape, size), byte_strides(layout.local, size), size),
        out.mutable_raw(), data->instance(instance));
    return out;
  }

  File create(const std::string& name) {
    const fs::path file = temporary_ / name;
    File out(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (out.fd() < 0) failed(file, errno);
    return out;
  }
  void finish(File& file, const std::string& name) {
    if (::fsync(file.fd()) != 0 || file.close() != 0) failed(temporary_ / name, errno);
  }

  // The new step is safe by now, so what fails here is no failure of the save.
  void remove_old() {
    if (options_.keep == 0) return;
    std::vector<int64_t> steps = all_steps(path_);
    std::erase_if(steps, [&](int64_t step) { return step > index_.step; });
    for (int64_t i = 0; i + options_.keep < static_cast<int64_t>(steps.size()); ++i) {
      const std::string name = step_name(steps[static_cast<size_t>(i)]);
      const fs::path gone = path_ / fmt::format("{}{}", kTemporary, name);
      std::error_code error;
      fs::rename(path_ / name, gone, error);  // never half a step under its name
      if (!error) fs::remove_all(gone, error);
      if (error)
        warn(fmt::format("save_checkpoint: cannot remove the old '{}': {}", (path_ / name).string(),
                         error.message()));
    }
  }

  const fs::path path_;
  const std::vector<NamedLeaf>& leaves_;
  const SaveOptions& options_;
  const uint64_t max_header_;
  fs::path temporary_;
  CheckpointIndex index_;
  std::vector<Piece> pieces_;
  std::vector<FilePlan> files_;
  File lock_;
  bool locked_ = false;  // some file systems have no locks
};

}  // namespace

void save_checkpoint(const FilePath& path, int64_t step, const std::vector<NamedLeaf>& leaves,
                     const SaveOptions& options, std::optional<uint64_t> max_header) {
  if (step < 0) value_error(kOp, "expected a step of 0 or more, got {}; count from 0", step);
  if (options.keep < 0)
    value_error(kOp, "expected to keep 1 step or more (0: all), got {}; change .keep",
                options.keep);
  check_leaves(leaves);
  Save(path.text(), step, leaves, options, max_header.value_or(kMaxSafetensorsHeader)).run();
}

}  // namespace tessera::internal
