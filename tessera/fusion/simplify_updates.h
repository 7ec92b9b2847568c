// Sums with arrays that are 0 but for a box, and choices between an array and an update of it: both
// are an update of the box alone. The former is how derivatives of slices are collected:
//
//   x + dynamic_update_slice(zeros, u, i)        x + pad(u, 0)
//     -> dynamic_update_slice(x, dynamic_slice(x, i) + u, i)
//   select(p, dynamic_update_slice(x, u, i), x)
//     -> dynamic_update_slice(x, select(p, u, dynamic_slice(x, i)), i)      p: a scalar
//   select(p, scatter(x, i, u), x)
//     -> scatter(x, select(p', i, -1), u)      p: a scalar, or one for each place of batching
//        dimensions, as vmap makes of a while loop; a window at -1 is dropped
//
// so that a step writes the box in x's memory (updates.h), and not all of x.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// A box of an array of the new function, which contains `update`. It begins at `starts`, integer
// scalars, or at the constant `low` if there are none.
struct Box {
  ValueId update;
  std::vector<ValueId> starts;
  Dims low;
};

// The ops that make the values of the new function; null for inputs.
using MakerOf = std::function<const Op*(ValueId)>;

// Returns the box outside of which the value is 0 (not -0), if an op makes it so.
std::optional<Box> box_in_zeros(const MakerOf& maker, ValueId value);
// Returns the box of `value`, if that is an update of the array x.
std::optional<Box> box_in(const MakerOf& maker, ValueId value, ValueId x);
// Returns whether a box of so many elements is a small part of an array.
bool is_small_part(int64_t box, int64_t elements);
// Returns the array of one element that the predicate is everywhere, if it is made of one.
std::optional<ValueId> scalar_of(const Function& function, const MakerOf& maker, ValueId predicate);

// The predicate of a scatter's windows: `predicate`, whose dimensions are `dims` of the indices.
struct Mask {
  ValueId predicate;
  Dims dims;
};
// Returns the predicate of the windows of `scatter` that corresponds to one of its operand's
// elements, if all elements of a window have the same predicate, and windows can be dropped.
std::optional<Mask> mask_of_windows(const Function& function, const MakerOf& maker,
                                    const Op& scatter, ValueId predicate);

}  // namespace tessera::fusion
