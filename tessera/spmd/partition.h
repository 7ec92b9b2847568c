// Partition: from global shapes with shardings to local shapes with explicit collectives.
//
// Before: a propagated Function: every type has a sharding on `mesh`.
// After:  a Function with local shapes. Data moves between devices only by collective ops over axes
//         of `mesh`. Manual computations, constraints and calls are gone. Every type's `varying`
//         lists the axes over which the value really differs.
#pragma once

#include <string>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"
#include "tessera/ir/op_def.h"
#include "tessera/spmd/collective.h"

namespace tessera::spmd {

struct Partitioned {
  Function function;
  Mesh mesh;
  // The shardings of the global inputs and outputs.
  std::vector<NamedSharding> inputs, outputs;
  std::vector<Collective> collectives;  // in program order
  std::vector<Note> notes;
};

Partitioned partition(const Function& propagated, const Mesh& mesh);

// Returns the number by which plans are compared: the bytes that each device sends, plus the bytes
// that it could send during the latencies of the collectives (cost.h).
int64_t communication_cost(const Partitioned& plan);
// The floating-point operations that a device computes in the time of sending a byte: about 10
// TFLOP/s for 100 GB/s.
inline constexpr int64_t kFlopsPerByte = 100;

}  // namespace tessera::spmd
