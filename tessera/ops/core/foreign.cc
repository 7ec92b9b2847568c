// Ops of StableHLO and CHLO text that Tessera says with its own.
#include "tessera/ir/append_ops.h"
#include "tessera/ir/token_type.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/control/control.h"
#include "tessera/ops/core/bitcast_elements.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/traced_function.h"

namespace tessera::ops {
namespace {

using Values = std::vector<ValueId>;

void expect_count(const OpReader& reader, size_t count) {
  if (reader.operands.size() != count)
    reader.error(fmt::format("expected {} operand{}, got {}", count, count == 1 ? "" : "s",
                             reader.operands.size()));
}

Values square(OpReader& reader) {
  expect_count(reader, 1);
  return reader.insert(mul_op, NoParams{}, Values{reader.operands[0], reader.operands[0]});
}

// The device's number is its position in the mesh.
Values partition_id(OpReader& reader) {
  expect_count(reader, 0);
  const Mesh& mesh = reader.mesh();
  const std::vector<int64_t> logical = logical_device_ids(mesh);
  for (size_t i = 0; i < logical.size(); ++i)
    if (logical[i] != static_cast<int64_t>(i))
      reader.error("expected a mesh with its devices in order for partition_id");
  const Values index = reader.insert(axis_index_op, AxisIndexParams{mesh, mesh.axis_names()}, {});
  return reader.insert(convert_op, ConvertParams{uint32}, index);
}

// One replica runs all partitions.
Values replica_id(OpReader& reader) {
  expect_count(reader, 0);
  return reader.insert(constant_op, ConstantParams{Literal::scalar(uint32_t{0}), {}}, {});
}

// Tokens (ir/token_type.h).
Values create_token(OpReader& reader) {
  expect_count(reader, 0);
  return reader.insert(constant_op, ConstantParams{Literal(bool_, Shape{}), token_type().shape},
                       {});
}

// Effects keep the order that the program has them in; the last of the tokens is as good as all.
Values after_all(OpReader& reader) {
  return reader.operands.empty() ? create_token(reader) : Values{reader.operands.back()};
}

constexpr const char* kCallAttributes[] = {"api_version",    "has_side_effect",
                                           "backend_config", "operand_layouts",
                                           "result_layouts", "output_operand_aliases"};

// JAX's annotate_device_placement says which kind of memory a value is in; they all are the host's.
Values placement(OpReader& reader) {
  expect_count(reader, 1);
  for (const char* about : kCallAttributes) reader.text.take(about);
  return reader.operands;
}

// JAX's dce_sink keeps its operands from being left out, for those who look at compiled programs.
Values dce_sink(OpReader& reader) {
  for (const char* about : kCallAttributes) reader.text.take(about);
  return {};
}

// JAX's takes many operands; ours one each.
Values optimization_barrier(OpReader& reader) {
  Values out;
  for (ValueId v : reader.operands)
    out.push_back(
        reader.insert(optimization_barrier_op, OptimizationBarrierParams{}, std::span(&v, 1))[0]);
  return out;
}

// Adds the ops of a function; its results.
Values insert_all(OpReader& reader, const Function& function, const Values& arguments) {
  return append_ops(function, arguments, [&](const Op& op, const Values& operands) {
    return reader.insert(*op.def, op.params, operands);
  });
}

// Between dtypes of different widths elements are split and joined, by several ops.
Values bitcast_convert(OpReader& reader) {
  expect_count(reader, 1);
  if (reader.result_types.empty()) reader.error("expected the type of the result");
  const Type operand = reader.operand_types()[0];
  const DType dtype = reader.result_types[0].dtype;
  if (bit_width(operand.dtype) == bit_width(dtype))
    return reader.insert(bitcast_convert_op, BitcastParams{dtype}, reader.operands);
  const FlatFn split_or_join = [&](const std::vector<Array>& x) {
    return std::vector{bitcast_elements(x[0], dtype)};
  };
  return insert_all(
      reader, trace_function(split_or_join, std::span(&operand, 1), "bitcast_convert").function,
      reader.operands);
}

// An op with a name for those who know it, and a function that says the same.
Values composite(OpReader& reader) {
  for (const char* about : {"name", "composite_attributes", "version"}) reader.text.take(about);
  const auto* function = reader.require("decomposition").get<FunctionRef>();
  if (!function) reader.error("expected the decomposition to be a function of this module");
  return reader.insert(call_op, CallParams{*function}, reader.operands);
}

[[maybe_unused]] const bool registered[] = {
    register_foreign_op({.dialect = "chlo", .name = "square", .build = square}),
    register_foreign_op({.dialect = "stablehlo",
                         .name = "bitcast_convert",
                         .build = bitcast_convert,
                         .narrow = true}),
    register_foreign_op({.dialect = "stablehlo",
                         .name = "composite",
                         .assembly = "{name} {operands}",
                         .build = composite,
                         .narrow = true}),
    register_foreign_op({.dialect = "stablehlo", .name = "partition_id", .build = partition_id}),
    register_foreign_op({.dialect = "stablehlo", .name = "replica_id", .build = replica_id}),
    register_foreign_op({.dialect = "stablehlo", .name = "create_token", .build = create_token}),
    register_foreign_op({.dialect = "stablehlo", .name = "after_all", .build = after_all}),
    register_foreign_op({.dialect = "custom_call",
                         .name = "annotate_device_placement",
                         .build = placement,
                         .narrow = true}),
    register_foreign_op(
        {.dialect = "custom_call", .name = "dce_sink", .build = dce_sink, .narrow = true}),
    register_foreign_op({.dialect = "stablehlo",
                         .name = "optimization_barrier",
                         .build = optimization_barrier,
                         .narrow = true}),
};

}  // namespace
}  // namespace tessera::ops
