// Sorts of which only the first elements are read: a rule of simplify.
//
//   values, places = sort(x, iota)       values, places = first_sorted(x)
//   a = values[:, 0:k]             ->    a = values
//   b = places[:, 0:k]                   b = places
//
// An operand that counts along the sorted dimension is left out, since its values are known. The
// slices stay; those that take the whole operand are views.
#pragma once

#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// Returns how many leading elements of the lines of a sort are read; nullopt if the op is no sort
// by a simple order, if more than a few are read, or if they are not read by slices.
std::optional<int64_t> leading_elements_read(const Function& f, const Op& op);

// A first_sorted op, and which of its results replace the results of the sort.
struct FirstOfSort {
  Op op;
  std::vector<size_t> results;
};
// Returns the op that computes the first `count` elements of the lines of a sort in `f`. The types
// of its results are those that it infers.
FirstOfSort first_of_sort(const Function& f, const Op& sort, int64_t count);

}  // namespace tessera::fusion
