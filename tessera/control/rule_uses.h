// What the rule of a custom_vjp gives for an argument that examples share, as uses
// (ops/core/use_rule.h): where it ends in a product of what each example has, the two factors
// stand for it.
//
//   bwd:  d = dot_general(x, ct); e = reduce_sum(d); f = e * 2      the cotangent of W'
//   use:  apply(W', x) = dot_general(x, broadcast_in_dim(W')), cotangents {ct * 2}
//
// For custom_derivative.cc.
#pragma once

#include <optional>

#include "tessera/ops/core/use_rule.h"

namespace tessera::control {

// Uses of input `input`, whose cotangent is `cotangent` of `rule`; `values` are all of the rule's.
// Products under permutations, reshapes, conversions, sums, additions and factors that are the same
// everywhere; nothing where there is something else.
std::optional<std::vector<Use>> product_uses(const Function& rule, std::span<const Array> values,
                                             ValueId cotangent, size_t input);

}  // namespace tessera::control
