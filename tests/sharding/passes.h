// The passes from a traced function to one in which every value has a sharding, for tests that
// cannot use the pipeline that lists them (compile/pipeline.cc).
#pragma once

#include "tessera/sharding/expand_custom_partitions.h"
#include "tessera/sharding/flatten_regions.h"
#include "tessera/sharding/propagate.h"
#include "tessera/sharding/prune_control.h"
#include "tessera/sharding/split_constants.h"
#include "tessera/sharding/split_lines.h"
#include "tessera/sharding/split_sorts.h"
#include "tessera/sharding/split_transforms.h"

namespace tessera {

using namespace sharding;

inline Function propagated_program(const Function& traced, const Mesh& mesh,
                                   const ShardingRequest& request) {
  const Function flat = split_constants(split_transforms(prune_control(flatten_regions(traced))));
  return split_sorts(split_lines(
      expand_custom_partitions(propagate(pin_shardings(flat, mesh, request), mesh, request))));
}

}  // namespace tessera
