// open_regions: a function and the regions inside it as one propagation problem.
//
// Before: a flat Function (flatten_regions.h) with loops and branches.
// After:  one Function that also contains the values and ops of every region, and ties between
//         values that must have the same sharding: the carries of consecutive trips, a region's
//         input and the value that enters it, the results of every branch. close_regions() writes
//         the shardings back.
#pragma once

#include <memory>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

// Values that must have the same sharding.
struct Tie {
  std::vector<ValueId> values;
  bool first_is_stacked;  // the first value has an additional first dimension, which is not sharded
};

struct OpenedRegions {
  // Values of the function itself keep their numbers. A region's ops come before the op that
  // contains them; its inputs have no producer.
  Function flat;
  std::vector<Tie> ties;
  std::vector<ValueId> source;  // for each region's input, the value that enters it; otherwise -1

  // The numbers in `flat` of the values of a function and of its regions.
  struct Level {
    const Function* function;
    std::vector<ValueId> values;
    std::vector<std::vector<Level>> regions;  // for each op
  };
  Level top;
};

// Returns the opened function. `f` must outlive the result.
OpenedRegions open_regions(const Function& f);
// Returns the original function with the shardings of `opened.flat`.
Function close_regions(const OpenedRegions& opened);

}  // namespace tessera::sharding
