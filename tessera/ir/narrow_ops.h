// Ops on narrow dtypes (base/narrow.h). No op computes with these, so ops that do more than move
// elements get wide operands, and their results are converted back.
//
// bind_op() does so for traced programs, ModuleBuilder for programs that are read. Afterwards every
// op with OpDef::narrow other than kAsTheyAre has wide operands and results.
#pragma once

#include <functional>
#include <optional>

#include "tessera/ir/op_def.h"

namespace tessera::ir {

bool has_narrow(std::span<const Type> types);
// Returns the dtype that an op with this rule gets for a dtype.
DType wide_dtype(DType dtype, NarrowOperands rule);

// Adds one op to a trace or a function, and returns its only result. V is Array or ValueId.
template <class V>
using AddOp = std::function<V(const OpDef&, OpParams, std::vector<V> operands)>;

// Returns the operand that an op with this rule gets for `value` of this type; `value` itself if it
// is wide.
template <class V>
V widened(const V& value, const Type& type, NarrowOperands rule, const AddOp<V>& add);
// Returns `value` converted to `dtype`.
template <class V>
V converted(const V& value, DType dtype, bool weak, const AddOp<V>& add);

// Returns the results of the op bound with wide operands; nullopt if none of its operands and
// dtypes is narrow, or if it accepts them.
std::optional<std::vector<Array>> bind_widened(const OpDef& def, const OpParams& params,
                                               std::span<const Array> operands);

// Returns a region of such an op over wide scalars. If the region rounds at most once, the rounding
// is removed: its results are rounded where they are used.
FunctionRef widened_region(const FunctionRef& region, NarrowOperands rule);

}  // namespace tessera::ir
