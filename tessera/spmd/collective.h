// The collectives and costs of a partitioned program. partition() makes the lists; Lowered shows
// them to users.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// One of several arrays that one collective sends.
struct CollectivePart {
  int64_t bytes_per_device = 0;
  std::string op, source, reason;  // as in Collective
};

// One collective of the partitioned program.
struct Collective {
  std::string name;  // StableHLO's name: all_reduce, all_gather, reduce_scatter, all_to_all, ...
  std::vector<std::string> axes;  // the mesh axes that it runs over
  int64_t group_size = 1;         // the number of devices in each group
  // The bytes that each device sends (ring algorithms: all_reduce 2 (n-1)/n of its operand, ...).
  int64_t bytes_per_device = 0;
  double seconds = 0;  // estimated on the mesh's links
  // How often it runs: the number of trips of the enclosing loops; -1 if a condition decides.
  int64_t times = 1;
  std::string op;      // the op of the user's program that needs it
  std::string source;  // where that op was called; may be empty
  std::string reason;  // e.g. "dot_general sums over dimension 1 of operand 0, sharded over 'x'"
  // The arrays, if small collectives were combined; op, source and reason above are then those of
  // the first. It is empty if the collective sends one array.
  std::vector<CollectivePart> parts;
};

// Something else that explain() reports, such as padding or a fallback. It is a warning if it costs
// more than the array itself.
struct Note {
  bool warning = false;
  std::string op, source, text, remedy;
};

}  // namespace tessera
