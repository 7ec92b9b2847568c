// The naive evaluation of a scatter, against which its library call is tested.
#pragma once

#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops {

std::vector<Literal> evaluate_scatter(std::span<const Literal> x, const ScatterParams& p);

}  // namespace tessera::ops
