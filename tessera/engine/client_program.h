// ClientProgram: a partitioned program that a plugin compiles and that its devices run.
//
// The plugin gets one module of StableHLO for all devices (plain_partition.h, PlainModule), and
// nothing to partition. It compiles at the first run, and once more for every other choice of inputs
// that are donated: which memory a result takes is part of a compiled program.
#pragma once

#include "tessera/base/made_once.h"
#include "tessera/engine/client_array.h"
#include "tessera/engine/loaded_program.h"
#include "tessera/ir/function.h"
#include "tessera/runtime/program.h"

namespace tessera::engine {

class ClientProgram final : public LoadedProgram {
 public:
  // `devices`: of the program's mesh, or the only one. UserError naming the op where the program has
  // one that StableHLO lacks.
  ClientProgram(const Function& partitioned, const std::vector<Device>& devices,
                const std::vector<ArraySpec>& inputs, const std::vector<ArraySpec>& outputs);

  // UserError naming the op too if the plugin does not compile one.
  std::vector<Array> run(std::span<const DeviceData* const> inputs,
                         std::span<const uint8_t> donate = {},
                         std::span<const DeviceData* const> moved = {}) const override;
  // Compiles the program, unless it was run before.
  int64_t arena_bytes() const override;
  int64_t code_bytes() const override;

  // What the plugin is given, and what it made of it (ClientExecutable::optimized_program).
  std::string text(const std::vector<int64_t>& aliases = {}) const;
  std::string optimized_program() const;

 private:
  using Aliases = std::vector<int64_t>;  // PlainModule's
  Aliases aliases_for(std::span<const uint8_t> donate) const;
  ClientExecutableRef executable(const Aliases& aliases) const;
  ClientExecutableRef compile(const std::string& module) const;
  [[noreturn]] void compile_failed(const std::string& what, bool out_of_memory) const;
  const Op* find_refused(const Function& f, std::string& why) const;
  [[noreturn]] void run_failed(const std::string& what, bool out_of_memory) const;

  Function function_;
  int64_t client_;
  std::vector<int64_t> devices_;         // of replica p, Device::id
  std::vector<int64_t> plugin_devices_;  // the same by the plugin's ids
  // [i][p]: where the device of replica p stands among those of input (output) i.
  std::vector<std::vector<size_t>> input_positions_, output_positions_;
  std::vector<Type> output_types_;
  mutable MadeOnce<Aliases, ClientExecutableRef> executables_;
};

}  // namespace tessera::engine
