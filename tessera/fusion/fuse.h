// Fusion: from a partitioned Function to a Schedule of few steps.
//
// Before: a closed Function of local shapes on one mesh whose only communication are collective ops
//         (spmd/partition.h).
// After:  kernels, library calls, collectives and views over slots, in an order that defines before
//         use. A value that is the same on every device along an axis is computed and stored once
//         along it, whatever the typing says.
//
// Stages, each a file:
//   simplify    Function -> Function: dead code, common subexpressions, rules that keep every bit
//   graph       every op as what fusion needs to know of it; physical variance
//   reductions  long reductions cut into blocks
//   plan        which values are stored, and which kernel computes each
//   emit        one kernel as a loop nest, pulled from its outputs
#pragma once

#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

struct FuseOptions {
  // The axes each input varies over, in the order its instances are stored (major first). One an
  // input, or empty: no input varies.
  std::vector<AxisList> input_axes;
  // A kernel that writes more than half of this many bytes (all instances) writes past the caches.
  int64_t last_level_cache = 32 << 20;
  // Schedule::reproducible.
  bool reproducible = false;
};

// UserError for an op that has no place in a schedule (a control op that the pipeline should have
// expanded, an op without a lowering), naming the op and its source.
Schedule fuse(const Function& local, const Mesh& mesh, const FuseOptions& options = {});

}  // namespace tessera::fusion
