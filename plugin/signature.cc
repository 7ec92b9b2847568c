#include "plugin/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "plugin/compile.h"
#include "plugin/error.h"
#include "plugin/wire.h"
#include "tessera/runtime/array_layout.h"

namespace tessera::plugin {
namespace {

using runtime::ArrayLayout;

// Of XLA's OpSharding, with its numbers: what the devices along a last dimension have.
enum class Last : uint8_t { kReplicated = 0, kUnreduced = 6 };

// An array's tiles, in XLA's terms: device ids in the order of dimensions of these extents, the last of
// which hold copies of a tile or parts of its sum.
struct Tiles {
  std::vector<int64_t> extents, devices;  // none: every device has the whole
  std::vector<Last> last;

  Tiles(const ArrayLayout& layout, const std::vector<int64_t>& ids, bool parts) {
    if (layout.instances == 1) return;
    std::vector<std::vector<int64_t>> holders(static_cast<size_t>(layout.instances));
    for (size_t position = 0; position < ids.size(); ++position)
      holders[static_cast<size_t>(layout.device_instances[position])].push_back(ids[position]);
    const size_t copies = holders[0].size(),
                 sums = parts ? static_cast<size_t>(layout.shards[0]) : 1,
                 tiles = holders.size() / sums;
    for (size_t tile = 0; tile < tiles; ++tile)
      for (size_t copy = 0; copy < copies; ++copy)
        for (size_t part = 0; part < sums; ++part)
          devices.push_back(holders[part * tiles + tile][copy]);
    extents.assign(layout.shards.begin() + (parts ? 1 : 0), layout.shards.end());
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

std::vector<Tiles> argument_tiles(const PJRT_Executable& e) {
  std::vector<Tiles> out;
  for (size_t i = 0; i < e.program->num_inputs(); ++i)
    out.emplace_back(*e.program->input_layout(i), e.input_ids[i], e.input_parts[i]);
  return out;
}

std::vector<Tiles> result_tiles(const PJRT_Executable& e) {
  std::vector<Tiles> out;
  for (size_t r = 0; r < e.program->num_outputs(); ++r)
    out.emplace_back(*e.program->output_layout(r), e.output_ids[r], e.output_parts[r]);
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

// What follows are messages of xla/xla_data.proto, xla/service/hlo.proto and xla/xla.proto (a fact of
// their public wire format); fields that keep their default are left out.

enum OpShardingType : uint8_t { kReplicated = 0, kTuple = 2, kOther = 3 };

MessageWriter op_sharding(const Tiles& tiles) {
  MessageWriter out;
  if (tiles.whole()) {
    out.add(1, kReplicated);
    return out;
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
  return out;
}

MessageWriter tuple_sharding(const std::vector<Tiles>& elements) {
  MessageWriter out;
  out.add(1, kTuple);
  for (const Tiles& tiles : elements) out.add(5, op_sharding(tiles));
  return out;
}

constexpr uint64_t kTupleType = 13;

// XLA's PrimitiveType.
uint64_t primitive_type(DType dtype) {
  static constexpr std::pair<DType, uint8_t> kTypes[] = {
      {bool_, 1},
      {int8, 2},
      {int16, 3},
      {int32, 4},
      {int64, 5},
      {uint8, 6},
      {uint16, 7},
      {uint32, 8},
      {uint64, 9},
      {float16, 10},
      {float32, 11},
      {float64, 12},
      {complex64, 15},
      {bfloat16, 16},
      {complex128, 18},
      {float8_e5m2, 19},
      {float8_e4m3fn, 20},
      {int4, 21},
      {uint4, 22},
      {float8_e4m3b11fnuz, 23},
      {float8_e5m2fnuz, 24},
      {float8_e4m3fnuz, 25},
      {int2, 26},
      {uint2, 27},
      {float8_e4m3, 28},
      {float8_e3m4, 29},
      {float4_e2m1fn, 32},
      {float8_e8m0fnu, 33},
  };
  for (const auto& [mine, theirs] : kTypes)
    if (mine == dtype) return theirs;
  unimplemented(
      fmt::format("[compile] expected arguments and results of a dtype that XLA has, got {}; "
                  "convert it inside of the program",
                  dtype_name(dtype)));
}

MessageWriter shape_proto(DType dtype, const Shape& shape) {
  MessageWriter out, layout;
  out.add(2, primitive_type(dtype));
  out.add_packed(3, shape);
  Dims minor_to_major;
  for (int64_t d = shape.rank(); d-- > 0;) minor_to_major.push_back(d);
  layout.add_packed(1, minor_to_major);
  out.add(5, layout);
  return out;
}

MessageWriter argument_shape(const PJRT_Executable& e, size_t i) {
  const ArrayLayout& layout = *e.program->input_layout(i);
  return shape_proto(layout.dtype, held_shape(layout, e.input_parts[i]));
}

// Several results are a tuple, and so are none.
MessageWriter result_shape(const PJRT_Executable& e) {
  const size_t n = e.output_shapes.size();
  if (n == 1) return shape_proto(e.output_dtypes[0], e.output_shapes[0]);
  MessageWriter out;
  out.add(2, kTupleType);
  for (size_t r = 0; r < n; ++r) out.add(4, shape_proto(e.output_dtypes[r], e.output_shapes[r]));
  return out;
}

MessageWriter program_shape(const PJRT_Executable& e) {
  MessageWriter out;
  for (size_t i = 0; i < e.program->num_inputs(); ++i) out.add(1, argument_shape(e, i));
  out.add(2, result_shape(e));
  for (size_t i = 0; i < e.program->num_inputs(); ++i) out.add(3, fmt::format("arg{}", i));
  return out;
}

// Parameters, and a call that gives the results; ids count from 1.
MessageWriter entry_computation(const PJRT_Executable& e) {
  MessageWriter out, root;
  std::vector<int64_t> parameters;
  out.add(1, "main");
  for (size_t i = 0; i < e.program->num_inputs(); ++i) {
    parameters.push_back(static_cast<int64_t>(i + 1));
    MessageWriter parameter;
    parameter.add(1, fmt::format("arg{}", i));
    parameter.add(2, "parameter");
    parameter.add(3, argument_shape(e, i));
    parameter.add(9, i);
    parameter.add(35, i + 1);
    out.add(2, parameter);
  }
  const uint64_t root_id = parameters.size() + 1;
  root.add(1, "results");
  root.add(2, "custom-call");
  root.add(3, result_shape(e));
  root.add(28, "tessera");
  root.add(35, root_id);
  root.add_packed(36, parameters);
  out.add(2, root);
  out.add(4, program_shape(e));
  out.add(5, 1);
  out.add(6, root_id);
  return out;
}

}  // namespace

std::string signature_proto(const PJRT_Executable& e) {
  MessageWriter module, config, out;
  module.add(1, e.name);
  module.add(2, "main");
  module.add(3, entry_computation(e));
  module.add(4, program_shape(e));
  module.add(5, 1);
  module.add(6, 1);
  const std::vector<Tiles> results = result_tiles(e);
  if (results.size() == 1) module.add(12, op_sharding(results[0]));
  if (results.size() > 1) module.add(12, tuple_sharding(results));
  for (const Tiles& tiles : argument_tiles(e)) module.add(14, op_sharding(tiles));

  config.add(1, program_shape(e));
  config.add(4, static_cast<uint64_t>(e.options.num_replicas));
  config.add(5, static_cast<uint64_t>(e.options.num_partitions));
  config.add(7, 1);  // use_spmd_partitioning

  out.add(1, module);
  out.add(2, config);
  return out.bytes();
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

}  // namespace tessera::plugin
