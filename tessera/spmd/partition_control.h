// Loops and branches on shards: operands and what comes out of a region are brought to the
// shardings that propagation tied together; the regions are partitioned like the function around
// them.
#pragma once

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"
#include "tessera/sharding/atoms.h"

namespace tessera::spmd {

// What the rules below ask of the partitioner of the function that holds the op.
class ControlPartition {
 public:
  virtual ~ControlPartition() = default;
  // Operand `k` of the op under this sharding.
  virtual Array operand(size_t k, const DimAtoms& dims) = 0;
  // The sharding that propagation gave to a value of this type.
  virtual DimAtoms declared(const Type& type) = 0;
  // The region on shards: its inputs have these local types and shardings, its outputs get those of
  // `outputs`.
  virtual Function region(const Function& region, std::span<const Type> types,
                          const std::vector<DimAtoms>& inputs,
                          const std::vector<DimAtoms>& outputs) = 0;
  virtual void settle(size_t r, const Array& x, const DimAtoms& dims) = 0;
};

void partition_control(const Op& op, const Function& f, ControlPartition& partition);

}  // namespace tessera::spmd
