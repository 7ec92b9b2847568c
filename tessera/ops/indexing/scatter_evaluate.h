// How the updates of a scatter are folded in: naively, and as a library call.
#pragma once

#include "tessera/ir/lowering.h"
#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops {

std::vector<Literal> evaluate_scatter(std::span<const Literal> x, const ScatterParams& p);
HostCall scatter_call(const OpParams& params, std::span<const Type> operands,
                      std::span<const Type> results);

}  // namespace tessera::ops
