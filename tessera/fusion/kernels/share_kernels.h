// Lets kernels that differ only in numbers share their machine code.
//
// A program that draws random numbers of several constant keys has a kernel for each, and the keys
// are constants of these kernels. The numbers become elements of a constant array that the kernel
// reads, so that all of the kernels have the same text and are compiled once. Example, in the
// kernels of two layers:
//
//   %3: uint32 = 0x07000000         %3: uint32 = load l0 b2[0]     (b2 is [7] and [8])
//   %4: uint32 = xor %1, %3    ->   %4: uint32 = xor %1, %3
#pragma once

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Applies this to the kernels of the schedule's own steps, not to those of loops and branches.
// Only unsigned integers that are added, multiplied or combined bit by bit are replaced: code
// generation needs to know other constants, such as the bounds of an index.
void share_kernels(Schedule& schedule);

}  // namespace tessera::fusion
