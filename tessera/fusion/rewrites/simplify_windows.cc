#include "tessera/fusion/rewrites/simplify_windows.h"

#include <algorithm>
#include <vector>

#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"

namespace tessera::fusion {
namespace {

class PadMerger {
 public:
  Function run(const Function& function) {
    out_.name = function.name;
    ValueIds inputs;
    for (ValueId v : function.inputs) inputs.push_back(out_.add_input(function.types[v]));
    const ValueIds outputs =
        append_ops(function, inputs, [&](const Op& op, const ValueIds& operands) {
          Op copy = op;
          copy.operands.assign(operands.begin(), operands.end());
          while (merge(copy, function.type(op.results[0]))) {
          }
          const ValueIds results =
              out_.add_op(*copy.def, map_control_regions(copy, merge_window_pads),
                          ValueIds(copy.operands.begin(), copy.operands.end()),
                          function.types_of(op.results), op.source);
          makers_.resize(out_.types.size(), -1);
          for (ValueId v : results)
            makers_[static_cast<size_t>(v)] = static_cast<int>(out_.ops.size()) - 1;
          return results;
        });
    out_.outputs.assign(outputs.begin(), outputs.end());
    return std::move(out_);
  }

 private:
  const Op* maker(ValueId v) const {
    const auto at = static_cast<size_t>(v);
    if (at >= makers_.size() || makers_[at] < 0) return nullptr;
    return &out_.ops[static_cast<size_t>(makers_[at])];
  }

  // Returns whether all elements of the value have the bits of `number`.
  bool is_constant(ValueId v, const Literal& number) const {
    const Op* op = maker(v);
    while (op && op->def == &broadcast_in_dim_op) op = maker(op->operands[0]);
    return op && op->def == &constant_op && op->params.as<ConstantParams>().value == number;
  }

  // Makes the fold read the operand of the pad that it reads. Returns whether it did. It does not
  // if the fold would not be unrolled then.
  bool merge(Op& op, const Type& result) const {
    if (op.def != &reduce_window_op || op.operands.size() != 2) return false;
    const Op* pad = maker(op.operands[0]);
    if (!pad || pad->def != &pad_op) return false;
    auto p = op.params.as<ReduceWindowParams>();
    const auto& amounts = pad->params.as<PadParams>();
    if (p.kind > ReduceKind::kOr) return false;
    const Type& type = out_.types[static_cast<size_t>(pad->operands[0])];
    const Literal identity = reduce_identity(p.kind, type.dtype);
    if (!is_constant(op.operands[1], identity) || !is_constant(pad->operands[1], identity))
      return false;
    for (int64_t d = 0; d < type.rank(); ++d) {
      if (type.shape[d] == 0 || amounts.low[d] < 0 || amounts.high[d] < 0) return false;
      const int64_t apart = p.base_dilation[d];
      p.low[d] += apart * amounts.low[d];
      p.high[d] += apart * amounts.high[d];
      p.base_dilation[d] = apart * (amounts.interior[d] + 1);
    }
    OpParams merged = std::move(p);
    const std::vector<Type> types{type, out_.types[static_cast<size_t>(op.operands[1])]};
    if (!find_unroll_rule(reduce_window_op)(merged, types, result)) return false;
    op.params = std::move(merged);
    op.operands[0] = pad->operands[0];
    return true;
  }

  Function out_;
  std::vector<int> makers_;  // for each value of out_, the position of its op; -1: an input
};

}  // namespace

Function merge_window_pads(const Function& function) { return PadMerger().run(function); }

}  // namespace tessera::fusion
