// Sorts of which only the first elements are read: the rule of simplify.
//
//   values, places = sort(x, iota)       values, places = first_sorted(x)
//   a = values[:, 0:k]             ->    a = values
//   b = places[:, 0:k]                   b = places
//
// An operand that counts along the sorted dimension is left out: its places are known. Slices stay
// as they are, and those that take all there is are views of nothing.
#pragma once

#include <optional>

#include "tessera/ir/function.h"

namespace tessera::fusion {

// How many leading elements of the lines of a sort anything reads; nothing if the op is no sort by
// a usual order, if more than a few are read, or otherwise than by slices.
std::optional<int64_t> leading_elements_read(const Function& f, const Op& op);

// A first_sorted op, and which of its results stand for the results of the sort.
struct FirstOfSort {
  Op op;
  std::vector<size_t> results;
};
// The op that gives the first `count` elements of the lines of a sort in `f`. The types of its
// results are those that it infers.
FirstOfSort first_of_sort(const Function& f, const Op& sort, int64_t count);

}  // namespace tessera::fusion
