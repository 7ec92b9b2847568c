#include "tessera/compile/load_program.h"

#include "tessera/base/error.h"
#include "tessera/base/memory_limit.h"
#include "tessera/compile/memory_check.h"

namespace tessera::compile {
namespace {

std::vector<Device> devices_of(const Mesh& mesh, const Device& device) {
  return mesh.rank() > 0 ? mesh.devices() : std::vector{device};
}

}  // namespace

std::vector<ArraySpec> array_specs(const Function& f, const std::vector<ValueId>& values,
                                   const std::vector<NamedSharding>& shardings,
                                   const Device& device) {
  std::vector<ArraySpec> out;
  for (size_t i = 0; i < values.size(); ++i) {
    const Type& type = f.type(values[i]);
    const Sharding sharding =
        shardings.empty() ? Sharding(SingleDeviceSharding(device)) : Sharding(shardings[i]);
    out.push_back({type.dtype, type.shape, sharding, type.weak});
  }
  return out;
}

const engine::Engine& engine_for(const Mesh& mesh, const Device& device) {
  if (mesh.rank() > 0 && mesh.is_abstract())
    sharding_error("jit",
                   "expected a mesh of devices to run on, got {}; lower() and explain() work on "
                   "abstract meshes, running does not",
                   mesh);
  return engine::engine_of("jit", devices_of(mesh, device));
}

Stage last_stage(const engine::Engine& engine) {
  switch (engine.form()) {
    case engine::ProgramForm::kFunction:
      return Stage::kPartitioned;
    case engine::ProgramForm::kSchedule:
      return Stage::kFused;
  }
  TESSERA_CHECK(false, "a form of programs");
  __builtin_unreachable();
}

engine::LoadedProgramRef load_program(const Function& f, const Stages& stages,
                                      const Device& device) {
  const Partitioned& p = stages.partitioned;
  const engine::Engine& engine = engine_for(stages.mesh, device);
  engine::LoadedProgramRef program =
      engine.load({.traced = f,
                   .partitioned = p.function,
                   .schedule = stages.schedule,
                   .devices = devices_of(stages.mesh, device),
                   .inputs = array_specs(f, f.inputs, p.inputs, device),
                   .outputs = array_specs(f, f.outputs, p.outputs, device)});
  if (engine.form() == engine::ProgramForm::kSchedule)
    check_memory(stages, program->arena_bytes(), memory_limit());
  return program;
}

}  // namespace tessera::compile
