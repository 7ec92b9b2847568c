// Engine: computes on devices and holds arrays in their memories. The emulated devices of this
// process have one (native_engine.h), the devices of PJRT plugins another (client_engine.h). The
// folders above do not distinguish engines, except for checkpoints (io/checkpoint_plan.cc), which
// read the shards of emulated devices in place.
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

// The form of the programs that an engine loads.
enum class ProgramForm : uint8_t {
  kFunction,  // local shapes, explicit collectives
  kSchedule,  // the same function, fused
};

struct ProgramSource {
  const ir::Function& traced;  // the function as the user wrote it, with global shapes
  const ir::Function& partitioned;
  const fusion::Schedule& schedule;  // empty if the engine takes functions
  std::vector<Device> devices;       // devices of the program's mesh, or the only one
  std::vector<ArraySpec> inputs, outputs;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual ProgramForm form() const = 0;
  // Returns the program, ready to run. Throws a UserError that names the op if the engine lacks an
  // op.
  virtual LoadedProgramRef load(ProgramSource source) const = 0;

  // Returns `staged` in the memories of the devices that its layout names, which are of this
  // engine.
  virtual DeviceDataRef to_devices(DeviceArrayRef staged) const = 0;
  // Returns an array of this engine in the memory of this process, for reading.
  virtual DeviceArrayRef to_memory(DeviceDataRef array) const = 0;
  // Returns whether the memories of the devices are the memory of this machine.
  virtual bool has_machine_memory() const = 0;
  // Returns whether the devices have a network of their own. Then the sharding of an array is
  // changed by a program on the devices; otherwise its parts are copied in the memory of this
  // process.
  virtual bool has_network() const = 0;
};

// Returns the engine of these devices. Throws a UserError that names `op` if they belong to
// several.
const Engine& engine_of(std::string_view op, std::span<const Device> devices);
// Returns the engine of a sharding's devices; if its mesh is abstract, the engine of emulated
// devices.
const Engine& engine_of(std::string_view op, const Sharding& sharding);

}  // namespace tessera::engine
