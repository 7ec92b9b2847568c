// Finds loads outside of operands. If a kernel reads under a condition, whole vectors may be at
// addresses far from the operand, which the processor looks up although no lane is needed.
#pragma once

#include "tessera/fusion/schedule.h"

namespace tessera::costs {

struct Outside {
  std::string kernel;  // the text of the kernel
  int64_t bytes = 0;   // how far from an operand its farthest access ends
};

// Returns the kernel of the schedule that touches memory farthest from its operands; 0 bytes if
// none goes beyond them by four vectors or more. Kernels without conditional loads are not tested.
// Each distinct kernel is compiled and run once in this process, on zeros.
Outside farthest_outside(const fusion::Schedule& schedule);

}  // namespace tessera::costs
