// The naive evaluation of a scatter, which its library call is tested against.
#pragma once

#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops {

std::vector<Literal> evaluate_scatter(std::span<const Literal> x, const ScatterParams& p);

}  // namespace tessera::ops
