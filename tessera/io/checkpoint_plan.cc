#include "tessera/io/checkpoint_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tessera/base/hash.h"
#include "tessera/io/crc32c.h"
#include "tessera/ir/format.h"

namespace tessera::internal {

using namespace runtime;

namespace {

constexpr int64_t kMaxFiles = 16;      // unless headers need more
constexpr size_t kListedDevices = 64;  // if there are more, a hash tells them apart

// Wide elements come first, so that every array of a file is aligned.
int64_t width(const SavePlan& plan, const SavedPiece& piece) {
  return itemsize(stored_dtype(plan.index.leaves[piece.leaf].dtype));
}

void plan_leaf(SavePlan& plan, const NamedLeaf& leaf) {
  const size_t l = plan.index.leaves.size();
  SavedLeaf& saved = plan.index.leaves.emplace_back();
  saved = {leaf.path, leaf.array.dtype(), leaf.array.shape(), {}};
  const auto add = [&](ShardIndex index, int64_t instance, int64_t holder, int writer) {
    // If the shards do not divide a dimension, those beyond its end are empty.
    if (std::any_of(index.begin(), index.end(), [](auto r) { return r.size() == 0; })) return;
    plan.pieces.push_back({l, saved.slices.size(), instance, holder, writer});
    saved.slices.push_back({std::move(index), {}, {}, 0});
  };
  const DeviceArray* data = on_devices(leaf.array);
  if (!data) {
    ShardIndex whole;
    for (int64_t extent : saved.shape) whole.push_back({0, extent});
    add(std::move(whole), 0, 0, 0);
    return;
  }
  const ArrayLayout& layout = *data->layout();
  std::vector<bool> seen(static_cast<size_t>(layout.instances));
  for (size_t p = 0; p < layout.device_instances.size(); ++p) {
    const auto instance = static_cast<size_t>(layout.device_instances[p]);
    if (seen[instance]) continue;
    seen[instance] = true;
    const auto i = static_cast<int64_t>(instance);
    add(layout.index(i), i, static_cast<int64_t>(p),
        layout.holders.empty() ? 0 : layout.holders[instance].front());
  }
}

// Plans the piece for file `f`, or for a new one if the header of that is full.
void plan_piece(SavePlan& plan, size_t p, uint64_t max_header, size_t& f) {
  const SavedPiece& piece = plan.pieces[p];
  const SavedLeaf& leaf = plan.index.leaves[piece.leaf];
  SavedSlice& slice = plan.slice(piece);
  // Paths never end as these names do.
  slice.tensor = leaf.slices.size() == 1
                     ? leaf.path
                     : fmt::format("{}@{}", leaf.path, fmt::join(slice.index, ","));
  SafetensorsEntry entry{slice.tensor, stored_dtype(leaf.dtype),
                         stored_shape(leaf.dtype, slice.index)};
  const uint64_t bytes = safetensors_entry_bytes(entry);
  if (!plan.files[f].entries.empty() && plan.files[f].header_bytes + bytes > max_header) {
    f = plan.files.size();
    plan.files.emplace_back();
  }
  FilePlan& file = plan.files[f];
  file.writer = piece.writer;
  file.header_bytes += bytes;
  file.entries.push_back(std::move(entry));
  file.pieces.push_back(p);
}

// Returns the number of each piece's group of files, counted from 0.
std::vector<size_t> groups(const SavePlan& plan, int64_t bytes, const SaveOptions& options,
                           bool one_a_process) {
  std::vector<size_t> out;
  if (one_a_process) {
    std::set<int> writers;
    for (const SavedPiece& piece : plan.pieces) writers.insert(piece.writer);
    for (const SavedPiece& piece : plan.pieces)
      out.push_back(
          static_cast<size_t>(std::distance(writers.begin(), writers.find(piece.writer))));
    return out;
  }
  int64_t holders = 1;
  for (const SavedPiece& piece : plan.pieces) holders = std::max(holders, piece.holder + 1);
  const int64_t count = bytes <= options.single_file_bytes ? 1 : std::min(holders, kMaxFiles);
  for (const SavedPiece& piece : plan.pieces)
    out.push_back(static_cast<size_t>(piece.holder * count / holders));
  return out;
}

}  // namespace

const DeviceArray* on_devices(const Array& x) {
  return dynamic_cast<const DeviceArray*>(x.data().get());
}

SavePlan plan_save(int64_t step, const std::vector<NamedLeaf>& leaves, const SaveOptions& options,
                   uint64_t max_header, bool one_a_process) {
  SavePlan plan;
  plan.index.step = step;
  int64_t bytes = 0;
  for (const NamedLeaf& leaf : leaves) {
    plan_leaf(plan, leaf);
    bytes += leaf.array.size() * itemsize(leaf.array.dtype());
  }
  std::stable_sort(
      plan.pieces.begin(), plan.pieces.end(),
      [&](const SavedPiece& a, const SavedPiece& b) { return width(plan, a) > width(plan, b); });
  const std::vector<size_t> group = groups(plan, bytes, options, one_a_process);
  const size_t count = group.empty() ? 1 : *std::max_element(group.begin(), group.end()) + 1;
  plan.files.resize(count);
  std::vector<size_t> open(count);  // the file of each group that still has room
  std::iota(open.begin(), open.end(), 0);
  for (size_t p = 0; p < plan.pieces.size(); ++p) plan_piece(plan, p, max_header, open[group[p]]);
  for (size_t f = 0; f < plan.files.size(); ++f) {
    FilePlan& file = plan.files[f];
    file.name = plan.files.size() == 1
                    ? "arrays.safetensors"
                    : fmt::format("arrays-{:05}-of-{:05}.safetensors", f + 1, plan.files.size());
    for (size_t p : file.pieces) plan.slice(plan.pieces[p]).file = file.name;
  }
  return plan;
}

std::string describe_for_all(const std::vector<NamedLeaf>& leaves) {
  std::string out;
  for (const auto& [path, array] : leaves) {
    out += fmt::format("{} {}", leaf_text(path), describe(array.type()));
    if (const Sharding sharding = array.sharding(); on_devices(array) && sharding.is_named()) {
      const std::vector<int64_t> ids = sharding.device_ids();
      out += ids.size() <= kListedDevices
                 ? fmt::format(" on {} of devices {}\n", sharding, fmt::join(ids, ", "))
                 : fmt::format(" on {} of {} devices ({:x})\n", sharding, ids.size(),
                               boost::hash_value(ids));
    } else {
      const Literal data = array.to_host();
      out += fmt::format(" of its own with checksum {:08x}\n",
                         crc32c(data.raw(), static_cast<size_t>(data.bytes())));
    }
  }
  return out;
}

}  // namespace tessera::internal
