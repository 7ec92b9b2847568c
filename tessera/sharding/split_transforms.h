// split_transforms: a Fourier transform over several dimensions becomes one transform along each.
//
// Before: a Function with fft ops over up to three dimensions.
// After:  the same values, by fft ops over the last dimension and fft_along ops. Each of them needs
//         only one dimension whole, so another dimension can be sharded meanwhile.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_transforms(const Function& function);

}  // namespace tessera::sharding
