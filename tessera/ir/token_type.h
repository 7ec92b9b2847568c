// StableHLO's tokens, which order effects, are arrays without elements here. An op that takes a
// token comes after the op that made it, and tokens pass through loops, branches and calls as other
// values do.
#pragma once

#include "tessera/ir/type.h"

namespace tessera::ir {

inline Type token_type() { return {.dtype = bool_, .shape = {0}}; }

}  // namespace tessera::ir
