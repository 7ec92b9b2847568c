// Fusion: from a partitioned Function to a Schedule of few steps.
//
// Before: a closed Function of local shapes on one mesh, in which only collective ops communicate
//         (spmd/partition.h).
// After:  kernels, library calls, collectives and views over slots, in an order that defines before
//         use. A value that is the same on every device along an axis is computed and stored once
//         along it, whatever the types say.
//
// Stages, each a file, in this order (the passes before fuse() are in compile/pipeline.cc):
//   graph          what fusion needs to know of every op, and the axes that values vary over
//   reductions     divides long reductions into blocks (while the graph is built)
//   control_steps  loops and branches in the graph (while the graph is built)
//   dots           matrix products absorb adjacent ops
//   updates        finds updates that write only a part of their operand
//   update_order   readers of an operand run before its update
//   plan           which values are stored, and which kernel computes each
//   small_product  a product of few multiplications becomes a kernel
//   emit_kernel    makes each kernel as a loop nest, starting from its outputs
//   short_folds    unrolls folds over short rows of a kernel
//   short_rows     unrolls short rows of a kernel
//   half_extrema   folds extrema of stored 16-bit floats as integers
//   share_kernels  kernels that differ only in numbers read these from memory, and share their code
#pragma once

#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

struct FuseOptions {
  // For each input, the axes that it varies over, in the order in which its instances are stored
  // (major first). If the list is empty, no input varies.
  std::vector<AxisList> input_axes;
  // A kernel that writes more than half of this many bytes (in all instances) uses non-temporal
  // stores, which bypass the caches.
  int64_t last_level_cache = 32 << 20;
  // A kernel with a longer chain of values that are computed one from the other is refused by an
  // InternalError: emitting it needs some hundred bytes of the stack for each. The planner makes
  // kernels of fewer ops.
  int deepest_kernel = 1000;
  // See Schedule::reproducible.
  bool reproducible = false;
};

// Returns the schedule. Throws a UserError that names the op and its source for an op that cannot
// be in a schedule (a control op that the pipeline should have expanded, an op without a lowering).
Schedule fuse(const Function& local, const Mesh& mesh, const FuseOptions& options = {});

}  // namespace tessera::fusion
