// What a partitioned program tells of itself: what it communicates, and what it costs besides.
// partition() makes the lists; Lowered shows them to users.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// One of several arrays that a collective sends together.
struct CollectivePart {
  int64_t bytes_per_device = 0;
  std::string op, source, reason;  // as the collective's
};

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
  // Of small collectives that became one, each by itself; op, source and reason above are the first
  // one's. Empty where the collective sends one array.
  std::vector<CollectivePart> parts;
};

// What explain() reports besides collectives: padding waste, fallbacks. A warning costs more than
// the array itself.
struct Note {
  bool warning = false;
  std::string op, source, text, remedy;
};

}  // namespace tessera
