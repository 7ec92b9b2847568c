// Fusion: from a partitioned Function to a Schedule of few steps.
//
// Before: a closed Function of local shapes on one mesh, in which only collective ops communicate
//         (spmd/partition.h).
// After:  kernels, library calls, collectives and views over slots, in an order that defines before
//         use. A value that is the same on every device along an axis is computed and stored once
//         along it, whatever the types say.
//
// Stages, each a file:
//   simplify    Function -> Function: dead code, common subexpressions, rules that keep every bit
//   graph       what fusion needs to know of every op, and which axes values physically vary over
//   reductions  long reductions are divided into blocks
//   plan        which values are stored, and which kernel computes each
//   emit        one kernel as a loop nest, starting from its outputs
#pragma once

#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

struct FuseOptions {
  // The axes each input varies over, in the order its instances are stored (major first). There is
  // one entry for each input, or none: no input varies.
  std::vector<AxisList> input_axes;
  // A kernel that writes more than half of this many bytes (all instances) writes around the
  // caches.
  int64_t last_level_cache = 32 << 20;
  // See Schedule::reproducible.
  bool reproducible = false;
};

// Returns the schedule. Throws a UserError that names the op and its source for an op that cannot
// be in a schedule (a control op that the pipeline should have expanded, an op without a lowering).
Schedule fuse(const Function& local, const Mesh& mesh, const FuseOptions& options = {});

}  // namespace tessera::fusion
