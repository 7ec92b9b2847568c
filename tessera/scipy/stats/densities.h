// Helpers that distributions share. Only source files of stats/ include this header.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::scipy::stats::internal {

// Returns log(1 - exp(-x)) for x >= 0.
Array log1m_exp(const Array& x);

}  // namespace tessera::scipy::stats::internal
