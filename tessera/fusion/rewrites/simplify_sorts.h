// Sorts whose first elements alone are read, a rule of simplify.
//
//   values, places = sort(x, iota)       values, places = first_sorted(x)
//   a = values[:, 0:k]             ->    a = values
//   b = places[:, 0:k]                   b = places
//
// An operand that counts along the sorted dimension is left out, since its values are known. The
// slices stay; a slice that takes its whole operand is a view.
#pragma once

#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// Returns how many leading elements are read of each line that is sorted. Returns nullopt if the op
// is not a sort by a simple order, if more than a few elements are read, or if something other than
// slices reads them.
std::optional<int64_t> leading_elements_read(const Function& f, const Op& op);

// A first_sorted op, and for each result of the sort, the result of this op that replaces it.
struct FirstOfSort {
  Op op;
  std::vector<size_t> results;
};
// Returns the op that computes the first `count` elements of each line of a sort in `f`. The types
// of its results are those that it infers.
FirstOfSort first_of_sort(const Function& f, const Op& sort, int64_t count);

}  // namespace tessera::fusion
