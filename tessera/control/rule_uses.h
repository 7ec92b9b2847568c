// The rule of a custom_vjp as uses (ops/core/use_rule.h): if the rule's cotangent of a shared
// argument ends in a product of values that differ between examples, the use keeps the two operands
// of the product instead.
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

// Returns the uses of input `input`, whose cotangent is value `cotangent` of `rule`; `values` are
// all values of the rule. Between the products and the cotangent there may be transposes, reshapes,
// conversions, sums, additions and scalar factors. If there is any other op, it returns nullopt.
std::optional<std::vector<Use>> product_uses(const Function& rule, std::span<const Array> values,
                                             ValueId cotangent, size_t input);

}  // namespace tessera::control
