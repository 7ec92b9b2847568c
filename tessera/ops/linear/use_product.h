// Uses of a parameter (ops/core/use_rule.h) as outer products of values of each example: in this
// form the norm of a per-example gradient can be computed without the gradient.
#pragma once

#include <optional>

#include "tessera/ops/core/use_rule.h"

namespace tessera::ops {

// A use whose parameter only passes through a slice, transposes, reshapes, conversions and
// broadcasts to one op that has an outer product, and whose result then passes through transposes,
// reshapes, conversions and selections.
struct UseProduct {
  OuterProduct product;  // `batch`, `rows`, `columns` are dimensions of the parameter after `views`
  Shape shape;           // its shape then
  // The part of the parameter that is read.
  Dims start, limit, strides;
  // The op is dot_general and nothing is broadcast before or after it: its transpose sums over
  // examples by DotSum::kExamples, and nothing else is added up.
  bool is_dot = false;
  // The reshapes that the parameter passes through: dimensions of two uses correspond if these are
  // equal.
  std::vector<Shape> views;
};

// Returns the product for one example, from the use's operands and cotangents, or nothing if it has
// none. It binds ops under the current trace.
std::optional<UseProduct> product_of(const Use& use);

// How the parts of one parameter that two uses read overlap.
enum class Overlap : uint8_t { kNone, kSame, kPart };
Overlap overlap(const UseProduct& a, const UseProduct& b);

}  // namespace tessera::ops
