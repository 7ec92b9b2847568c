// Scatters of rows that were gathered, a rule of simplify.
//
//   u = gather(rows, source)                 at = select(inside, clamp(source), -1)
//   v = select(inside, u, fill)         ->   ends, sources = list_rows(index, at)
//   y = scatter(add, x, index, v)            y = fold_lists(x, ends, sources, rows, fill)
//
// The gathered rows are not stored, and scatters with the same indices share their lists. The order
// of the updates stays, and so do the bits of the result.
#pragma once

#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/fusion/rewrites/simplify_updates.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// Returns whether the op of `f` is a scatter of whole rows that nothing else reads, and is large
// enough for lists.
bool is_large_row_scatter(const Function& f, const Op& op);

// Appends ops to a function and returns all results.
using AppendOps = std::function<ValueIds(Op op)>;
// Returns the result of ops that do the same as `scatter`, for which is_large_row_scatter holds, if
// its updates are gathered rows. `f` is the new function, which already has the operands.
std::optional<ValueId> fold_gathered_rows(const Function& f, const MakerOf& maker,
                                          const Op& scatter, const AppendOps& append);

}  // namespace tessera::fusion
