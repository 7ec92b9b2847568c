// Sums with arrays that are 0 except for a box, and choices between an array and an update of it:
// both become an update of the box alone. The derivatives of slices are collected in such sums.
//
//   x + dynamic_update_slice(zeros, u, i)        x + pad(u, 0)
//     -> dynamic_update_slice(x, dynamic_slice(x, i) + u, i)
//   select(p, dynamic_update_slice(x, u, i), x)
//     -> dynamic_update_slice(x, select(p, u, dynamic_slice(x, i)), i)      p: a scalar
//   select(p, scatter(x, i, u), x)
//     -> scatter(x, select(p', i, -1), u)      p: a scalar, or one for each index of the batching
//        dimensions, as vmap makes of a while loop; a window at -1 is dropped
//
// A step then writes the box in x's memory (updates.h), and not all of x.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// A box of an array of the new function; `update` is its content. It begins at `starts`, integer
// scalars, or at the constants `low` if there are no `starts`.
struct Box {
  ValueId update;
  std::vector<ValueId> starts;
  Dims low;
};

// Returns the op that makes a value of the new function; null for inputs.
using MakerOf = std::function<const Op*(ValueId)>;

// Returns the box outside of which the value is 0 (not -0), if the op that makes it shows this.
std::optional<Box> box_in_zeros(const MakerOf& maker, ValueId value);
// Returns the box of `value` if `value` is an update of the array x.
std::optional<Box> box_in(const MakerOf& maker, ValueId value, ValueId x);
// Returns whether a box of `box` elements is a small part of an array of `elements`.
bool is_small_part(int64_t box, int64_t elements);
// Returns the array of one element that the predicate repeats everywhere; nullopt if there is none.
std::optional<ValueId> scalar_of(const Function& function, const MakerOf& maker, ValueId predicate);

// The predicate of a scatter's windows. Its dimensions are the dimensions `dims` of the indices.
struct Mask {
  ValueId predicate;
  Dims dims;
};
// Given a predicate of the elements of the operand of `scatter`, returns the predicate of its
// windows. Returns nullopt if the elements of a window may differ, or if windows cannot be dropped.
std::optional<Mask> mask_of_windows(const Function& function, const MakerOf& maker,
                                    const Op& scatter, ValueId predicate);

}  // namespace tessera::fusion
