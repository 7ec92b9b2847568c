// fold_choices: computes operations on constants, and on selections between two constants, while a
// kernel is made. For example, JAX's gradient of a maximum divides by select(p, 2, 1). With complex
// numbers this is select(p, 2 + 0i, 1 + 0i), whose imaginary part becomes the constant 0; then all
// cases of a complex division that depend on it disappear.
//
//   add(select(p, 2, 1), 1)    ->  select(p, 3, 2)
//   ge(select(p, 2, 1), 0)     ->  true
//   and(x, false)              ->  false
//   select(true, x, y)         ->  x
//
// Before: an operation on nodes of a kernel.
// After:  a node with the same bits, or none.
#pragma once

#include <optional>
#include <vector>

#include "tessera/fusion/kernel.h"
#include "tessera/ir/scalar_expr.h"

namespace tessera::fusion {

// Returns what the operation on these nodes becomes, which `b` makes; nullopt if it stays. `b`
// appends to `nodes`.
std::optional<Expr> fold_choices(ExprBuilder& b, const std::vector<KernelNode>& nodes, ScalarOp op,
                                 DType result, std::span<const Expr> args);

}  // namespace tessera::fusion
