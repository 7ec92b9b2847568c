// custom_call @Sharding: GSPMD's sharding constraint on a value.
#include "tessera/control/control.h"
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/hlo_sharding.h"
#include "tessera/ir/op_def.h"

namespace tessera::interchange::foreign {
namespace {

// Reads "unspecified_dims=[0,2]": the dimensions that propagation may shard.
std::vector<bool> unspecified_dims(const std::string& config, int64_t rank, OpReader& reader) {
  constexpr std::string_view kName = "unspecified_dims=[";
  std::vector<bool> out(static_cast<size_t>(rank), false);
  if (config.empty()) return out;
  size_t at = config.find(kName);
  if (at != 0 || config.back() != ']')
    reader.error(fmt::format("expected unspecified_dims=[...], or nothing, got '{}'", config));
  for (at = kName.size(); at < config.size(); ++at) {
    size_t end = at;
    size_t dim = 0;
    while (end < config.size() && config[end] >= '0' && config[end] <= '9' && dim <= out.size())
      dim = 10 * dim + static_cast<size_t>(config[end++] - '0');
    if (end == at || dim >= out.size())
      reader.error(fmt::format("expected dimensions below {} in '{}'", rank, config));
    out[dim] = true;
    at = end;
  }
  return out;
}

std::string string_of(const TextAttr* attribute) {
  const auto* text = attribute ? attribute->get<std::string>() : nullptr;
  return text ? *text : std::string();
}

}  // namespace

Values sharding_call(OpReader& reader) {
  if (reader.operands.size() != 1) reader.error("expected one operand");
  for (const char* about :
       {"call_target_name", "api_version", "has_side_effect", "operand_layouts", "result_layouts"})
    reader.text.take(about);
  const std::string config = string_of(reader.text.take("backend_config")),
                    text = string_of(reader.text.take("mhlo.sharding"));
  if (text.empty()) reader.error("expected mhlo.sharding, a string");
  const Mesh& mesh = reader.mesh();
  const Type& type = reader.type(reader.operands[0]);
  const HloSharding sharding = parse_hlo_sharding(text, type.rank(), mesh.size());
  if (!sharding.problem.empty()) reader.error(sharding.problem);
  if (!sharding.spec) return reader.operands;
  if (mesh.rank() != 1 || mesh.axis_names()[0] != kPartitionAxis)
    reader.error("expected a program with shardings of Shardy or of GSPMD, got both");
  const std::vector<bool> open = unspecified_dims(config, type.rank(), reader);
  std::vector<DimSpec> dims;
  for (int64_t d = 0; d < type.rank(); ++d)
    dims.push_back(DimSpec(sharding.spec->dim(d).axes, open[static_cast<size_t>(d)]));
  return reader.insert(
      sharding_constraint_op,
      ShardingConstraintParams{NamedSharding(mesh, PartitionSpec(std::move(dims)))},
      reader.operands);
}

}  // namespace tessera::interchange::foreign
