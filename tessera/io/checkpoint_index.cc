#include "tessera/io/checkpoint_index.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/cluster/joint_step.h"
#include "tessera/io/checkpoint.h"
#include "tessera/io/crc32c.h"
#include "tessera/io/file.h"
#include "tessera/ir/format.h"

namespace tessera {
namespace internal {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "tessera-checkpoint";
constexpr int kVersion = 1;
constexpr std::string_view kArrays = "arrays", kSuffix = ".safetensors";
constexpr int64_t kMaxDepth = 16;  // an index has six levels; nlohmann's dump() recurses

// Keys are sorted and numbers are integers, so equal objects have equal text.
uint32_t checksum(const Json& object) {
  const std::string text = object.dump();
  return crc32c(text.data(), text.size());
}

[[noreturn]] void damaged(const std::filesystem::path& file, std::string_view what) {
  io_error("restore_checkpoint",
           "expected '{}' to be the index of a checkpoint, got {}; restore another step",
           file.string(), what);
}

// Returns how deep brackets are nested, outside of strings.
int64_t nesting(std::string_view json) {
  int64_t depth = 0, most = 0;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      i += c == '\\';
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return most;
}

CheckpointIndex index_from_json(const std::filesystem::path& path, const Json& json) {
  CheckpointIndex out;
  json.at("step").get_to(out.step);
  for (const auto& [name, file] : json.at("files").items()) {
    if (name.find('/') != std::string::npos || name == ".." || name == "." || name.empty())
      damaged(path, fmt::format("one that names '{}', a file that is not in its folder", name));
    out.files[name] = {file.at("bytes").get<uint64_t>(), file.at("header_crc32c").get<uint32_t>()};
  }
  for (const Json& leaf : json.at("leaves")) {
    SavedLeaf& saved = out.leaves.emplace_back();
    leaf.at("path").get_to(saved.path);
    const auto dtype = leaf.at("dtype").get<std::string>();
    try {
      saved.dtype = dtype_from_name(dtype);
    } catch (const UserError&) {
      damaged(path, fmt::format("one that names the unknown dtype '{}'", dtype));
    }
    for (const Json& extent : leaf.at("shape")) saved.shape.push_back(extent.get<int64_t>());
    for (const Json& slice : leaf.at("slices")) {
      SavedSlice& part = saved.slices.emplace_back();
      for (const Json& range : slice.at("index"))
        part.index.push_back({range.at(0).get<int64_t>(), range.at(1).get<int64_t>()});
      slice.at("file").get_to(part.file);
      slice.at("tensor").get_to(part.tensor);
      slice.at("crc32c").get_to(part.crc32c);
    }
  }
  return out;
}

}  // namespace

std::string to_json(const CheckpointIndex& index) {
  Json files = Json::object(), leaves = Json::array();
  for (const auto& [name, file] : index.files)
    files[name] = {{"bytes", file.bytes}, {"header_crc32c", file.header_crc32c}};
  for (const SavedLeaf& leaf : index.leaves) {
    Json slices = Json::array();
    for (const SavedSlice& slice : leaf.slices) {
      Json ranges = Json::array();
      for (const IndexRange& range : slice.index)
        ranges.push_back(Json::array({range.start, range.stop}));
      slices.push_back({{"index", std::move(ranges)},
                        {"file", slice.file},
                        {"tensor", slice.tensor},
                        {"crc32c", slice.crc32c}});
    }
    Json shape = Json::array();
    for (int64_t extent : leaf.shape) shape.push_back(extent);
    leaves.push_back({{"path", leaf.path},
                      {"dtype", dtype_name(leaf.dtype)},
                      {"shape", std::move(shape)},
                      {"slices", std::move(slices)}});
  }
  Json out{{"format", kFormat},
           {"version", kVersion},
           {"step", index.step},
           {"files", std::move(files)},
           {"leaves", std::move(leaves)}};
  out["crc32c"] = checksum(out);
  return out.dump(1) + "\n";
}

std::string read_index_text(const std::filesystem::path& file) {
  const PlainFile in = open_plain("restore_checkpoint", file);
  std::string text(in.bytes, '\0');
  read_at(in.file.fd(), text.data(), text.size(), 0, "restore_checkpoint", file);
  return text;
}

CheckpointIndex parse_index(const std::filesystem::path& file, const std::string& text) {
  if (nesting(text) > kMaxDepth) damaged(file, "a file that is damaged or no index");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("crc32c") || !json.contains("format") ||
      json["format"] != kFormat)
    damaged(file, "a file that is damaged or no index");
  if (!json.contains("version") || json["version"] != kVersion)
    damaged(file, fmt::format("version {} of the format ({} is known)",
                              json.value("version", Json()).dump(), kVersion));
  const Json sum = std::move(json["crc32c"]);
  json.erase("crc32c");
  if (sum != checksum(json)) damaged(file, "a file whose checksum differs");
  try {
    return index_from_json(file, json);
  } catch (const Json::exception& error) {
    damaged(file, fmt::format("a file without what it must have ({})", error.what()));
  }
}

DType stored_dtype(DType dtype) { return real_dtype(dtype); }
Shape stored_shape(DType dtype, const ShardIndex& index) {
  Shape out;
  for (const IndexRange& range : index) out.push_back(range.size());
  if (is_complex(dtype)) out.push_back(2);
  return out;
}

std::string step_name(int64_t step) { return fmt::format("step_{:08}", step); }

std::optional<int64_t> step_of_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  if (step < 0 || name != step_name(step)) return std::nullopt;
  return step;
}

bool is_leftover(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const std::string name = folder.filename().string();
  if (!name.starts_with(kTemporary) ||
      !step_of_name(std::string_view(name).substr(kTemporary.size())))
    return false;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error))) return false;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    const bool own = file == kIndexFile || (file.starts_with(kArrays) && file.ends_with(kSuffix));
    if (!own || !fs::is_regular_file(entry->symlink_status(error))) return false;
  }
  return !error;
}

std::vector<int64_t> steps_in(const std::filesystem::path& folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory) return steps;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::optional<int64_t> step = step_of_name(entries->path().filename().string());
    std::error_code gone;
    if (step && entries->is_directory(gone)) steps.push_back(*step);
  }
  if (error)
    io_error("all_steps", "expected '{}' to be a folder of checkpoints, got: {}; check the path",
             folder.string(), error.message());
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string leaf_text(const std::string& path) {
  return path.empty() ? "the only leaf" : fmt::format("leaf '{}'", path);
}

}  // namespace internal

std::vector<int64_t> all_steps(const FilePath& path) {
  // Processes may see changes of a shared folder at different times.
  const std::string told = cluster::joint_step(
      [&] { return fmt::format("all_steps of '{}'", path.text()); },
      [&] {
        if (process_index() != 0) return std::string();
        return fmt::format("{}", fmt::join(internal::steps_in(path.text()), " "));
      })[0];
  std::vector<int64_t> steps;
  for (const char *at = told.data(), *end = at + told.size(); at < end; ++at)
    at = std::from_chars(at, end, steps.emplace_back()).ptr;
  return steps;
}

std::optional<int64_t> latest_step(const FilePath& path) {
  const std::vector<int64_t> steps = all_steps(path);
  if (steps.empty()) return std::nullopt;
  return steps.back();
}

}  // namespace tessera
