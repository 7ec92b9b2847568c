// open_regions: a function and the regions inside it as one propagation problem.
//
// Before: a flat Function (flatten_regions.h) with loops and branches.
// After:  one Function that also holds the values and ops of every region, and ties between the
//         values that must lie alike: what is carried from trip to trip, what enters a region, what
//         comes out of every branch. close_regions() writes the shardings back.
#pragma once

#include <memory>
#include <vector>

#include "tessera/ir/function.h"

namespace tessera::sharding {

// Values of one layout.
struct Tie {
  std::vector<ValueId> values;
  bool first_is_stacked;  // has one dimension more, its first, which is not cut
};

struct OpenedRegions {
  // Values of the function itself keep their numbers. A region's ops stand before the op that holds
  // them; its inputs have no producer.
  Function flat;
  std::vector<Tie> ties;
  std::vector<ValueId> source;  // of a region's input: what enters there; else -1

  // Where the values of a function and of its regions are in `flat`.
  struct Level {
    const Function* function;
    std::vector<ValueId> values;
    std::vector<std::vector<Level>> regions;  // of each op
  };
  Level top;
};

// `f` must outlive the result.
OpenedRegions open_regions(const Function& f);
// `f` with the shardings of the types of `opened.flat`.
Function close_regions(const OpenedRegions& opened);

}  // namespace tessera::sharding
