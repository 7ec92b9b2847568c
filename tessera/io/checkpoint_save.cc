#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "tessera/base/warning.h"
#include "tessera/cluster/joint_step.h"
#include "tessera/compile/place.h"
#include "tessera/io/checkpoint.h"
#include "tessera/io/checkpoint_plan.h"
#include "tessera/io/crc32c.h"
#include "tessera/io/file.h"
#include "tessera/ir/format.h"
#include "tessera/runtime/copy.h"

namespace tessera::internal {

using namespace runtime;

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kSaveOp = "save_checkpoint";

[[noreturn]] void failed(const fs::path& path, int error) {
  io_error(kSaveOp,
           "expected to write '{}', got: {}; check that it is a folder, writable and has space",
           path.string(), error_text(error));
}

// Throws UserError for every error that a tree can have, before anything is written.
void check_leaves(const std::vector<NamedLeaf>& leaves) {
  std::set<std::string_view> paths;
  for (const auto& [path, array] : leaves) {
    const std::string leaf = leaf_text(path);
    if (!paths.insert(path).second)
      value_error(kSaveOp,
                  "expected leaves of different paths, got two of {}; rename keys of the map",
                  leaf);
    if (!array.defined())
      value_error(kSaveOp,
                  "expected {} to be an array, got none; set it or make it an std::optional", leaf);
    if (array.is_tracer())
      trace_error(kSaveOp, "expected {} to have data, got the traced {}; save outside of jit", leaf,
                  describe(array.type()));
    if (array.data()->kind == ArrayData::Kind::kAbstract)
      value_error(kSaveOp, "expected {} to have data, got the abstract {}; initialise it first",
                  leaf, describe(array.type()));
    if (compile::is_deleted(array))
      value_error(kSaveOp,
                  "expected {} to have data, got {} that was donated; save what the program gave "
                  "back for it",
                  leaf, describe(array.type()));
  }
}

// One save, step by step. If it fails, `path` is unchanged. In a cluster every process has one, and
// its steps are joint: a failure in one process is a failure in all.
class Save {
 public:
  Save(const fs::path& path, int64_t step, const std::vector<NamedLeaf>& leaves,
       const SaveOptions& options, uint64_t max_header)
      : path_(path), step_(step), leaves_(leaves), options_(options), max_header_(max_header) {
    temporary_ = path_ / fmt::format("{}{}", kTemporary, step_name(step_));
    place_ = path_ / step_name(step_);
  }

  void run() {
    expect_same_tree();
    // There is nothing to agree on: all processes make the same plan.
    plan_ = plan_save(step_, leaves_, options_, max_header_, processes_ != nullptr);
    joint([&] {
      if (is_first()) begin();
      return std::string();
    });
    try {
      const std::vector<std::string> written = joint([&] { return write_files(); });
      joint([&] {
        if (is_first()) commit(written);
        return std::string();
      });
    } catch (...) {
      std::error_code ignored;
      if (is_first()) fs::remove_all(temporary_, ignored);
      throw;
    }
  }

 private:
  // Returns whether this process writes the index and names the step.
  bool is_first() const { return !processes_ || processes_->index() == 0; }
  std::vector<std::string> joint(const std::function<std::string()>& part) {
    return cluster::joint_step(
        [&] { return fmt::format("save_checkpoint of step {} to '{}'", step_, path_.string()); },
        part);
  }

  void check() const {
    if (step_ < 0)
      value_error(kSaveOp, "expected a step of 0 or more, got {}; count from 0", step_);
    if (options_.keep < 0)
      value_error(kSaveOp, "expected to keep 1 step or more (0: all), got {}; change .keep",
                  options_.keep);
    check_leaves(leaves_);
  }

  void expect_same_tree() {
    std::string text;
    const std::vector<std::string> hashes = joint([&] {
      check();
      if (processes_) text = describe_for_all(leaves_);
      return fmt::format("{:x}", std::hash<std::string>()(text));
    });
    if (std::equal(hashes.begin() + 1, hashes.end(), hashes.begin())) return;
    const std::vector<std::string> texts = joint([&] { return text; });
    if (const auto different = cluster::different_line(texts))
      value_error(kSaveOp,
                  "expected one tree in all processes, got {} in process 0 and {} in process {}; "
                  "what each process has of its own must be equal (broadcast_one_to_all), or be "
                  "put together (process_allgather, make_array_from_process_local_data)",
                  different->first, different->other, different->process);
  }

  void begin() {
    lock();
    std::error_code absent;
    if (fs::exists(place_, absent))
      value_error(kSaveOp,
                  "expected a step that '{}' does not have, got {}; choose another or remove {}",
                  path_.string(), step_, place_.string());
    if (locked_) remove_leftovers();
    make_temporary();
  }

  // Without the lock, two saves at once would take each other's files for leftovers.
  void lock() {
    std::error_code error, unknown;
    if (fs::create_directories(path_, error))
      flush_folder(fs::absolute(path_, unknown).parent_path());
    if (error) failed(path_, error.value());
    lock_ = File(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock_.fd() < 0) failed(path_, errno);
    locked_ = ::flock(lock_.fd(), LOCK_EX | LOCK_NB) == 0;
    if (!locked_ && errno == EWOULDBLOCK)
      io_error(kSaveOp,
               "expected no other save to be writing to '{}', got one; wait for it, or give each "
               "run a folder of its own",
               path_.string());
  }

  // Removes the files that killed saves left. The process that holds the lock is the only one that
  // writes here. Folders with other names or other files are the user's.
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
    io_error(kSaveOp,
             "expected no '{}', where the step is written first, got one that {}; remove or rename "
             "it",
             temporary_.string(),
             locked_ ? "holds other files than a save" : "another save may be writing");
  }

  // Writes the files of this process to the disk. The first process gets the sizes and checksums of
  // each file, then of each slice in it.
  std::string write_files() {
    std::string out;
    for (FilePlan& file : plan_.files)
      if (!processes_ || file.writer == processes_->index()) write_file(file, out);
    flush_folder(temporary_);
    return out;
  }

  void write_file(FilePlan& plan, std::string& out) {
    const fs::path path = temporary_ / plan.name;
    const std::string header = safetensors_header(kSaveOp, plan.entries, max_header_);
    SavedFile saved{header.size(), crc32c(header.data(), header.size())};
    for (const SafetensorsEntry& entry : plan.entries) saved.bytes += entry.bytes();
    append(out, saved.bytes);
    append(out, saved.header_crc32c);
    File file = create(plan.name);
    write_all(file.fd(), header.data(), header.size(), kSaveOp, path);
    for (size_t p : plan.pieces) {
      const SavedPiece& piece = plan_.pieces[p];
      const SavedLeaf& leaf = plan_.index.leaves[piece.leaf];
      const Literal data = piece_data(leaves_[piece.leaf].array, piece.instance);
      const auto bytes = static_cast<size_t>(data.bytes());
      append(out, crc32c(data.raw(), bytes));
      TESSERA_CHECK(data.elements() * (is_complex(leaf.dtype) ? 2 : 1) ==
                    stored_shape(leaf.dtype, plan_.slice(piece).index).elements());
      write_all(file.fd(), data.raw(), bytes, kSaveOp, path);
    }
    finish(file, plan.name);
  }

  template <class T>
  static void append(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  static void take(const std::string& from, size_t& at, T& value) {
    TESSERA_CHECK(at + sizeof value <= from.size());
    std::memcpy(&value, from.data() + at, sizeof value);
    at += sizeof value;
  }

  // This is called when all processes have written. `written` has each process's report of its
  // files.
  void commit(const std::vector<std::string>& written) {
    std::vector<size_t> at(written.size());
    for (const FilePlan& file : plan_.files) {
      const auto w = static_cast<size_t>(file.writer);
      SavedFile& saved = plan_.index.files[file.name];
      take(written[w], at[w], saved.bytes);
      take(written[w], at[w], saved.header_crc32c);
      for (size_t p : file.pieces) take(written[w], at[w], plan_.slice(plan_.pieces[p]).crc32c);
      if (!processes_) continue;
      const uint64_t bytes = open_plain(kSaveOp, temporary_ / file.name).bytes;
      if (bytes != saved.bytes)
        io_error(kSaveOp,
                 "expected '{}' to have the {} bytes that process {} wrote, got {}; checkpoints of "
                 "several processes need a folder that all of them see",
                 (temporary_ / file.name).string(), saved.bytes, w, bytes);
    }
    const std::string text = to_json(plan_.index);
    File index = create(std::string(kIndexFile));
    write_all(index.fd(), text.data(), text.size(), kSaveOp, temporary_ / kIndexFile);
    finish(index, std::string(kIndexFile));
    flush_folder(temporary_);
    if (::rename(temporary_.c_str(), place_.c_str()) != 0) failed(place_, errno);
    flush_folder(path_);
    remove_old();
  }

  // Returns the data of an instance without padding.
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
    if (out.fd() < 0 && errno == ENOENT && !is_first())
      io_error(kSaveOp,
               "expected to see '{}', which process 0 has made, got: {}; checkpoints of several "
               "processes need a folder that all of them see",
               temporary_.string(), error_text(errno));
    if (out.fd() < 0) failed(file, errno);
    return out;
  }
  void finish(File& file, const std::string& name) {
    if (::fsync(file.fd()) != 0 || file.close() != 0) failed(temporary_ / name, errno);
  }

  // The new step is complete by now, so an error here is no failure of the save.
  void remove_old() {
    if (options_.keep == 0) return;
    std::vector<int64_t> steps = steps_in(path_);
    std::erase_if(steps, [&](int64_t step) { return step > step_; });
    for (int64_t i = 0; i + options_.keep < static_cast<int64_t>(steps.size()); ++i) {
      const std::string name = step_name(steps[static_cast<size_t>(i)]);
      const fs::path gone = path_ / fmt::format("{}{}", kTemporary, name);
      std::error_code error;
      fs::rename(path_ / name, gone, error);  // so a step that is partly removed never has its name
      if (!error) fs::remove_all(gone, error);
      if (error)
        warn(fmt::format("save_checkpoint: cannot remove the old '{}': {}", (path_ / name).string(),
                         error.message()));
    }
  }

  cluster::Processes* const processes_ = cluster::Processes::current();
  const fs::path path_;
  const int64_t step_;
  const std::vector<NamedLeaf>& leaves_;
  const SaveOptions& options_;
  const uint64_t max_header_;
  fs::path temporary_, place_;
  SavePlan plan_;
  File lock_;
  bool locked_ = false;  // some file systems have no locks
};

}  // namespace

void save_checkpoint(const FilePath& path, int64_t step, const std::vector<NamedLeaf>& leaves,
                     const SaveOptions& options, std::optional<uint64_t> max_header) {
  std::vector<NamedLeaf> here = leaves;
  for (NamedLeaf& leaf : here)
    if (leaf.array.defined() && runtime::device_data(*leaf.array.data()) &&
        !compile::is_deleted(leaf.array))
      leaf.array = Array(compile::in_memory(leaf.array));
  Save(path.text(), step, here, options, max_header.value_or(kMaxSafetensorsHeader)).run();
}

}  // namespace tessera::internal
