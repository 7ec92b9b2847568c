// Partition: from global shapes with shardings to local shapes with explicit collectives.
//
// Before: a propagated Function: every type has a sharding on `mesh`.
// After:  a Function of local shapes; data moves between devices only through collective ops over
//         axes of `mesh`; manual computations, constraints and calls are gone. Every type's
//         `varying` lists the axes it really differs over.
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
  // How global inputs and outputs are sharded into the local ones.
  std::vector<NamedSharding> inputs, outputs;
  std::vector<Collective> collectives;  // in program order
  std::vector<Note> notes;
};

Partitioned partition(const Function& propagated, const Mesh& mesh);

// Returns the measure by which plans are compared: the bytes that each device sends, plus those
// that take as long as the latencies of the collectives (cost.h).
int64_t communication_cost(const Partitioned& plan);
// The number of floating-point operations that take a device as long as sending a byte: about 10
// TFLOP/s for 100 GB/s.
inline constexpr int64_t kFlopsPerByte = 100;

}  // namespace tessera::spmd
