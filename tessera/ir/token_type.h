// StableHLO's tokens, which order effects, are arrays without elements here. An op that takes a
// token runs after the op that made it. Tokens pass through loops, branches and calls like other
// values.
#pragma once

#include "tessera/ir/type.h"

namespace tessera::ir {

inline Type token_type() { return {.dtype = bool_, .shape = {0}}; }

}  // namespace tessera::ir
