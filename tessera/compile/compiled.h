// Compiled: a program ready to run on Arrays. jit, eager ops and composites call it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

class Compiled {
 public:
  // Makes the program of `function` with these shardings of its inputs and outputs. Throws
  // UserError if the program's mesh has no devices. If `results_mesh` is set, results are moved to
  // it, since the program's mesh may be finer than the user's. `stages` is the result of
  // run_pipeline, or null if it has not run.
  Compiled(const ir::Function& function, const ir::ShardingRequest& request, const Device& device,
           const std::optional<Mesh>& results_mesh = {}, const ir::Stages* stages = nullptr);

  // Runs the program and returns its results once they are computed. Arguments have the function's
  // input types; those with another sharding are resharded first.
  std::vector<Array> run(std::span<const Array> args, std::span<const uint8_t> donate = {}) const;

  const std::vector<ir::Type>& output_types() const { return output_types_; }
  Sharding input_sharding(size_t i) const;
  Sharding output_sharding(size_t i) const;
  // Returns the bytes of temporaries on all devices together.
  int64_t arena_bytes() const;
  // Returns the bytes of the program itself.
  int64_t code_bytes() const;
  // Returns the loaded program. Callers include engine/loaded_program.h.
  const ir::LoadedProgram& program() const { return *program_; }

 private:
  std::shared_ptr<const ir::LoadedProgram> program_;
  std::vector<ir::Type> output_types_;
  // The shardings that results are moved to. If it is empty, results are not moved.
  std::vector<Sharding> results_;
};
using CompiledRef = std::shared_ptr<const Compiled>;

}  // namespace tessera
