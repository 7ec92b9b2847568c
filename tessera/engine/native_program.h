// NativeProgram: a LoadedProgram on emulated devices.
#pragma once

#include "tessera/engine/loaded_program.h"
#include "tessera/runtime/program.h"

namespace tessera::engine {

class NativeProgram final : public LoadedProgram {
 public:
  explicit NativeProgram(std::unique_ptr<const Program> program);

  std::vector<Array> run(std::span<const DeviceData* const> inputs,
                         std::span<const uint8_t> donate = {},
                         std::span<const DeviceData* const> moved = {}) const override;
  int64_t arena_bytes() const override { return program_->arena_bytes(); }
  int64_t code_bytes() const override { return program_->code_bytes(); }

 private:
  std::unique_ptr<const Program> program_;
};

}  // namespace tessera::engine
