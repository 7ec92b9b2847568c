#include "tessera/engine/client_engine.h"

#include "tessera/engine/client_array.h"
#include "tessera/engine/client_program.h"

namespace tessera::engine {
namespace {

class ClientEngine final : public Engine {
 public:
  ProgramForm form() const override { return ProgramForm::kFunction; }
  LoadedProgramRef load(ProgramSource source) const override {
    return std::make_shared<const ClientProgram>(source.partitioned, source.devices, source.inputs,
                                                 source.outputs);
  }

  DeviceDataRef to_devices(DeviceArrayRef staged) const override { return to_client(*staged); }
  DeviceArrayRef to_memory(DeviceDataRef array) const override {
    return to_host_memory(static_cast<const ClientArray&>(*array));
  }
  bool has_machine_memory() const override { return false; }
  bool has_network() const override { return true; }
};

}  // namespace

const Engine& client_engine() {
  static const ClientEngine& engine = *new ClientEngine;
  return engine;
}

}  // namespace tessera::engine
