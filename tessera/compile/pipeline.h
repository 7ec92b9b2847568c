// The pipeline: every pass in the order data takes, on one page.
//
//   traced       what the user wrote, global shapes
//   propagated   every value has a sharding
//   partitioned  local shapes, explicit collectives
//   fused        a schedule of kernels, library calls and collectives
//
// After each pass the function is verified, in debug builds and where the environment variable
// TESSERA_VERIFY_PASSES is 1, and printed to standard error where TESSERA_PRINT_AFTER names the
// pass (or is "all").
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/compile/choose_propagation.h"
#include "tessera/compile/pass_time.h"
#include "tessera/fusion/schedule.h"
#include "tessera/sharding/propagate.h"
#include "tessera/spmd/partition.h"

namespace tessera::compile {

enum class Stage : uint8_t { kTraced, kPropagated, kPartitioned, kFused };

// A program between passes.
struct PassState {
  Function function;
  ShardingRequest request;
  Mesh mesh;                 // empty for one device
  std::optional<Plan> plan;  // made already, by who chose how to propagate
  Partitioned partitioned;   // what partition() says besides the function
  Schedule schedule;         // once fused
};

struct Pass {
  std::string_view name;
  Stage stage;        // that it belongs to
  bool sharded_only;  // skipped for programs of one device
  void (*run)(PassState& state);
};
// In order.
std::span<const Pass> passes();

// Runs the pass, or skips it; verifies and prints.
PassTime run_pass(const Pass& pass, PassState& state);

struct Stages {
  Function traced;
  Mesh mesh;  // of the program; empty for one device
  Function propagated;
  Partitioned partitioned;
  Schedule schedule;
  std::vector<PassTime> pass_times;
};

// Runs the passes up to the stage `last`; later fields of Stages stay empty.
Stages run_pipeline(const Function& traced, const ShardingRequest& request,
                    Stage last = Stage::kFused);

}  // namespace tessera::compile
