// UseProduct: a use of a parameter (ops/core/use_rule.h) as outer products of values of each
// example. From these, the norm of a per-example gradient can be computed without the gradient.
#pragma once

#include <optional>

#include "tessera/ops/core/use_rule.h"

namespace tessera::ops {

// A use of this form: the parameter passes only through a slice, transposes, reshapes, conversions
// and broadcasts to one op that has an outer product, and the result of that op passes only through
// transposes, reshapes, conversions and selections.
struct UseProduct {
  OuterProduct product;  // `batch`, `rows`, `columns` are dimensions of the parameter after `views`
  Shape shape;           // the shape of the parameter after `views`
  // The part of the parameter that is read.
  Dims start, limit, strides;
  // The op is dot_general and nothing is broadcast before or after it: its transpose sums over
  // examples by DotSum::kExamples, and nothing else is added up.
  bool is_dot = false;
  // The shapes before and after each reshape that the parameter passes through. The dimensions of
  // two uses correspond if their views are equal.
  std::vector<Shape> views;
};

// Returns the product for one example, computed from the operands and cotangents of the use;
// nullopt if the use has another form. It binds ops under the current trace.
std::optional<UseProduct> product_of(const Use& use);

// Whether two uses read the same part of a parameter, parts that may overlap, or disjoint parts.
enum class Overlap : uint8_t { kNone, kSame, kPart };
Overlap overlap(const UseProduct& a, const UseProduct& b);

}  // namespace tessera::ops
