// The pipeline: every pass in order, on one page.
//
//   traced       what the user wrote, global shapes
//   propagated   every value has a sharding
//   partitioned  local shapes, explicit collectives
//   fused        a schedule of kernels, library calls and collectives
//
// From propagate to choose_plan there may be several alternatives (alternatives.h): each of these
// passes runs once for each, and the last one keeps the cheapest.
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

// The last stage that the pipeline runs.
enum class Stage : uint8_t { kPartitioned, kFused };

// A program between passes.
struct PassState {
  std::vector<Alternative> alternatives;  // one, except between propagate and choose_plan
  ShardingRequest request;
  Mesh mesh;          // empty for one device
  Schedule schedule;  // set once fused

  PassState(Function function, ShardingRequest request, Mesh mesh);
  // Returns the function of the first alternative.
  const Function& function() const { return alternatives.front().function; }
};

struct Pass {
  std::string_view name;
  Stage stage;        // the stage that it leads to
  bool sharded_only;  // skipped for programs of one device
  void (*run)(PassState& state);
};
// Returns all passes in order.
std::span<const Pass> passes();

// Runs the pass, or skips it; verifies and prints. Returns its time.
PassTime run_pass(const Pass& pass, PassState& state);

}  // namespace tessera::compile

namespace tessera::ir {

struct Stages {
  Function traced;
  Mesh mesh;  // of the program; empty for one device
  Function propagated;
  spmd::Partitioned partitioned;
  fusion::Schedule schedule;
  std::vector<PassTime> pass_times;
};

}  // namespace tessera::ir

namespace tessera::compile {

// Runs the passes up to the stage `last`; fields of Stages for later stages stay empty.
Stages run_pipeline(const Function& traced, const ShardingRequest& request,
                    Stage last = Stage::kFused);

}  // namespace tessera::compile
