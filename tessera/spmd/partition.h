// Partition: from global shapes with shardings to local shapes with explicit collectives.
//
// Before: a propagated Function: every type has a sharding on `mesh`.
// After:  a Function of local shapes; data moves between devices only through collective ops over
//         axes of `mesh`; manual computations, constraints and calls are gone. Every type's
//         `varying` lists the axes it really differs over.
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/function.h"
#include "tessera/ir/op_def.h"

namespace tessera {

// One communication of the partitioned program.
struct Collective {
  std::string name;  // StableHLO's: all_reduce, all_gather, reduce_scatter, all_to_all, ...
  std::vector<std::string> axes;  // mesh axes it runs over
  int64_t group_size = 1;         // devices that take part together
  // Sent by each device (ring algorithms: all_reduce 2 (n-1)/n of its operand, ...).
  int64_t bytes_per_device = 0;
  double seconds = 0;  // estimated on the mesh's links
  // How often it happens in a run: the trips of the loops around it; -1 where a condition decides.
  int64_t times = 1;
  std::string op;      // the op of the user's program that needs it
  std::string source;  // where that op was called; may be empty
  std::string reason;  // why: "dot_general sums over dimension 1 of operand 0, cut over 'x'"
};

// What explain() reports besides collectives: padding waste, fallbacks. A warning costs more than
// the array itself.
struct Note {
  bool warning = false;
  std::string op, source, text, remedy;
};

struct Partitioned {
  Function function;
  Mesh mesh;
  // How global inputs and outputs are cut into the local ones.
  std::vector<NamedSharding> inputs, outputs;
  std::vector<Collective> collectives;  // in program order
  std::vector<Note> notes;
};

Partitioned partition(const Function& propagated, const Mesh& mesh);

}  // namespace tessera
