// Computes indices of 64 bits in 32 if all of their values are small.
//
// A vector has half as many lanes if anything in its kernel has 64 bits. JAX's random numbers are
// hashes of each element's index, which is the lower and the upper half of a uint64. Example, for a
// parallel dimension of 1000 elements:
//
//   %0: uint64 = index l0 0+1*p0
//   %1: uint32 = convert %0            ->     %0: uint32 = index l0 0+1*p0
//   %2: uint64 = 0x20
//   %3: uint64 = shr_l %0, %2
//   %4: uint32 = convert %3            ->     %1: uint32 = 0
#pragma once

#include "tessera/fusion/kernel.h"

namespace tessera::fusion {

// Returns the kernel with int32 instead of int64 and uint32 instead of uint64, if everything in it
// that has 64 bits is computed from indices and constants, is at least 0 and less than 2^31, and is
// only read by conversions to other dtypes. Returns any other kernel unchanged.
Kernel narrow_indices(Kernel kernel);

}  // namespace tessera::fusion
