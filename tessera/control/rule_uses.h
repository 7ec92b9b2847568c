// The rule of a custom_vjp as uses (ops/core/use_rule.h): if its cotangent of an argument that
// examples share ends in a product of values that each example has, the use keeps the two factors
// instead.
//
//   bwd:  d = dot_general(x, ct); e = reduce_sum(d); f = e * 2      the cotangent of W'
//   use:  apply(W', x) = dot_general(x, broadcast_in_dim(W')), cotangents {ct * 2}
//
// custom_derivative.cc uses it.
#pragma once

#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/ops/core/use_rule.h"

namespace tessera::control {

// Returns the uses of input `input`, whose cotangent is `cotangent` of `rule`; `values` are all
// values of the rule. It finds products under permutations, reshapes, conversions, sums, additions
// and factors that are the same everywhere, and returns nullopt if there is anything else.
std::optional<std::vector<Use>> product_uses(const Function& rule, std::span<const Array> values,
                                             ValueId cotangent, size_t input);

}  // namespace tessera::control
