#include "tessera/fusion/rewrites/unroll_windows.h"

#include "tessera/fusion/rewrites/simplify_windows.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/trace/trace.h"

namespace tessera::fusion {
namespace {

Function unroll(const Function& function);

class WindowUnroller {
 public:
  explicit WindowUnroller(Function& out) : out_(out) {}

  ValueIds append(const Function& f, const ValueIds& values) {
    return append_ops(f, values, [&](const Op& op, ValueIds operands) {
      std::vector<Type> types = f.types_of(op.operands);
      for (Type& type : types) type.sharding = nullptr;
      const UnrollRule rule = find_unroll_rule(*op.def);
      const FlatFn body = rule ? rule(op.params, types, f.type(op.results[0])) : nullptr;
      if (!body)
        return out_.add_op(*op.def, map_control_regions(op, unroll), std::move(operands),
                           f.types_of(op.results), op.source);
      const Function ops = tracing::trace_function(body, types).function;
      return append_ops(ops, operands, [&](const Op& made, ValueIds of) {
        return out_.add_op(*made.def, made.params, std::move(of), ops.types_of(made.results),
                           op.source);
      });
    });
  }

 private:
  Function& out_;
};

Function unroll(const Function& function) {
  return rewritten(function, [&](Function& out, const ValueIds& inputs) {
    return WindowUnroller(out).append(function, inputs);
  });
}

}  // namespace

Function unroll_windows(const Function& function) { return unroll(merge_window_pads(function)); }

}  // namespace tessera::fusion
