#include "tessera/interchange/foreign/custom_partitioning.h"

#include <cstring>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/ir/factors.h"
#include "tessera/ops/control/partitioned_callback.h"
#include "tessera/ops/core/inspect_sharding.h"

namespace tessera::interchange::foreign {
namespace {

using ops::CustomPartitioningParams;

constexpr const char* kForm =
    "expected a sharding rule as #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}, custom>";

const TextAttr* find(const TextAttr::Record& rule, std::string_view name) {
  for (const auto& [key, value] : rule.entries)
    if (key == name) return &value;
  return nullptr;
}

Dims integers(const TextAttr* list) {
  const auto* array = list ? list->get<TextAttr::Array>() : nullptr;
  return array ? Dims(array->values.begin(), array->values.end()) : Dims();
}

// Appends the factors of all dimensions of the tensors. Returns the number of tensors.
size_t append_dims(OpReader& reader, const TextAttr* tensors, std::vector<Dims>& out) {
  const auto* list = tensors ? tensors->get<TextAttr::List>() : nullptr;
  if (!list) reader.error(kForm);
  for (const TextAttr& tensor : list->items) {
    const auto* dims = tensor.get<TextAttr::List>();
    if (!dims) reader.error(kForm);
    for (const TextAttr& dim : dims->items) out.push_back(integers(&dim));
  }
  return list->items.size();
}

void read_rule(OpReader& reader, CustomPartitioningParams& p) {
  const TextAttr* attribute = reader.text.take("sdy.sharding_rule");
  if (!attribute) return;
  const auto* rule = attribute->get<TextAttr::Record>();
  if (!rule) reader.error(kForm);
  const size_t operands = append_dims(reader, find(*rule, "operands"), p.dims),
               results = append_dims(reader, find(*rule, "results"), p.dims);
  if (operands != reader.operands.size() || results != reader.result_types.size())
    reader.error(
        fmt::format("expected a sharding rule of {} operands and {} results, got one of {} and {}",
                    reader.operands.size(), reader.result_types.size(), operands, results));
  p.sizes = integers(find(*rule, "sizes"));
  p.kinds = Dims(p.sizes.size(), static_cast<int64_t>(FactorKind::kPass));
  const auto mark = [&](std::string_view name, FactorKind kind) {
    for (int64_t f : integers(find(*rule, name))) {
      if (f < 0 || f >= static_cast<int64_t>(p.kinds.size())) reader.error(kForm);
      p.kinds[static_cast<size_t>(f)] = static_cast<int64_t>(kind);
    }
  };
  mark("reduction", FactorKind::kReduction);
  mark("need_replication", FactorKind::kNeedReplication);
  mark("permutation", FactorKind::kPermutation);
}

const std::string* take_string(OpReader& reader, const char* name) {
  const TextAttr* value = reader.text.take(name);
  return value ? value->get<std::string>() : nullptr;
}

void take_call_attributes(OpReader& reader) {
  for (const char* about :
       {"api_version", "operand_layouts", "result_layouts", "output_operand_aliases",
        "called_computations", "mhlo.backend_config", "backend_config"})
    reader.text.take(about);
}

}  // namespace

Values custom_partitioning(OpReader& reader) {
  CustomPartitioningParams p;
  p.partitioner = *reader.require("call_target_name").get<std::string>();
  if (const std::string* config = take_string(reader, "backend_config")) p.config = *config;
  const TextAttr* flag = reader.text.take("has_side_effect");
  const bool* effect = flag ? flag->get<bool>() : nullptr;
  take_call_attributes(reader);
  for (const Type& type : reader.result_types) {
    p.dtypes.emplace_back(mlir_name(type.dtype));
    p.shapes.push_back(Dims(type.shape));
  }
  if (reader.result_types.empty())
    reader.error("expected a call with a result, got one without; return an array");
  if (reader.operands.empty())
    reader.error("expected a call with an operand, got one without; pass it an array");
  read_rule(reader, p);
  return reader.insert(
      effect && *effect ? ops::custom_partitioning_effect_op : ops::custom_partitioning_op, p,
      reader.operands);
}

// JAX's InspectSharding. The bytes of the config are two pointers that jaxlib writes.
Values inspect_sharding(OpReader& reader) {
  expect_count(reader, 1);
  ops::InspectShardingParams p;
  const std::string* config = take_string(reader, "backend_config");
  if (!config || config->size() != sizeof(p.function) + sizeof(p.data))
    reader.error(fmt::format(
        "expected a backend_config of two pointers, as jaxlib writes it, got {} bytes; compile the "
        "program in the process that traced it",
        config ? config->size() : 0));
  std::memcpy(&p.function, config->data(), sizeof(p.function));
  std::memcpy(&p.data, config->data() + sizeof(p.function), sizeof(p.data));
  reader.text.take("has_side_effect");
  take_call_attributes(reader);
  return reader.insert(ops::inspect_sharding_op, p, reader.operands);
}

Values partitioned_callback(OpReader& reader) {
  const int64_t function = reader.require_int("function");
  reader.text.take("has_side_effect");
  take_call_attributes(reader);
  return reader.insert(ops::custom_partitioning_effect_op,
                       ops::partitioned_callback_params(function), reader.operands);
}

}  // namespace tessera::interchange::foreign
