#include "tessera/control/rule_uses.h"

#include <algorithm>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/linear/convolution.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/linear/use_product.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/derivative.h"

namespace tessera::control {
namespace {

// The limit of terms. A sum with more terms is not divided into terms.
constexpr size_t kMaxTerms = 16;

// A term of the cotangent: a product, and the ops that are applied to it afterwards.
struct Term {
  const Op* product = nullptr;
  std::vector<const Op*> then;  // the last op first; each is linear in its first operand
  Array factor;                 // a scalar; undefined means 1
};

class RuleUses {
 public:
  RuleUses(const Function& rule, std::span<const Array> values)
      : rule_(rule), values_(values), producers_(rule.types.size()) {
    for (const Op& op : rule.ops)
      for (ValueId v : op.results) producers_[v] = &op;
  }

  // Divides the value into a sum of terms. Returns false if it is not such a sum.
  bool take(ValueId v, Term term) {
    const Op* op = producers_[v];
    if (!op || op->results.size() != 1 || terms_.size() >= kMaxTerms) return false;
    if (is_renaming(*op, rule_.type(v))) {
      term.then.push_back(op);
      return take(op->operands[0], std::move(term));
    }
    if (op->def == &add_op || op->def == &sub_op) {
      Term second = term;
      if (op->def == &sub_op) scale(second, lax::full({}, -1, rule_.type(v).dtype), false);
      return take(op->operands[0], std::move(term)) && take(op->operands[1], std::move(second));
    }
    if (op->def == &neg_op) {
      scale(term, lax::full({}, -1, rule_.type(v).dtype), false);
      return take(op->operands[0], std::move(term));
    }
    if (op->def == &mul_op || op->def == &div_op) return take_scaled(*op, std::move(term));
    term.product = op;
    terms_.push_back(std::move(term));
    return true;
  }

  std::optional<std::vector<Use>> uses(const Type& type, size_t input) const {
    std::vector<Use> out;
    for (const Term& term : terms_) {
      std::optional<Use> use = use_of(term, type, input);
      if (!use) return std::nullopt;
      out.push_back(std::move(*use));
    }
    return out;
  }

 private:
  bool is_renaming(const Op& op, const Type& result) const {
    return op.def == &transpose_op || op.def == &reshape_op ||
           (op.def == &convert_op && is_inexact(result.dtype)) ||
           (op.def == &reduce_op && op.params.as<ReduceParams>().kind == ReduceKind::kSum &&
            is_zero(op.operands[1]));
  }
  static Array renamed(const Op& op, const Array& x) {
    return op.def == &reduce_op ? lax::reduce_sum(x, op.params.as<ReduceParams>().dims)
                                : bind_op1(*op.def, op.params, {x});
  }

  static void scale(Term& term, const Array& by, bool divide) {
    const Array x = divide ? lax::div(lax::full_like(by, 1), by) : by;
    term.factor =
        !term.factor.defined() ? x : lax::mul(lax::convert_element_type(term.factor, x.dtype()), x);
  }
  bool take_scaled(const Op& op, Term term) {
    const bool divide = op.def == &div_op;
    for (size_t k = divide ? 1 : 0; k < 2; ++k)
      if (const std::optional<Array> x = uniform(op.operands[k])) {
        scale(term, *x, divide);
        return take(op.operands[1 - k], std::move(term));
      }
    return false;
  }
  // Returns the scalar that all elements of a value are equal to, or nullopt if it is not found.
  std::optional<Array> uniform(ValueId v) const {
    if (rule_.type(v).rank() == 0) return values_[v];
    const Op* op = producers_[v];
    if (!op) return std::nullopt;
    if (op->def == &broadcast_in_dim_op) return uniform(op->operands[0]);
    if (op->def == &constant_op && op->params.as<ConstantParams>().is_splat())
      return lax::full({}, op->params.as<ConstantParams>().value);
    return std::nullopt;
  }
  bool is_zero(ValueId v) const {
    const Op* op = producers_[v];
    while (op && op->def == &broadcast_in_dim_op) op = producers_[op->operands[0]];
    if (!op || op->def != &constant_op || !op->params.as<ConstantParams>().is_splat()) return false;
    const Literal& value = op->params.as<ConstantParams>().value;
    return *convert_literal(value, float64).data<double>() == 0;
  }

  // Returns the operands in which the product is linear while the others are fixed.
  std::vector<size_t> linear_operands(const Op& op) const {
    if (op.def == &dot_general_op || op.def == &convolution_op) return {1, 0};
    if (op.def == &scatter_op && op.operands.size() == 3 &&
        op.params.as<ScatterParams>().kind == ScatterKind::kAdd && is_zero(op.operands[0]))
      return {2};
    return {};
  }

  // Returns the use whose cotangent is one operand of the product, if the transpose by that operand
  // is itself a product with the parameter; otherwise nullopt.
  std::optional<Use> use_of(const Term& term, const Type& type, size_t input) const {
    for (size_t k : linear_operands(*term.product)) {
      const Array& x = values_[term.product->operands[k]];
      if (!is_floating(x.dtype())) continue;
      Use use = transposed(term, k, type);
      use.inputs = {input};
      use.cotangents = {x};
      if (term.factor.defined()) use.cotangents[0] = scaled(x, term.factor);
      if (product_of(use)) return use;
    }
    return std::nullopt;
  }

  // Returns x times a scalar, computed in a wide dtype so that it is rounded once.
  static Array scaled(const Array& x, const Array& factor) {
    const DType wide = accumulation_dtype(x.dtype());
    const Array by = lax::broadcast_in_dim(lax::convert_element_type(factor, wide), x.shape(), {});
    return lax::convert_element_type(lax::mul(lax::convert_element_type(x, wide), by), x.dtype());
  }

  // Returns a use whose `apply` is the transpose of the map from operand k of the product to the
  // cotangent.
  Use transposed(const Term& term, size_t k, const Type& type) const {
    const Op& product = *term.product;
    const std::vector<Type> types{traced_type(values_[product.operands[k]])};
    const TracedFunction forward = trace_function(
        [&](const std::vector<Array>& x) {
          std::vector<Array> operands;
          for (ValueId v : product.operands) operands.push_back(values_[v]);
          operands[k] = x[0];
          Array out = bind_op(*product.def, product.params, operands)[0];
          for (size_t i = term.then.size(); i-- > 0;) out = renamed(*term.then[i], out);
          return std::vector<Array>{out};
        },
        types, "rule");
    const TracedFunction apply = trace_function(
        [&](const std::vector<Array>& w) {
          std::vector<bool> linear(forward.function.inputs.size(), false);
          linear[0] = true;
          std::vector<Array> operands{Array()};
          operands.insert(operands.end(), forward.captures.begin(), forward.captures.end());
          return std::vector<Array>{transpose_function(forward.function, linear, operands, w)[0]};
        },
        std::vector<Type>{type}, "use");
    return {.inputs = {}, .apply = apply.function, .operands = apply.captures, .cotangents = {}};
  }

  const Function& rule_;
  std::span<const Array> values_;
  std::vector<const Op*> producers_;
  std::vector<Term> terms_;
};

}  // namespace

std::optional<std::vector<Use>> product_uses(const Function& rule, std::span<const Array> values,
                                             ValueId cotangent, size_t input) {
  RuleUses out(rule, values);
  if (!out.take(cotangent, {})) return std::nullopt;
  return out.uses(traced_type(values[cotangent]), input);
}

}  // namespace tessera::control
