#include "plugin/op_sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plugin/error.h"
#include "plugin/wire.h"
#include "tessera/ir/format.h"
#include "tessera/sharding/atoms.h"

namespace tessera::plugin {
namespace {

constexpr const char* kMessage = "sharding";

// The field numbers of OpSharding, and the values of its type.
enum Field : int {
  kType = 1,
  kTileExtents = 3,
  kTileDevices = 4,
  kTupleParts = 5,
  kLastIsReplicated = 6,
  kLastKinds = 8,
  kIotaExtents = 9,
  kIotaOrder = 10,
};
constexpr int64_t kCopies = 0;  // a kind of the last dimension: devices along it hold copies

std::vector<int64_t> coordinates(int64_t index, std::span<const int64_t> extents) {
  std::vector<int64_t> out(extents.size());
  for (size_t d = extents.size(); d-- > 0; index /= extents[d]) out[d] = index % extents[d];
  return out;
}

struct Message {
  uint64_t type = kReplicated;
  std::vector<int64_t> extents, devices, last_kinds, iota_extents, iota_order;
  bool last_is_replicated = false;
  std::vector<std::string> parts;

  explicit Message(std::string_view bytes) {
    MessageReader in(bytes, kMessage);
    while (const auto field = in.next()) {
      const auto integers = [&](std::vector<int64_t>& to) {
        if (field->bytes.empty()) {
          to.push_back(static_cast<int64_t>(field->value));
          return;
        }
        MessageReader packed = in.inner(*field);
        while (!packed.done()) to.push_back(static_cast<int64_t>(packed.varint()));
      };
      switch (field->number) {
        case kType:
          type = field->value;
          break;
        case kTileExtents:
          integers(extents);
          break;
        case kTileDevices:
          integers(devices);
          break;
        case kTupleParts:
          parts.emplace_back(field->bytes);
          break;
        case kLastIsReplicated:
          last_is_replicated = field->value != 0;
          break;
        case kLastKinds:
          integers(last_kinds);
          break;
        case kIotaExtents:
          integers(iota_extents);
          break;
        case kIotaOrder:
          integers(iota_order);
          break;
        default:
          break;
      }
    }
  }

  int64_t tiles() const {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  }

  // Sets `devices` from the compact form, a transpose of 0, 1, 2, ... in another shape.
  void write_out_devices() {
    if (iota_extents.empty()) return;
    const size_t rank = iota_extents.size();
    std::vector<bool> seen(rank);
    for (int64_t d : iota_order)
      if (d >= 0 && d < static_cast<int64_t>(rank)) seen[static_cast<size_t>(d)] = true;
    const int64_t count =
        std::accumulate(iota_extents.begin(), iota_extents.end(), int64_t{1}, std::multiplies<>());
    if (iota_order.size() != rank || std::ranges::count(seen, false) || count != tiles())
      invalid(
          "[custom_partitioning] expected a sharding of tiles, got one whose devices are no "
          "transpose of all; return a NamedSharding");
    std::vector<int64_t> strides(rank, 1), order_extents, order_strides;
    for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * iota_extents[d];
    for (int64_t d : iota_order) {
      order_extents.push_back(iota_extents[static_cast<size_t>(d)]);
      order_strides.push_back(strides[static_cast<size_t>(d)]);
    }
    for (int64_t i = 0; i < count; ++i) {
      const std::vector<int64_t> at = coordinates(i, order_extents);
      devices.push_back(
          std::inner_product(at.begin(), at.end(), order_strides.begin(), int64_t{0}));
    }
  }
};

[[noreturn]] void not_of_mesh(const Mesh& mesh, const std::string& what) {
  invalid(
      fmt::format("[custom_partitioning] expected a sharding over axes of the program's mesh {}, "
                  "got {}; return "
                  "a NamedSharding of the mesh that `partition` gets",
                  mesh, what));
}

// Finds the atoms of the mesh along which each tile index grows.
class TileAxes {
 public:
  // `position_tiles`: for each position of the mesh, the index of its tile along each dimension.
  TileAxes(const Mesh& mesh, std::vector<std::vector<int64_t>> position_tiles)
      : mesh_(mesh), tiles_(std::move(position_tiles)) {
    int64_t stride = 1;
    std::vector<int64_t> of_axis(static_cast<size_t>(mesh.rank()));
    for (int64_t a = mesh.rank(); a-- > 0;) {
      of_axis[static_cast<size_t>(a)] = stride;
      stride *= mesh.axis_sizes()[a];
    }
    // The atoms of an axis are ordered major first.
    std::vector<int64_t> left(mesh.axis_sizes().begin(), mesh.axis_sizes().end());
    for (int i = 0; i < mesh_.num_atoms(); ++i) {
      const auto atom = static_cast<sharding::Atom>(i);
      const auto axis = static_cast<size_t>(mesh_.axis(atom));
      left[axis] /= mesh_.size(atom);
      position_stride_.push_back(of_axis[axis] * left[axis]);
    }
  }

  // Returns the axes that shard a dimension into `extent` tiles.
  DimSpec axes_of(size_t dim, int64_t extent) const {
    std::vector<std::pair<int64_t, sharding::Atom>> steps;  // (growth of the tile index, atom)
    for (int i = 0; i < mesh_.num_atoms(); ++i) {
      const int64_t step =
          tiles_[static_cast<size_t>(position_stride_[static_cast<size_t>(i)])][dim];
      if (step > 0) steps.emplace_back(step, static_cast<sharding::Atom>(i));
    }
    std::sort(steps.begin(), steps.end(), std::greater<>());
    sharding::AtomList atoms;
    for (const auto& [step, atom] : steps) atoms.push_back(atom);
    if (mesh_.size(atoms) != extent || !is_tiled_by(dim, atoms))
      not_of_mesh(mesh_.mesh(),
                  fmt::format("{} tiles of dimension {} on devices in another order", extent, dim));
    return DimSpec(mesh_.axes(atoms));
  }

 private:
  bool is_tiled_by(size_t dim, const sharding::AtomList& atoms) const {
    for (size_t position = 0; position < tiles_.size(); ++position) {
      int64_t tile = 0;
      for (sharding::Atom atom : atoms)
        tile = tile * mesh_.size(atom) +
               static_cast<int64_t>(position) / position_stride_[atom] % mesh_.size(atom);
      if (tile != tiles_[position][dim]) return false;
    }
    return true;
  }

  const sharding::AtomMesh mesh_;
  const std::vector<std::vector<int64_t>> tiles_;
  std::vector<int64_t> position_stride_;  // of each atom, in positions of the mesh
};

}  // namespace

std::string to_op_sharding(const NamedSharding& sharding, int64_t rank) {
  MessageWriter out;
  std::vector<int64_t> extents;
  int64_t tiles = 1;
  for (int64_t d = 0; d < rank; ++d) {
    extents.push_back(sharding.num_shards(d));
    tiles *= extents.back();
  }
  if (tiles == 1) {
    out.add(kType, kReplicated);
    return out.bytes();
  }
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(tiles));
  const std::vector<int64_t>& ids = sharding.mesh().device_ids();
  for (size_t position = 0; position < ids.size(); ++position) {
    const Dims at = sharding.shard_coordinates(static_cast<int64_t>(position), rank);
    int64_t tile = 0;
    for (size_t d = 0; d < extents.size(); ++d) tile = tile * extents[d] + at[d];
    holders[static_cast<size_t>(tile)].push_back(ids[position]);
  }
  std::vector<int64_t> devices;
  for (const std::vector<int64_t>& of_tile : holders)
    devices.insert(devices.end(), of_tile.begin(), of_tile.end());
  const auto copies = static_cast<int64_t>(holders[0].size());
  if (copies > 1) extents.push_back(copies);
  out.add(kType, kOther);
  out.add_packed(kTileExtents, extents);
  out.add_packed(kTileDevices, devices);
  if (copies > 1) out.add(kLastIsReplicated, 1);
  return out.bytes();
}

std::string tuple_op_sharding(const std::vector<std::string>& parts) {
  MessageWriter out;
  out.add(kType, kTuple);
  for (const std::string& part : parts) out.add(kTupleParts, part);
  return out.bytes();
}

std::vector<std::string> op_sharding_parts(std::string_view bytes) {
  Message message(bytes);
  return message.type == kTuple ? std::move(message.parts)
                                : std::vector<std::string>{std::string(bytes)};
}

NamedSharding from_op_sharding(std::string_view bytes, const Mesh& mesh, int64_t rank) {
  Message message(bytes);
  if (message.type == kReplicated || (message.type == kMaximal && mesh.size() == 1))
    return {mesh, PartitionSpec()};
  if (message.type != kOther) not_of_mesh(mesh, fmt::format("one of XLA's type {}", message.type));
  message.write_out_devices();
  const auto size = static_cast<size_t>(mesh.size());
  const size_t dims = message.extents.size();
  const bool fits_rank =
      static_cast<int64_t>(dims) ==
      rank + (message.last_is_replicated ? 1 : 0) + static_cast<int64_t>(message.last_kinds.size());
  if (!fits_rank || std::ranges::any_of(message.last_kinds, [](int64_t k) { return k != kCopies; }))
    not_of_mesh(mesh, fmt::format("one of {} dimensions for an array of {}", dims, rank));
  if (message.tiles() != mesh.size() || message.devices.size() != size)
    not_of_mesh(mesh, fmt::format("one of {} devices", message.devices.size()));
  std::vector<std::vector<int64_t>> tiles(size);
  const std::vector<int64_t>& ids = mesh.device_ids();
  for (size_t i = 0; i < size; ++i) {
    const auto position = std::find(ids.begin(), ids.end(), message.devices[i]) - ids.begin();
    if (position == static_cast<int64_t>(size))
      not_of_mesh(mesh, fmt::format("device {}", message.devices[i]));
    tiles[static_cast<size_t>(position)] = coordinates(static_cast<int64_t>(i), message.extents);
  }
  if (std::ranges::any_of(tiles, [](const auto& at) { return at.empty(); }))
    not_of_mesh(mesh, "one that names a device twice");
  // Tile indices add up only if the first position of the mesh has the first tile.
  const TileAxes axes(mesh, std::move(tiles));
  std::vector<DimSpec> specs;
  for (int64_t d = 0; d < rank; ++d)
    specs.push_back(axes.axes_of(static_cast<size_t>(d), message.extents[static_cast<size_t>(d)]));
  return {mesh, PartitionSpec(std::move(specs))};
}

}  // namespace tessera::plugin
