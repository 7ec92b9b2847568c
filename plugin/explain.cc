#include "plugin/explain.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "plugin/copied.h"
#include "tessera/compile/lowered.h"
#include "tessera/compile/pipeline.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/programs/unroll_loops.h"
#include "tessera/ir/format.h"
#include "tessera/mesh/scoped_devices.h"

namespace tessera::plugin {
namespace {

using Json = nlohmann::json;

int64_t largest_mesh(const interchange::ParsedModule& module) {
  int64_t largest = 1;
  for (const Mesh& mesh : module.meshes) largest = std::max(largest, mesh.size());
  return largest;
}

Json to_json(const ir::Function& f, const std::vector<int>& values,
             const std::vector<NamedSharding>& shardings, bool sharded) {
  Json out = Json::array();
  for (size_t i = 0; i < values.size(); ++i) {
    const ir::Type& type = f.types[static_cast<size_t>(values[i])];
    Json entry = {{"dtype", std::string(dtype_name(type.dtype))},
                  {"shape", std::vector<int64_t>(type.shape.begin(), type.shape.end())},
                  {"spec", nullptr}};
    if (sharded) entry["spec"] = fmt::format("{}", shardings[i].spec());
    out.push_back(std::move(entry));
  }
  return out;
}

Json to_json(const Mesh& mesh) {
  if (mesh.rank() == 0) return nullptr;
  Json axes = Json::array();
  for (int64_t i = 0; i < mesh.rank(); ++i)
    axes.push_back({mesh.axis_names()[static_cast<size_t>(i)], mesh.axis_sizes()[i]});
  return {{"axes", axes}, {"device_ids", mesh.device_ids()}};
}

Json to_json(const CollectivePart& part) {
  return {{"bytes_per_device", part.bytes_per_device},
          {"op", part.op},
          {"source", part.source},
          {"reason", part.reason}};
}

Json to_json(const Collective& c) {
  Json parts = Json::array();
  for (const CollectivePart& part : c.parts) parts.push_back(to_json(part));
  return {{"name", c.name},
          {"axes", c.axes},
          {"group_size", c.group_size},
          {"bytes_per_device", c.bytes_per_device},
          {"seconds", c.seconds},
          {"times", c.times < 0 ? Json(nullptr) : Json(c.times)},
          {"op", c.op},
          {"source", c.source},
          {"reason", c.reason},
          {"parts", std::move(parts)}};
}

Json to_json(const Note& note) {
  return {{"warning", note.warning},
          {"op", note.op},
          {"source", note.source},
          {"text", note.text},
          {"remedy", note.remedy}};
}

Json to_json(const Cost& cost) {
  return {{"flops", cost.flops},
          {"bytes_accessed", cost.bytes_accessed},
          {"communication_bytes", cost.communication_bytes},
          {"communication_seconds", cost.communication_seconds},
          {"arena_bytes", cost.arena_bytes}};
}

template <class T>
Json to_json(const std::vector<T>& values) {
  Json out = Json::array();
  for (const T& value : values) out.push_back(to_json(value));
  return out;
}

std::string plan_of(const interchange::ParsedModule& module, const std::string& devices) {
  const Lowered lowered(interchange::with_loops_rewritten(module),
                        {.inputs = module.input_shardings, .outputs = module.output_shardings}, {},
                        tessera::devices()[0]);
  const compile::Stages& stages = lowered.stages();
  const bool sharded = stages.mesh.rank() > 0;
  const ir::Function& f = stages.traced;
  return Json{{"devices", devices},
              {"mesh", to_json(stages.mesh)},
              {"inputs", to_json(f, f.inputs, stages.partitioned.inputs, sharded)},
              {"outputs", to_json(f, f.outputs, stages.partitioned.outputs, sharded)},
              {"collectives", to_json(lowered.collectives())},
              {"notes", to_json(lowered.notes())},
              {"cost", to_json(lowered.cost())},
              {"steps", stages.schedule.steps.size()},
              {"text", lowered.explain()}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string explain(std::string_view code, const std::string& devices) {
  std::optional<ScopedDevices> scope;
  if (!devices.empty()) scope.emplace(devices);
  interchange::ParsedModule module = interchange::read_module(code, "jax");
  const int64_t needed = largest_mesh(module);
  if (needed <= device_count()) return plan_of(module, devices);
  if (!devices.empty())
    value_error("explain",
                "expected at least the {} devices of the program's mesh, got {} of '{}'; name more",
                needed, device_count(), devices);
  const std::string enough = fmt::format("cpu:{}", needed);
  scope.emplace(enough);
  module = interchange::read_module(code, "jax");
  return plan_of(module, enough);
}

}  // namespace tessera::plugin

int tessera_explain(const char* code, size_t size, const char* devices, char** out) {
  return tessera::plugin::answer(out, [&] {
    return tessera::plugin::explain({code, size}, devices);
  });
}

void tessera_free(char* text) { std::free(text); }
