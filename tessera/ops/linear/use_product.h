// Uses of a parameter (ops/core/use_rule.h) as outer products of what each example has: the form in which the
// norm of a per-example gradient is known without the gradient.
#pragma once

#include <optional>

#include "tessera/ops/core/use_rule.h"

namespace tessera::ops {

// A use whose parameter only passes through a slice, transposes, reshapes, conversions and
// broadcasts on its way to one op that has an outer product, and what this gives through transposes,
// reshapes, conversions and selections.
struct UseProduct {
  OuterProduct product;  // `batch`, `rows`, `columns` are dimensions of what `views` make of it
  Shape shape;           // of that
  // The part of the parameter that is read.
  Dims start, limit, strides;
  // The op is dot_general and nothing on the way was broadcast: its transpose sums over examples by
  // DotSum::kExamples, and nothing else is added up.
  bool is_dot = false;
  // The reshapes on the way: dimensions of two uses correspond where these are equal.
  std::vector<Shape> views;
};

// Of one example, by the use's operands and cotangents; nothing where it is no such use. Binds
// under the current trace.
std::optional<UseProduct> product_of(const Use& use);

// How the parts of one parameter that two uses read lie to each other.
enum class Overlap : uint8_t { kNone, kSame, kPart };
Overlap overlap(const UseProduct& a, const UseProduct& b);

}  // namespace tessera::ops
