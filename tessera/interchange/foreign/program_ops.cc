// Ops about the program itself: the device that runs it, the order of its effects, the names of its
// parts, the sizes of its arrays.
#include "tessera/control/control.h"
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/op_table.h"
#include "tessera/ir/token_type.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/sharding_group.h"

namespace tessera::interchange::foreign {
namespace {

// Returns the position of the device in the mesh.
Values device_number(OpReader& reader) {
  expect_count(reader, 0);
  const Mesh& mesh = reader.mesh();
  const std::vector<int64_t> logical = logical_device_ids(mesh);
  for (size_t i = 0; i < logical.size(); ++i)
    if (logical[i] != static_cast<int64_t>(i))
      reader.error("expected a mesh with its devices in order for partition_id");
  const Values index = reader.insert(axis_index_op, AxisIndexParams{mesh, mesh.axis_names()}, {});
  return reader.insert(convert_op, ConvertParams{uint32}, index);
}

Values number_zero(OpReader& reader) {
  expect_count(reader, 0);
  return reader.insert(constant_op, ConstantParams{Literal::scalar(uint32_t{0}), {}}, {});
}

}  // namespace

// A program has several partitions or several replicas; the other number is 0 on all devices.
Values partition_id(OpReader& reader) {
  return reader.has_replicas() ? number_zero(reader) : device_number(reader);
}
Values replica_id(OpReader& reader) {
  return reader.has_replicas() ? device_number(reader) : number_zero(reader);
}

// An op that may run while others do, and the wait for its result. The future is the result itself.
Values async_start(OpReader& reader) {
  if (reader.text.regions.size() != 1) reader.error("expected one region");
  const FunctionRef body = reader.text.regions[0];
  if (body->outputs.size() != 1)
    reader.error(fmt::format("expected a region with one result, got {}", body->outputs.size()));
  if (body->inputs.size() != reader.operands.size())
    reader.error(fmt::format("expected a region with an argument for each of {} operands, got {}",
                             reader.operands.size(), body->inputs.size()));
  for (size_t i = 0; i < body->inputs.size(); ++i) {
    const Type &operand = reader.type(reader.operands[i]), &input = body->type(body->inputs[i]);
    if (!operand.same_array(input))
      reader.error(
          fmt::format("expected argument {} of the region to be {}, got {}", i, operand, input));
  }
  return reader.insert(call_op, CallParams{body}, reader.operands);
}
Values async_done(OpReader& reader) {
  expect_count(reader, 1);
  return reader.operands;
}

// A token is a constant (ir/token_type.h).
Values create_token(OpReader& reader) {
  expect_count(reader, 0);
  return reader.insert(constant_op, ConstantParams{Literal(bool_, Shape{}), token_type().shape},
                       {});
}

// Effects keep their order in the program, so the last of the tokens is used for all.
Values after_all(OpReader& reader) {
  return reader.operands.empty() ? create_token(reader) : Values{reader.operands.back()};
}

void ignore_call_attributes(OpReader& reader) {
  for (const char* name : {"api_version", "has_side_effect", "backend_config", "operand_layouts",
                           "result_layouts", "output_operand_aliases", "mhlo.backend_config"})
    reader.text.take(name);
}

// JAX's annotate_device_placement names the kind of memory of a value. Here all memory is the
// host's.
Values annotate_device_placement(OpReader& reader) {
  expect_count(reader, 1);
  ignore_call_attributes(reader);
  return reader.operands;
}

// JAX's dce_sink keeps its operands in compiled programs so that users can inspect them. Here it
// has no effect.
Values dce_sink(OpReader& reader) {
  ignore_call_attributes(reader);
  return {};
}

// JAX's control_dep asks for one value to be computed before another. Values do not depend on it.
Values control_dep(OpReader& reader) {
  ignore_call_attributes(reader);
  return {};
}

// JAX's with_layout_constraint asks for an order of dimensions in memory. Here each op chooses its
// own. Arguments and results have the order that main's attributes ask for.
Values layout_constraint(OpReader& reader) {
  expect_count(reader, 1);
  ignore_call_attributes(reader);
  return reader.operands;
}

// Shardy's op has no result: it makes its operand a member of a group.
Values sharding_group(OpReader& reader) {
  expect_count(reader, 1);
  reader.insert(sharding_group_op, ShardingGroupParams{reader.require_int("group_id")},
                reader.operands);
  reader.result_types.clear();  // the pretty form ends with the type of the operand
  return {};
}

// JAX's barrier has many operands; Tessera's has one.
Values optimization_barrier(OpReader& reader) {
  Values out;
  for (ValueId v : reader.operands)
    out.push_back(
        reader.insert(optimization_barrier_op, OptimizationBarrierParams{}, std::span(&v, 1))[0]);
  return out;
}

namespace {

// Returns the elementwise op that a composite is named after ("chlo.erf"); JAX wraps functions like
// this that its client would expand otherwise. Returns nullptr for any other composite.
const OpDef* named_function(const OpReader& reader, std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || reader.operands.empty() || reader.result_types.size() != 1)
    return nullptr;
  const ReadAs op = read_as(name.substr(0, dot), name.substr(dot + 1));
  if (!op.def || !op.def->attributes.empty() || !std::holds_alternative<Pointwise>(op.def->lower))
    return nullptr;
  for (ValueId operand : reader.operands)
    if (!reader.type(operand).same_array(reader.result_types[0])) return nullptr;
  return op.def;
}

}  // namespace

// A composite has a name, for readers that know it, and a function that computes the same. If
// Tessera has an op or a formula of that name, it is used: such functions only approximate it. CHLO
// has no bessel_i0e, but JAX has.
Values composite(OpReader& reader) {
  const auto name = reader.text.take("name");
  for (const char* about : {"composite_attributes", "version"}) reader.text.take(about);
  const auto* function = reader.require("decomposition").get<FunctionRef>();
  if (!function) reader.error("expected the decomposition to be a function of this module");
  const auto* text = name ? name->get<std::string>() : nullptr;
  if (const OpDef* op = text ? named_function(reader, *text) : nullptr) {
    reader.text.take("decomposition");
    return reader.insert(*op, NoParams{}, reader.operands);
  }
  const bool is_i0e = text && *text == "chlo.bessel_i0e";
  if (is_i0e || (text && *text == "chlo.bessel_i1e")) {
    reader.text.take("decomposition");
    return is_i0e ? bessel_i0e(reader) : bessel_i1e(reader);
  }
  return reader.insert(call_op, CallParams{*function}, reader.operands);
}

Values get_dimension_size(OpReader& reader) {
  expect_count(reader, 1);
  const Type type = reader.type(reader.operands[0]);
  const int64_t dimension = reader.require_int(reader.text.find("dim") ? "dim" : "dimension");
  if (dimension < 0 || dimension >= type.rank())
    reader.error(fmt::format("expected a dimension in [0, {}), got {}", type.rank(), dimension));
  const auto extent = static_cast<int32_t>(type.shape[dimension]);
  return reader.insert(constant_op, ConstantParams{Literal::scalar(extent), {}}, {});
}

}  // namespace tessera::interchange::foreign
