// What distributions share, for source files of stats/.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::scipy::stats::internal {

// Returns log(1 - exp(-x)) of x >= 0.
Array log1m_exp(const Array& x);

}  // namespace tessera::scipy::stats::internal
