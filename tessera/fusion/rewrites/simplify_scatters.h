// Scatters of one window, a rule of simplify. They become a dynamic_update_slice, which loops can
// do in place and in machine code.
//
//   y = scatter(add, x, index, update)        start = reshape(index)
//                                             old = dynamic_slice(x, start)
//                                       ->    new = old + update
//                                             part = select(0 <= start <= n - 1, new, old)
//                                             y = dynamic_update_slice(x, part, start)
//
// If the window is not inside of x, both slices are moved inside, and the old elements are written
// again: a scatter drops such a window.
#pragma once

#include <functional>
#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// Returns whether the op of `f` is a scatter of one window, with elements, by a known combiner.
bool is_scatter_of_one_window(const Function& f, const Op& op);

// Appends an op to the new function and returns its result.
using AppendOp = std::function<ValueId(Op op)>;
// Returns the result of ops that do the same as `scatter`, a scatter of one window. `f` is the new
// function, which already has the operands.
ValueId update_one_window(const Function& f, const Op& scatter, const AppendOp& append);

}  // namespace tessera::fusion
