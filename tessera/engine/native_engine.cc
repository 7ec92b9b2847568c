#include "tessera/engine/native_engine.h"

#include "tessera/cluster/processes.h"
#include "tessera/engine/native_program.h"
#include "tessera/interchange/text/printer.h"

namespace tessera::engine {
namespace {

// Returns the part of a program's text that is the same in all processes of a cluster: without the
// numbers of host functions, which differ between processes.
std::string common_text(std::string text) {
  constexpr std::string_view kBefore = "backend_config = {function = ";
  for (size_t at = text.find(kBefore); at != std::string::npos; at = text.find(kBefore, at)) {
    at += kBefore.size();
    text.erase(at, text.find(' ', at) - at);
  }
  return text;
}

ProgramIdentity identity_of(const ProgramSource& source) {
  if (!cluster::Processes::current()) return {};
  return {source.traced.name, common_text(interchange::to_mlir(source.traced, {.locations = true}) +
                                          interchange::to_mlir(source.partitioned))};
}

class NativeEngine final : public Engine {
 public:
  ProgramForm form() const override { return ProgramForm::kSchedule; }
  LoadedProgramRef load(ProgramSource source) const override {
    ProgramIdentity identity = identity_of(source);
    return std::make_shared<const NativeProgram>(std::make_unique<const Program>(
        source.schedule, std::move(source.inputs), std::move(source.outputs), process_kernels(),
        std::move(identity)));
  }

  DeviceDataRef to_devices(DeviceArrayRef staged) const override { return staged; }
  DeviceArrayRef to_memory(DeviceDataRef array) const override {
    return std::static_pointer_cast<const DeviceArray>(std::move(array));
  }
  bool has_machine_memory() const override { return true; }
  bool has_network() const override { return false; }
};

}  // namespace

const Engine& native_engine() {
  static const NativeEngine& engine = *new NativeEngine;
  return engine;
}

}  // namespace tessera::engine
