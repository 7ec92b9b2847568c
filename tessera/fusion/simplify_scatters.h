// Scatters of one window: the rule of simplify. What is updated so is a dynamic_update_slice, which
// loops make in place and in machine code.
//
//   y = scatter(add, x, index, update)        start = reshape(index)
//                                             old = dynamic_slice(x, start)
//                                       ->    new = old + update
//                                             part = select(0 <= start <= n - 1, new, old)
//                                             y = dynamic_update_slice(x, part, start)
//
// A window that is not inside is moved inside by both slices, and what is there is written again:
// the scatter drops it.
#pragma once

#include <functional>
#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// Whether the op of `f` is a scatter of one window, which has elements, by a known combiner.
bool is_scatter_of_one_window(const Function& f, const Op& op);

// Appends an op to the function that is made and returns its result.
using AppendOp = std::function<ValueId(Op op)>;
// Returns the result of the ops that do the same as `scatter`, such a scatter. `f`: the function
// that is made, which has its operands.
ValueId update_one_window(const Function& f, const Op& scatter, const AppendOp& append);

}  // namespace tessera::fusion
