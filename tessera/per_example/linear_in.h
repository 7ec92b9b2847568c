// Finds out from an op's derivative whether the op is linear in some of its operands.
#pragma once

#include <span>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::per_example {

// Returns whether the op, for operands of these types, is an affine function of the marked operands
// together. The test is whether its tangents do not read these operands. Integers have no tangents:
// ops that move, add or convert them count as linear.
bool is_linear_in(const ir::Op& op, std::span<const ir::Type> operands,
                  const std::vector<bool>& marked);

}  // namespace tessera::per_example
