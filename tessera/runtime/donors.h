// Finds the inputs whose memory a result of a program may take, if the caller donates them.
//
// Example: a step (w, g) -> w - 0.1 g has one kernel, which reads each element of w and of g before
// it writes the same element of the result, so the result may take the memory of either.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/fusion/schedule.h"
#include "tessera/runtime/storage_plan.h"

namespace tessera::runtime {

struct Donors {
  struct Input {
    int input;  // its number
    int last;   // the last step that uses it
    bool holds_result;
  };
  // A result in memory of its own.
  struct Output {
    int64_t bytes = 0;
    int first = -1;  // the first step that writes it: inputs whose last use is earlier may give it
    // The inputs of its size. -1: no input has it.
    int group = -1;
    // The inputs that the first step uses last, and whose memory it may overwrite; one may be
    // listed twice.
    std::vector<int> updated;
  };
  // The inputs of one size each, in the order of their last uses.
  std::vector<std::vector<Input>> groups;
  std::vector<Output> outputs;  // in the order of the plan's storages
};

// `mapped`: for each input, whether its instances are numbered differently in the program. Takes
// time proportional to the size of the schedule, except that the inputs and the results that one
// kernel may share are compared in pairs.
Donors find_donors(const fusion::Schedule& s, const StoragePlan& plan,
                   const std::vector<bool>& mapped);

}  // namespace tessera::runtime
