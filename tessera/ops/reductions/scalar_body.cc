#include "tessera/ops/reductions/scalar_body.h"

#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/select.h"

namespace tessera::ops {
namespace {

class ScalarOps {
 public:
  explicit ScalarOps(Function& out) : out_(out) {}

  // Appends the ops of `from`; returns its outputs.
  ValueIds append(const Function& from, const ValueIds& inputs) {
    return append_ops(from, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
      if (const FunctionRef callee = callee_of(op)) return append(*callee, operands);
      if (is_branch(op)) return selected(op, operands);
      if (is_reshape_of_scalar(from, op)) return operands;
      return out_.add_op(*op.def, op.params, std::move(operands), from.types_of(op.results),
                         op.source);
    });
  }

 private:
  static bool is_branch(const Op& op) {
    return is_control_flow(op) && !control_flow_of(op).is_loop();
  }
  static bool is_reshape_of_scalar(const Function& from, const Op& op) {
    return std::holds_alternative<IndexMap>(op.def->lower) && op.operands.size() == 1 &&
           from.type(op.operands[0]).same_array(from.type(op.results[0])) &&
           from.type(op.operands[0]).shape.empty();
  }

  // Computes all branches and selects results. An index that is no branch stands for the last one.
  ValueIds selected(const Op& op, const ValueIds& operands) {
    const std::vector<FunctionRef> branches = control_regions(op);
    const ValueIds entering(operands.begin() + 1, operands.end());
    ValueIds out = append(*branches.back(), entering);
    for (size_t k = branches.size() - 1; k-- > 0;) {
      const ValueId here = is_index(operands[0], static_cast<int32_t>(k));
      const ValueIds results = append(*branches[k], entering);
      for (size_t r = 0; r < out.size(); ++r) {
        const Type type = out_.type(out[r]);
        out[r] =
            out_.add_op(select_op, select_op.params, {here, results[r], out[r]}, {&type, 1})[0];
      }
    }
    return out;
  }

  ValueId is_index(ValueId index, int32_t value) {
    const DType dtype = out_.type(index).dtype;
    const Type scalar{dtype, {}}, truth{bool_, {}};
    const Literal number = dtype == bool_ ? Literal::scalar(value != 0) : Literal::scalar(value);
    const ValueId branch =
        out_.add_op(constant_op, ConstantParams{number, {}}, {}, {&scalar, 1})[0];
    return out_.add_op(compare_op, CompareParams{Comparison::kEq, default_compare_type(dtype)},
                       {index, branch}, {&truth, 1})[0];
  }

  Function& out_;
};

}  // namespace

FunctionRef scalar_body(const Function& body) {
  auto out = std::make_shared<Function>();
  out->name = body.name;
  ValueIds inputs;
  for (ValueId v : body.inputs) inputs.push_back(out->add_input(body.type(v)));
  const ValueIds outputs = ScalarOps(*out).append(body, inputs);
  out->outputs.assign(outputs.begin(), outputs.end());
  return out;
}

}  // namespace tessera::ops
