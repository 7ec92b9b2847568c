// Loads outside of operands: where a kernel reads under a condition, whole vectors may stand at
// addresses far from the operand, which the processor looks up though no lane is wanted.
#pragma once

#include "tessera/fusion/schedule.h"

namespace tessera::costs {

struct Outside {
  std::string kernel;  // its text
  int64_t bytes = 0;   // how far from an operand its farthest access ends
};

// Returns the kernel of the schedule that touches memory farthest from its operands; 0 bytes if none
// goes beyond it by four vectors. Kernels that load nothing under a condition
// are not looked at. Each distinct kernel is compiled and run once in this process, on zeros.
Outside farthest_outside(const fusion::Schedule& schedule);

}  // namespace tessera::costs
