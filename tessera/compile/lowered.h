// Lowered: a traced function and its arguments' shardings, before it becomes a program.
// jit(f).lower(x) returns one. Every stage can be inspected, also on meshes without devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/compile/compiled.h"
#include "tessera/compile/pass_time.h"
#include "tessera/spmd/collective.h"

namespace tessera {

// The cost of one run of the program for one device.
struct Cost {
  double flops = 0;
  int64_t bytes_accessed = 0;        // that the steps read and write
  int64_t communication_bytes = 0;   // that this device sends
  double communication_seconds = 0;  // estimated on the mesh's links
  int64_t arena_bytes = 0;           // of temporaries, all devices together; 0 on an abstract mesh
};

class Lowered {
 public:
  Lowered(ir::Function traced, ir::ShardingRequest request, std::vector<Array> captures,
          Device device);
  Lowered(const Lowered&);
  Lowered(Lowered&&) noexcept;
  Lowered& operator=(const Lowered&);
  Lowered& operator=(Lowered&&) noexcept;
  ~Lowered();

  // Returns the program as StableHLO text or as a schedule. Stages are "traced", "propagated",
  // "partitioned" and "fused"; throws UserError for another name.
  std::string text(std::string_view stage = "traced") const;
  // Returns the collectives in program order.
  std::vector<Collective> collectives() const;
  // Returns notes on padding, fallbacks and full gathers.
  std::vector<Note> notes() const;
  Cost cost() const;
  // Returns text for people: collectives with axes, bytes and reasons, notes and cost.
  std::string explain() const;
  // Returns the time of each pass, in order (compile/pipeline.h); 0 if it was skipped.
  const std::vector<PassTime>& pass_times() const;
  // Returns the shardings of the results, as propagation chose them.
  std::vector<NamedSharding> output_shardings() const;
  CompiledRef compile() const;

  // Returns the stages. Callers include compile/pipeline.h and sharding/propagate.h.
  const ir::Stages& stages() const { return *stages_; }
  const ir::ShardingRequest& request() const { return *request_; }

 private:
  std::shared_ptr<const ir::Stages> stages_;
  std::shared_ptr<const ir::ShardingRequest> request_;
  std::vector<Array> captures_;
  Device device_;
};

}  // namespace tessera
