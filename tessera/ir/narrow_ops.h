// Ops on narrow dtypes (base/narrow.h): no op computes with them, so those that do more than move
// elements are given wide operands, and their results are made narrow again.
//
// bind_op() does so for programs that are traced, ModuleBuilder for those that are read. Afterwards
// every op with OpDef::narrow other than kAsTheyAre has wide operands and results.
#pragma once

#include <functional>
#include <optional>

#include "tessera/ir/op_def.h"

namespace tessera::ir {

bool has_narrow(std::span<const Type> types);
// What an op with this rule sees of a dtype.
DType wide_dtype(DType dtype, NarrowOperands rule);

// Adds one op, to a trace or a function; its only result. V: Array or ValueId.
template <class V>
using AddOp = std::function<V(const OpDef&, OpParams, std::vector<V> operands)>;

// The operand that an op with this rule is given for `value` of this type: `value` itself if it is
// wide.
template <class V>
V widened(const V& value, const Type& type, NarrowOperands rule, const AddOp<V>& add);
// `value` as `dtype`.
template <class V>
V converted(const V& value, DType dtype, bool weak, const AddOp<V>& add);

// The results of the op bound with wide operands; nothing if none of its operands and dtypes is
// narrow, or it takes them as they are.
std::optional<std::vector<Array>> bind_widened(const OpDef& def, const OpParams& params,
                                               std::span<const Array> operands);

// A region of such an op, over wide scalars. One that rounds at most once does so no more: what it
// gives is rounded where it is used.
FunctionRef widened_region(const FunctionRef& region, NarrowOperands rule);

}  // namespace tessera::ir
