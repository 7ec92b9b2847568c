// Lowered: a traced function and its arguments' placements, on the way to a program. What
// jit(f).lower(x) returns; every stage can be looked at, on meshes without devices too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/compile/compiled.h"
#include "tessera/compile/pass_time.h"
#include "tessera/spmd/collective.h"

namespace tessera::compile {
struct Stages;
}

namespace tessera {

// What one run of the program costs one device.
struct Cost {
  double flops = 0;
  int64_t bytes_accessed = 0;        // read and written by the steps
  int64_t communication_bytes = 0;   // sent
  double communication_seconds = 0;  // estimated on the mesh's links
  int64_t arena_bytes = 0;           // temporaries, all devices together; 0 on an abstract mesh
};

class Lowered {
 public:
  Lowered(ir::Function traced, sharding::ShardingRequest request, std::vector<Array> captures,
          Device device);
  Lowered(const Lowered&);
  Lowered(Lowered&&) noexcept;
  Lowered& operator=(const Lowered&);
  Lowered& operator=(Lowered&&) noexcept;
  ~Lowered();

  // The program as StableHLO text, or as a schedule: "traced", "propagated", "partitioned",
  // "fused". UserError for another name.
  std::string text(std::string_view stage = "traced") const;
  // What is communicated, in program order.
  std::vector<Collective> collectives() const;
  // Padding, fallbacks and full gathers.
  std::vector<Note> notes() const;
  Cost cost() const;
  // Collectives with axes, bytes and reasons, notes and cost, for people.
  std::string explain() const;
  // What each pass took, in order (compile/pipeline.h); 0 where it was skipped.
  const std::vector<PassTime>& pass_times() const;
  // Shardings of results, as propagation chose them.
  std::vector<NamedSharding> output_shardings() const;
  CompiledRef compile() const;

  // For those who include compile/pipeline.h and sharding/propagate.h.
  const compile::Stages& stages() const { return *stages_; }
  const sharding::ShardingRequest& request() const { return *request_; }

 private:
  std::shared_ptr<const compile::Stages> stages_;
  std::shared_ptr<const sharding::ShardingRequest> request_;
  std::vector<Array> captures_;
  Device device_;
};

}  // namespace tessera
