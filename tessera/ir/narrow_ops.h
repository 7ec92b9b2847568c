// Ops on narrow dtypes (base/narrow.h). No op computes in these dtypes, so ops that do more than
// move elements get wide operands, and their results are converted back.
//
// bind_op() does this for traced programs, and ModuleBuilder for programs that are read. Afterwards
// every op with OpDef::narrow other than kAsTheyAre has wide operands and results.
#pragma once

#include <functional>
#include <optional>

#include "tessera/ir/op_def.h"

namespace tessera::ir {

bool has_narrow(std::span<const Type> types);
// Returns the dtype that takes the place of `dtype` in an op with this rule.
DType wide_dtype(DType dtype, NarrowOperands rule);

// Adds one op to a trace or a function, and returns its only result. V is Array or ValueId.
template <class V>
using AddOp = std::function<V(const OpDef&, OpParams, std::vector<V> operands)>;

// Returns `value`, which has this type, as an op with this rule gets it; `value` itself if it is
// wide.
template <class V>
V widened(const V& value, const Type& type, NarrowOperands rule, const AddOp<V>& add);
// Returns `value` converted to `dtype`.
template <class V>
V converted(const V& value, DType dtype, bool weak, const AddOp<V>& add);

// Returns the results of the op bound with wide operands; nullopt if none of its operands and
// dtypes is narrow, or if it takes narrow ones.
std::optional<std::vector<Array>> bind_widened(const OpDef& def, const OpParams& params,
                                               std::span<const Array> operands);

// Returns the region of such an op on wide scalars. If the region rounds at most once, the rounding
// is removed, because its results are rounded when they are used.
FunctionRef widened_region(const FunctionRef& region, NarrowOperands rule);

}  // namespace tessera::ir
