// ClientProgram: a partitioned program that a plugin compiles and that its devices run.
//
// The plugin gets one module of StableHLO for all devices (plain_partition.h, PlainModule), which
// is partitioned already. It compiles the module at the first run, and again for every other choice
// of donated inputs, because a compiled program determines the memory of each result.
#pragma once

#include "tessera/base/made_once.h"
#include "tessera/engine/client_array.h"
#include "tessera/engine/loaded_program.h"
#include "tessera/ir/function.h"
#include "tessera/runtime/program.h"

namespace tessera::engine {

class ClientProgram final : public LoadedProgram {
 public:
  // `devices` are those of the program's mesh, or the only one. Throws a UserError that names the
  // op if StableHLO lacks an op of the program.
  ClientProgram(const Function& partitioned, const std::vector<Device>& devices,
                const std::vector<ArraySpec>& inputs, const std::vector<ArraySpec>& outputs);

  // Also throws a UserError that names the op if the plugin does not compile an op.
  std::vector<Array> run(std::span<const DeviceData* const> inputs,
                         std::span<const uint8_t> donate = {},
                         std::span<const DeviceData* const> moved = {}) const override;
  // Compiles the program, unless it has been run.
  int64_t arena_bytes() const override;
  int64_t code_bytes() const override;

  // Returns the module that the plugin gets, and its compiled form
  // (ClientExecutable::optimized_program).
  std::string text(const std::vector<int64_t>& aliases = {}) const;
  std::string optimized_program() const;

 private:
  using Aliases = std::vector<int64_t>;  // see PlainModule
  Aliases aliases_for(std::span<const uint8_t> donate) const;
  ClientExecutableRef executable(const Aliases& aliases) const;
  ClientExecutableRef compile(const std::string& module) const;
  [[noreturn]] void compile_failed(const std::string& what, bool out_of_memory) const;
  const Op* find_refused(const Function& f, std::string& why) const;
  [[noreturn]] void run_failed(const std::string& what, bool out_of_memory) const;

  Function function_;
  int64_t client_;
  std::vector<int64_t> devices_;         // for each replica: Device::id
  std::vector<int64_t> plugin_devices_;  // for each replica: the plugin's id of its device
  // Entry [i][p] is the position of replica p's device among the devices of input (output) i.
  std::vector<std::vector<size_t>> input_positions_, output_positions_;
  std::vector<Type> output_types_;
  mutable MadeOnce<Aliases, ClientExecutableRef> executables_;
};

}  // namespace tessera::engine
