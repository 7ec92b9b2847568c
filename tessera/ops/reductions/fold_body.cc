#include "tessera/ops/reductions/fold_body.h"

#include <algorithm>

#include "tessera/ir/append_ops.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"

namespace tessera::ops {
namespace {

std::vector<DType> element_dtypes(const Function& body) {
  std::vector<DType> out;
  for (size_t k = 0; k < body.outputs.size(); ++k) out.push_back(body.type(body.inputs[k]).dtype);
  return out;
}

// Numbers expressions such that equal ones have the same number, also if the operands of a
// commutative op changed places.
class Numbering {
 public:
  std::vector<int> of(const Function& f, const std::vector<int>& inputs) {
    std::vector<int> number(f.types.size(), -1);
    for (size_t i = 0; i < inputs.size(); ++i) number[f.inputs[i]] = inputs[i];
    for (const Op& op : f.ops) {
      Expression e{op.def, op.params, {}};
      for (ValueId v : op.operands) e.operands.push_back(number[v]);
      number[op.results[0]] = find(std::move(e));
    }
    std::vector<int> out;
    for (ValueId v : f.outputs) out.push_back(number[v]);
    return out;
  }

 private:
  struct Expression {
    const OpDef* def;
    OpParams params;
    std::vector<int> operands;
    friend bool operator==(const Expression&, const Expression&) = default;
  };

  static void sort_operands(Expression& e) {
    static const OpDef* const commutative[] = {
        &add_op, &mul_op, &max_op, &min_op, &bitwise_and_op, &bitwise_or_op, &bitwise_xor_op};
    if (std::find(std::begin(commutative), std::end(commutative), e.def) != std::end(commutative))
      std::sort(e.operands.begin(), e.operands.end());
    if (e.def != &compare_op || e.operands[0] <= e.operands[1]) return;
    std::swap(e.operands[0], e.operands[1]);
    CompareParams p = e.params.as<CompareParams>();
    switch (p.direction) {
      case Comparison::kEq:
      case Comparison::kNe:
        break;
      case Comparison::kLt:
        p.direction = Comparison::kGt;
        break;
      case Comparison::kGt:
        p.direction = Comparison::kLt;
        break;
      case Comparison::kLe:
        p.direction = Comparison::kGe;
        break;
      case Comparison::kGe:
        p.direction = Comparison::kLe;
        break;
    }
    e.params = p;
  }

  int find(Expression e) {
    sort_operands(e);
    const auto at = std::find(all_.begin(), all_.end(), e);
    const auto number = static_cast<int>(at - all_.begin());
    if (at == all_.end()) all_.push_back(std::move(e));
    return kInputs + number;
  }

  static constexpr int kInputs = 1 << 20;  // numbers below are inputs
  std::vector<Expression> all_;
};

}  // namespace

bool is_elementwise(const Function& body) {
  return std::all_of(body.ops.begin(), body.ops.end(), [](const Op& op) {
    return std::holds_alternative<Pointwise>(op.def->lower) && op.results.size() == 1;
  });
}

bool is_commutative(const Function& body) {
  if (!is_elementwise(body)) return false;
  const auto n = static_cast<int>(body.outputs.size());
  std::vector<int> inputs, exchanged;
  for (int k = 0; k < 2 * n; ++k) {
    inputs.push_back(k);
    exchanged.push_back((k + n) % (2 * n));
  }
  Numbering numbering;
  return numbering.of(body, inputs) == numbering.of(body, exchanged);
}

namespace {

// Returns the body (acc, any, x, inside) -> (acc, any or inside) whose accumulators are
// choose(f, any, inside, body(acc, x), acc, x), one by one.
template <class Choose>
FunctionRef body_with_inside(const Function& body, const Choose& choose) {
  const std::vector<DType> dtypes = element_dtypes(body);
  FoldBody f;
  const std::vector<ValueId> acc = f.inputs(dtypes);
  const ValueId any = f.input(bool_);
  const std::vector<ValueId> x = f.inputs(dtypes);
  const ValueId inside = f.input(bool_);
  std::vector<ValueId> out = f.apply(body, acc, x);
  for (size_t k = 0; k < out.size(); ++k) out[k] = choose(f, any, inside, out[k], acc[k], x[k]);
  out.push_back(f.either(any, inside));
  return f.finish(out);
}

}  // namespace

FunctionRef if_inside(const Function& body) {
  return body_with_inside(body, [](FoldBody& f, ValueId, ValueId inside, ValueId folded,
                                   ValueId acc, ValueId) { return f.choose(inside, folded, acc); });
}

FunctionRef from_first_inside(const Function& body) {
  return body_with_inside(
      body, [](FoldBody& f, ValueId any, ValueId inside, ValueId folded, ValueId acc, ValueId x) {
        return f.choose(any, f.choose(inside, folded, acc), x);
      });
}

std::vector<ValueId> FoldBody::inputs(std::span<const DType> dtypes) {
  std::vector<ValueId> out;
  for (DType dtype : dtypes) out.push_back(input(dtype));
  return out;
}

std::vector<ValueId> FoldBody::apply(const Function& body, std::vector<ValueId> args,
                                     const std::vector<ValueId>& more) {
  args.insert(args.end(), more.begin(), more.end());
  return append_ops(body, args, [&](const Op& op, std::vector<ValueId> operands) {
    const ValueIds& results =
        f_.add_op(copy_of(op, op.params, ValueIds(operands.begin(), operands.end())),
                  body.types_of(op.results));
    return std::vector<ValueId>(results.begin(), results.end());
  });
}

ValueId FoldBody::choose(ValueId p, ValueId a, ValueId b) {
  return op(select_op, {p, a, b}, f_.type(a));
}
ValueId FoldBody::both(ValueId a, ValueId b) { return op(bitwise_and_op, {a, b}, f_.type(a)); }
ValueId FoldBody::either(ValueId a, ValueId b) { return op(bitwise_or_op, {a, b}, f_.type(a)); }
ValueId FoldBody::opposite(ValueId a) { return op(bitwise_not_op, {a}, f_.type(a)); }

FunctionRef FoldBody::finish(const std::vector<ValueId>& outputs) {
  f_.name = "body";
  f_.outputs.assign(outputs.begin(), outputs.end());
  return std::make_shared<const Function>(std::move(f_));
}

ValueId FoldBody::op(const OpDef& def, ValueIds operands, Type type) {
  return f_.add_op(def, def.params, std::move(operands), {&type, 1})[0];
}

}  // namespace tessera::ops
