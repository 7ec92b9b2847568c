// The borders of a manual computation as two ops, so that propagation and partition see one flat
// function.
//
//   full_to_shard   a global value -> the part of it that each device holds: dimension d is divided
//                   by the manual axes of spec dim d
//   shard_to_full   the inverse
//
// Neither moves data if its operand is sharded along the manual axes as `spec` says.
// flatten_regions() (sharding/) makes them.
#pragma once

#include "tessera/ops/core/op.h"

namespace tessera::ops {

struct ManualBoundaryParams {
  Mesh mesh;
  PartitionSpec spec;                    // one entry for each dimension, with manual axes only
  std::vector<std::string> manual_axes;  // all axes that are manual inside
};

extern const OpDef& full_to_shard_op;
extern const OpDef& shard_to_full_op;

}  // namespace tessera::ops
