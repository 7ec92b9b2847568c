// The borders of a manual computation as two ops, so that propagation and partition see one flat
// function.
//
//   full_to_shard   a global value -> what each device holds of it: dimension d shrinks by the
//                   manual axes of spec dim d
//   shard_to_full   the other way
//
// Neither moves data once its operand is cut along the manual axes as `spec` says.
// flatten_regions() (sharding/) makes them.
#pragma once

#include "tessera/ops/core/op.h"

namespace tessera::ops {

struct ManualBoundaryParams {
  Mesh mesh;
  PartitionSpec spec;                    // one a tensor; its axes are manual ones
  std::vector<std::string> manual_axes;  // all axes that are manual inside
};

extern const OpDef& full_to_shard_op;
extern const OpDef& shard_to_full_op;

}  // namespace tessera::ops
