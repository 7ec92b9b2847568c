#include "tessera/interchange/programs/inline_calls.h"

#include "tessera/control/control.h"
#include "tessera/ir/append_ops.h"

namespace tessera::interchange {
namespace {

// Appends the body of `f` to `out`, with calls inlined.
ValueIds append_inlined(Function& out, const Function& f, const ValueIds& values) {
  return append_ops(f, values, [&](const Op& op, ValueIds operands) {
    if (op.def == &call_op)
      return append_inlined(out, *op.params.as<CallParams>().callee, operands);
    return out.add_op(copy_of(op, op.params, std::move(operands)), f.types_of(op.results));
  });
}

}  // namespace

Function without_calls(const Function& f) {
  return rewritten(
      f, [&](Function& out, const ValueIds& inputs) { return append_inlined(out, f, inputs); });
}

}  // namespace tessera::interchange
