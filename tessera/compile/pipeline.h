// The pipeline: every pass in the order data takes, on one page.
//
//   traced       what the user wrote, global shapes
//   propagated   every value has a sharding
//   partitioned  local shapes, explicit collectives
//   fused        a schedule of kernels, library calls and collectives
#pragma once

#include <optional>

#include "tessera/fusion/schedule.h"
#include "tessera/sharding/propagate.h"
#include "tessera/spmd/partition.h"

namespace tessera {

struct Stages {
  Function traced;
  Mesh mesh;  // of the program; empty for one device
  Function propagated;
  Partitioned partitioned;
  Schedule schedule;
  double trace_seconds = 0, propagate_seconds = 0, partition_seconds = 0, fuse_seconds = 0;
};

// Which passes to run; later fields of Stages stay empty.
enum class Stage : uint8_t { kTraced, kPropagated, kPartitioned, kFused };

Stages run_pipeline(const Function& traced, const ShardingRequest& request,
                    Stage last = Stage::kFused);

}  // namespace tessera
