// The pipeline: every pass in order, on one page.
//
//   traced       what the user wrote, global shapes
//   propagated   every value has a sharding
//   partitioned  local shapes, explicit collectives
//   fused        a schedule of kernels, library calls and collectives
//
// There may be several alternatives (alternatives.h) from propagate to choose_plan. Each of these
// passes runs once for each of them, and choose_plan keeps the cheapest.
//
// After each pass every function is verified in debug builds, or if the environment variable
// TESSERA_VERIFY_PASSES is 1. It is printed to standard error if TESSERA_PRINT_AFTER names the pass
// (or is "all").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/compile/alternatives.h"
#include "tessera/compile/pass_time.h"
#include "tessera/fusion/schedule.h"
#include "tessera/sharding/propagate.h"
#include "tessera/spmd/partition.h"

namespace tessera::compile {

// Where the pipeline stops: an engine that takes functions needs no schedule. The stages that
// Lowered::text() names are finer (docs/glossary.md).
enum class Stage : uint8_t { kPartitioned, kFused };

// A program between passes.
struct PassState {
  std::vector<Alternative> alternatives;  // one, except between propagate and choose_plan
  ShardingRequest request;
  Mesh mesh;          // empty: the program is for one device
  Schedule schedule;  // set by the last pass

  PassState(Function function, ShardingRequest request, Mesh mesh);
  // Returns the function of the first alternative.
  const Function& function() const { return alternatives.front().function; }
};

struct Pass {
  std::string_view name;
  Stage stage;        // the stage to which the pass belongs
  bool sharded_only;  // skipped for programs of one device
  void (*run)(PassState& state);
};
// Returns all passes in order.
std::span<const Pass> passes();

// Runs the pass, or skips it, then verifies and prints the result. Returns the pass's time.
PassTime run_pass(const Pass& pass, PassState& state);

}  // namespace tessera::compile

namespace tessera::ir {

struct Stages {
  Function traced;
  Mesh mesh;  // the program's mesh; empty for one device
  Function propagated;
  spmd::Partitioned partitioned;
  fusion::Schedule schedule;
  std::vector<PassTime> pass_times;
};

}  // namespace tessera::ir

namespace tessera::compile {

// Runs the passes up to the stage `last`. The fields of Stages that later passes set stay empty.
Stages run_pipeline(const Function& traced, const ShardingRequest& request,
                    Stage last = Stage::kFused);

}  // namespace tessera::compile
