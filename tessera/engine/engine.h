// Engine: what computes on devices and holds arrays in their memories. The emulated devices of this
// process have one (native_engine.h), the devices of PJRT plugins another (client_engine.h). Nothing
// above this folder asks which of them it has, except for checkpoints (io/checkpoint_plan.cc), which
// read the shards of emulated devices where they are.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tessera/engine/loaded_program.h"
#include "tessera/fusion/schedule.h"
#include "tessera/ir/function.h"
#include "tessera/runtime/device_array.h"
#include "tessera/runtime/program.h"

namespace tessera::engine {

// What an engine makes programs of.
enum class ProgramForm : uint8_t {
  kFunction,  // local shapes, explicit collectives
  kSchedule,  // that function, fused
};

struct ProgramSource {
  const ir::Function& traced;  // as the user wrote it, with global shapes
  const ir::Function& partitioned;
  const fusion::Schedule& schedule;  // empty for an engine that takes functions
  std::vector<Device> devices;       // of the program's mesh, or the only one
  std::vector<ArraySpec> inputs, outputs;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual ProgramForm form() const = 0;
  // Returns the program, ready to run. UserError naming the op that the engine lacks.
  virtual LoadedProgramRef load(ProgramSource source) const = 0;

  // Returns `staged`, whose layout names devices of this engine, in the memories of these devices.
  virtual DeviceDataRef to_devices(DeviceArrayRef staged) const = 0;
  // Returns an array of this engine in the memory of this process, for reading.
  virtual DeviceArrayRef to_memory(DeviceDataRef array) const = 0;
  // Whether the memories of the devices are the memory of this machine.
  virtual bool has_machine_memory() const = 0;
  // Whether the devices have a network of their own, by which a program that does nothing else
  // changes the sharding of an array; if not, its parts are copied in the memory of this process.
  virtual bool has_network() const = 0;
};

// Returns the engine of these devices. UserError naming `op` if they are of several.
const Engine& engine_of(std::string_view op, std::span<const Device> devices);
// The same of a sharding; if its mesh is abstract, the engine of emulated devices.
const Engine& engine_of(std::string_view op, const Sharding& sharding);

}  // namespace tessera::engine
