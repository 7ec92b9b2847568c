// Compiled: a program ready to run on Arrays. What jit, eager ops and composites call.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/compile/caches.h"
#include "tessera/compile/pipeline.h"
#include "tessera/runtime/program.h"

namespace tessera {

class Compiled {
 public:
  // `function` with the given placement of its inputs and outputs. UserError where the program's
  // mesh has no devices. Results lie on `results_mesh`, if there is one: the mesh that the
  // program's is finer than.
  Compiled(const Function& function, const ShardingRequest& request, const Device& device,
           const std::optional<Mesh>& results_mesh = {});

  // Arrays of the function's input types, anywhere: those that lie elsewhere are resharded first.
  // Synchronous.
  std::vector<Array> run(std::span<const Array> args, std::span<const uint8_t> donate = {}) const;

  const std::vector<Type>& output_types() const { return output_types_; }
  Sharding input_sharding(size_t i) const { return program_->input_layout(i)->sharding; }
  Sharding output_sharding(size_t i) const {
    return results_.empty() ? program_->output_layout(i)->sharding : results_[i];
  }
  // Memory for temporaries on all devices together, bytes.
  int64_t arena_bytes() const { return program_->arena_bytes(); }
  // What the program itself takes.
  int64_t code_bytes() const { return program_->code_bytes(); }

 private:
  std::unique_ptr<Program> program_;
  std::vector<Type> output_types_;
  std::vector<Sharding> results_;  // where they are moved to; empty: they stay
};
using CompiledRef = std::shared_ptr<const Compiled>;

// What decides which program a call needs, of one argument: where it lies, its type, whether it is
// weak.
struct ArgKey {
  ArrayLayoutRef layout;  // of device arrays: equal layouts are one object
  Type type;              // of host arrays
  bool weak = false;

  explicit ArgKey(const Array& x);
  bool matches(const Array& x) const;
  size_t hash() const;
};
size_t hash_argument(const Array& x);

// The placements of arguments as a request: arrays on a mesh are taken as they lie; single-device
// and host arrays go where propagation wants them.
ShardingRequest request_for(const Function& function, std::span<const Array> args);
// The device of a program that no mesh takes part in. UserError naming `op` where arguments lie on
// several.
Device device_for(std::string_view op, std::span<const Array> args);

// The program of this function, requests and device; compiled once for all that are structurally
// equal. Thread-safe.
CompiledRef compile_cached(const Function& function, const ShardingRequest& request,
                           const Device& device);

namespace internal {
// Of the program cache.
CompileStats program_stats();
void clear_programs();
// Of the cache of eager calls.
void clear_eager_calls();
}  // namespace internal

}  // namespace tessera
