#include "tessera/interchange/programs/guard_infinities.h"

#include <cmath>

#include "tessera/interchange/programs/map_regions.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"

namespace tessera::interchange {
namespace {

// Returns whether the op is a constant whose elements are all infinite.
bool is_infinity(const Op& op) {
  const ConstantParams* constant = as_constant(op);
  if (!constant || !constant->is_splat() || !is_floating(constant->value.dtype())) return false;
  return std::isinf(*convert_literal(constant->value, float64).data<double>());
}

class Guard {
 public:
  explicit Guard(const Function& f) : f_(f), maker_(f.producers()), uses_(f.types.size(), 0) {
    for (const Op& op : f.ops)
      for (ValueId v : op.operands) ++uses_[v];
    for (ValueId v : f.outputs) ++uses_[v];
    out_.name = f.name;
  }

  Function run() {
    for (ValueId v : f_.inputs) out_.add_input(f_.types[v]);
    const ValueIds inputs(out_.inputs.begin(), out_.inputs.end());
    const ValueIds outputs = append_ops(f_, inputs, [&](const Op& op, ValueIds operands) {
      if (op.def == &select_op)
        for (size_t choice : {1, 2}) guard(op, choice, operands);
      return add(op, std::move(operands));
    });
    out_.outputs.assign(outputs.begin(), outputs.end());
    return remove_dead_ops(out_);
  }

 private:
  ValueIds add(const Op& op, ValueIds operands) {
    return out_.add_op(copy_of(op, map_regions(op, guard_infinities), std::move(operands)),
                       f_.types_of(op.results));
  }

  // Replaces the product that is choice `choice` of a select. `operands` are the select's operands
  // in the new function.
  void guard(const Op& select, size_t choice, ValueIds& operands) {
    const ValueId chosen = select.operands[choice];
    if (maker_[chosen] < 0 || uses_[chosen] != 1) return;
    const Op& product = f_.ops[maker_[chosen]];
    if (product.def != &mul_op) return;
    const int left = maker_[product.operands[0]], right = maker_[product.operands[1]];
    const bool last = right >= 0 && is_infinity(f_.ops[right]);
    if (!last && !(left >= 0 && is_infinity(f_.ops[left]))) return;
    const ValueIds factors = out_.ops[producer_of(operands[choice])].operands;
    const ValueId x = factors[last ? 0 : 1];
    const Type type = out_.type(x);
    const Literal one = convert_literal(Literal::scalar(1.0), type.dtype);
    const ValueId ones =
        out_.add_op(constant_op, ConstantParams{one, type.shape}, {}, {&type, 1})[0];
    ValueIds choices{operands[0], x, ones};
    if (choice == 2) std::swap(choices[1], choices[2]);
    const ValueId some =
        out_.add_op(Op{select.def, select.params, choices, {}, select.source, 0}, {&type, 1})[0];
    operands[choice] = add(product, {some, factors[last ? 1 : 0]})[0];
  }

  size_t producer_of(ValueId v) const {
    for (size_t i = out_.ops.size(); i-- > 0;)
      for (ValueId result : out_.ops[i].results)
        if (result == v) return i;
    TESSERA_CHECK(false, "value {} has no op", v);
  }

  const Function& f_;
  const std::vector<int> maker_;
  std::vector<int> uses_;
  Function out_;
};

}  // namespace

Function guard_infinities(const Function& function) { return Guard(function).run(); }

}  // namespace tessera::interchange
