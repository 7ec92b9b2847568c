#include "plugin/shardings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "plugin/compile.h"
#include "plugin/error.h"
#include "plugin/layout_modes.h"
#include "plugin/op_sharding.h"
#include "plugin/wire.h"
#include "tessera/runtime/array_layout.h"

namespace tessera::plugin {
namespace {

using runtime::ArrayLayout;

// The contents of the devices along a last dimension, with the numbers of XLA's OpSharding.
enum class Last : uint8_t { kReplicated = 0, kUnreduced = 6 };

// Returns, for the tiles of an array in the order of its dimensions, the number of each tile in
// memory order.
std::vector<size_t> tiles_in_memory(const Shape& shards, const MinorToMajor& order) {
  std::vector<int64_t> strides(order.size());
  int64_t stride = 1;
  for (int64_t d : order) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= shards[d];
  }
  std::vector<size_t> out{0};
  for (int64_t d = 0; d < shards.rank(); ++d) {
    std::vector<size_t> next;
    for (size_t tile : out)
      for (int64_t k = 0; k < shards[d]; ++k)
        next.push_back(tile + static_cast<size_t>(k * strides[static_cast<size_t>(d)]));
    out = std::move(next);
  }
  return out;
}

// An array's tiles, as XLA describes them: device ids in row-major order of `extents`. Devices
// along a last dimension hold copies of a tile, or parts of its sum.
struct Tiles {
  std::vector<int64_t> extents, devices;  // empty: every device has the whole array
  std::vector<Last> last;

  Tiles() = default;
  // `order` is the order of the array's dimensions in memory, to which the layout refers.
  Tiles(const ArrayLayout& layout, const std::vector<int64_t>& ids, bool parts,
        const MinorToMajor& order) {
    if (layout.instances == 1) return;
    std::vector<std::vector<int64_t>> holders(static_cast<size_t>(layout.instances));
    for (size_t position = 0; position < ids.size(); ++position)
      holders[static_cast<size_t>(layout.device_instances[position])].push_back(ids[position]);
    const size_t copies = holders[0].size(),
                 sums = parts ? static_cast<size_t>(layout.shards[0]) : 1,
                 tiles = holders.size() / sums;
    const Shape in_memory(layout.shards.begin() + (parts ? 1 : 0), layout.shards.end());
    const Shape shards = shape_of_array(in_memory, order);
    extents.assign(shards.begin(), shards.end());
    for (const size_t tile : tiles_in_memory(shards, order))
      for (size_t copy = 0; copy < copies; ++copy)
        for (size_t part = 0; part < sums; ++part)
          devices.push_back(holders[part * tiles + tile][copy]);
    if (copies > 1) add_last(Last::kReplicated, copies);
    if (parts) add_last(Last::kUnreduced, sums);
  }

  void add_last(Last kind, size_t extent) {
    extents.push_back(static_cast<int64_t>(extent));
    last.push_back(kind);
  }
  bool whole() const { return extents.empty(); }
  bool only_copies() const { return last == std::vector{Last::kReplicated}; }
};

// A replica has its whole arguments and results.
std::vector<Tiles> argument_tiles(const PJRT_Executable& e) {
  if (e.options.num_replicas > 1) return std::vector<Tiles>(e.program->num_inputs());
  std::vector<Tiles> out;
  for (size_t i = 0; i < e.program->num_inputs(); ++i)
    out.emplace_back(*e.program->input_layout(i), e.input_ids[i], e.input_parts[i],
                     e.input_orders[i]);
  return out;
}

std::vector<Tiles> result_tiles(const PJRT_Executable& e) {
  if (e.options.num_replicas > 1) return std::vector<Tiles>(e.program->num_outputs());
  std::vector<Tiles> out;
  for (size_t r = 0; r < e.program->num_outputs(); ++r)
    out.emplace_back(*e.program->output_layout(r), e.output_ids[r], e.output_parts[r],
                     e.output_orders[r]);
  return out;
}

std::string text_of(const Tiles& tiles) {
  if (tiles.whole()) return "{replicated}";
  std::vector<std::string> last;
  for (Last kind : tiles.last)
    last.emplace_back(kind == Last::kReplicated ? "replicated" : "unreduced");
  return fmt::format(
      "{{devices=[{}]{}{}}}", fmt::join(tiles.extents, ","), fmt::join(tiles.devices, ","),
      last.empty()          ? ""
      : tiles.only_copies() ? " last_tile_dim_replicate"
                            : fmt::format(" last_tile_dims={{{}}}", fmt::join(last, ", ")));
}

// Returns the message in protobuf's wire format. Fields with default values are left out.
std::string op_sharding(const Tiles& tiles) {
  MessageWriter out;
  if (tiles.whole()) {
    out.add(1, kReplicated);
    return out.bytes();
  }
  out.add(1, kOther);
  out.add_packed(3, tiles.extents);
  out.add_packed(4, tiles.devices);
  if (tiles.only_copies()) {
    out.add(6, 1);  // replicate_on_last_tile_dim
  } else {
    std::vector<int64_t> last;
    for (Last kind : tiles.last) last.push_back(static_cast<int64_t>(kind));
    out.add_packed(8, last);
  }
  return out.bytes();
}

std::shared_ptr<const ShardingProtos> protos_of(const std::vector<Tiles>& all) {
  std::vector<std::string> messages;
  for (const Tiles& tiles : all) messages.push_back(op_sharding(tiles));
  return std::make_shared<const ShardingProtos>(std::move(messages));
}

}  // namespace

ShardingProtos::ShardingProtos(std::vector<std::string> messages) : messages_(std::move(messages)) {
  for (const std::string& message : messages_) {
    data_.push_back(message.data());
    sizes_.push_back(message.size());
  }
}

std::shared_ptr<const ShardingProtos> argument_shardings(const PJRT_Executable& e) {
  return protos_of(argument_tiles(e));
}
std::shared_ptr<const ShardingProtos> result_shardings(const PJRT_Executable& e) {
  return protos_of(result_tiles(e));
}

std::string sharding_attributes(const PJRT_Executable& e) {
  std::vector<std::string> arguments, results, attributes;
  for (const Tiles& tiles : argument_tiles(e))
    arguments.push_back(fmt::format("\"{}\"", text_of(tiles)));
  for (const Tiles& tiles : result_tiles(e)) results.push_back(text_of(tiles));
  if (!arguments.empty())
    attributes.push_back(
        fmt::format("mhlo.spmd_parameters_shardings = [{}]", fmt::join(arguments, ", ")));
  if (results.size() == 1)
    attributes.push_back(fmt::format("mhlo.spmd_output_sharding = \"{}\"", results[0]));
  if (results.size() > 1)
    attributes.push_back(
        fmt::format("mhlo.spmd_output_sharding = \"{{{}}}\"", fmt::join(results, ", ")));
  return fmt::format("{}", fmt::join(attributes, ", "));
}

PJRT_Shardings_Extension make_shardings_extension(PJRT_Extension_Base* next) {
  PJRT_Shardings_Extension out{};
  out.base = {PJRT_Shardings_Extension_STRUCT_SIZE, PJRT_Extension_Type_Shardings, next};
  out.PJRT_Shardings_PJRT_Executable_ParameterShardings = [](auto* a) -> PJRT_Error* {
    const ShardingProtos& shardings = *a->executable->input_shardings;
    a->num_parameters = shardings.size();
    a->shardings = shardings.data();
    a->sharding_sizes = shardings.sizes();
    return nullptr;
  };
  out.PJRT_Shardings_PJRT_Executable_OutputShardings = [](auto* a) -> PJRT_Error* {
    const ShardingProtos& shardings = *a->executable->output_shardings;
    a->num_outputs = shardings.size();
    a->shardings = shardings.data();
    a->sharding_sizes = shardings.sizes();
    return nullptr;
  };
  return out;
}

}  // namespace tessera::plugin
