// Compiled: a program ready to run on Arrays. What jit, eager ops and composites call.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::engine {
class LoadedProgram;
}
namespace tessera::sharding {
struct ShardingRequest;
}
namespace tessera::compile {
struct Stages;
}

namespace tessera {

class Compiled {
 public:
  // `function` with the given placement of its inputs and outputs. UserError where the program's
  // mesh has no devices. Results lie on `results_mesh`, if there is one: the mesh that the
  // program's is finer than. `stages` is what run_pipeline has made of these, or null if it has not
  // run.
  Compiled(const ir::Function& function, const sharding::ShardingRequest& request,
           const Device& device, const std::optional<Mesh>& results_mesh = {},
           const compile::Stages* stages = nullptr);

  // Arrays of the function's input types, anywhere: those that lie elsewhere are resharded first.
  // Synchronous.
  std::vector<Array> run(std::span<const Array> args, std::span<const uint8_t> donate = {}) const;

  const std::vector<ir::Type>& output_types() const { return output_types_; }
  Sharding input_sharding(size_t i) const;
  Sharding output_sharding(size_t i) const;
  // Memory for temporaries on all devices together, bytes.
  int64_t arena_bytes() const;
  // What the program itself takes.
  int64_t code_bytes() const;
  // For those who include engine/loaded_program.h.
  const engine::LoadedProgram& program() const { return *program_; }

 private:
  std::shared_ptr<const engine::LoadedProgram> program_;
  std::vector<ir::Type> output_types_;
  std::vector<Sharding> results_;  // where they are moved to; empty: they stay
};
using CompiledRef = std::shared_ptr<const Compiled>;

}  // namespace tessera
