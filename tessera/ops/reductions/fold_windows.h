// Folds of windows by bodies of the user's, as folds of a view of the windows
// (ops/structural/window_view.h), which one kernel computes.
//
// For example, reduce_window of a vector with windows of 3 and one element of padding at its start:
//
//   x = [a b c d]      padded [0 a b c d], inside [no yes yes yes yes]
//   view               [[0 a b], [a b c], [b c d]], and likewise what is inside
//   y = fold of the view's dimension 0: acc = inside ? body(acc, x) : acc
//
// select_and_scatter is two such folds: the first one selects a place in each window, the second
// one folds into each element the sources of the windows that selected it.
#pragma once

#include <vector>

#include "tessera/ops/reductions/select_and_scatter.h"

namespace tessera::ops {

// Returns the folds of all windows of arrays of one shape. The body is elementwise.
std::vector<Array> folded_windows(const Function& body, const std::vector<Array>& x,
                                  const std::vector<Array>& inits, const Windows& windows);

// Returns the result of a select_and_scatter whose functions are elementwise and whose padding is
// not negative at the start.
Array selected_and_scattered(const SelectAndScatterParams& p, const Array& x, const Array& source,
                             const Array& init);

}  // namespace tessera::ops
