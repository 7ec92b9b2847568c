#include "tessera/fusion/rewrites/simplify_zeros.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <set>
#include <tuple>

#include "tessera/base/visit_dtype.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion {
namespace {

// Constants with more elements than this are not examined.
constexpr int64_t kMostElements = 4096;
constexpr int kMostValues = 256;

template <class T>
bool is_negative_zero(const T& value) {
  if constexpr (is_complex_type<T>) {
    return is_negative_zero(value.real()) || is_negative_zero(value.imag());
  } else if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    if constexpr (std::is_same_v<T, double>) return value == 0 && std::signbit(value);
    const auto number = static_cast<float>(value);
    return number == 0 && std::signbit(number);
  }
}

bool has_no_negative_zero(const Literal& literal) {
  if (literal.elements() > kMostElements) return false;
  return visit_dtype(literal.dtype(), [&]<class T>(TypeTag<T>) {
    const T* data = literal.data<T>();
    return std::none_of(data, data + literal.elements(), is_negative_zero<T>);
  });
}

// Returns whether the elements of the op's results are elements of its operands.
bool hands_on_elements(const OpDef* def) {
  static const std::array kDefs = {&broadcast_in_dim_op,
                                   &reshape_op,
                                   &transpose_op,
                                   &reverse_op,
                                   &slice_op,
                                   &concatenate_op,
                                   &pad_op,
                                   &stop_gradient_op,
                                   &checkpoint_name_op,
                                   &optimization_barrier_op};
  return std::find(kDefs.begin(), kDefs.end(), def) != kDefs.end();
}

}  // namespace

// A query and the queries that follow from it. Open queries are assumed to be true: a carry has no
// -0 if it starts without one and a trip on carries without -0 makes none. So the answer "yes" is
// right if no part of its proof is refuted, and "no" is always safe.
struct Scope::Search {
  // Entries are (function, op of its scope, value).
  std::set<std::tuple<const Function*, const Op*, ValueId>> open;
  int values = 0;

  bool holds(const Scope& scope, ValueId v) {
    if (!is_inexact(scope.function_.type(v).dtype)) return true;
    if (!open.emplace(&scope.function_, scope.op_, v).second) return true;
    if (++values > kMostValues) return false;
    const int maker = scope.makers_.empty() ? -1 : scope.makers_[static_cast<size_t>(v)];
    if (maker < 0) return of_input(scope, v);
    const Op& op = scope.function_.ops[static_cast<size_t>(maker)];
    return is_control_flow(op) ? of_control(scope, op, v) : of_op(scope, op);
  }

  bool all(const Scope& scope, const Op& op, size_t first, size_t count) {
    for (size_t k = first; k < first + count; ++k)
      if (!holds(scope, op.operands[k])) return false;
    return true;
  }

  bool of_op(const Scope& scope, const Op& op) {
    const auto operand = [&](size_t k) { return holds(scope, op.operands[k]); };
    if (const ConstantParams* constant = as_constant(op))
      return fusion::has_no_negative_zero(constant->value);
    // A sum is -0 only if both terms are -0: when rounding to nearest, x - x is 0.
    if (op.def == &add_op) return any_of_two(scope, op);
    if (op.def == &max_op || op.def == &min_op) return operand(0) && operand(1);
    if (op.def == &abs_op || op.def == &exp_op || op.def == &iota_op) return true;
    if (op.def == &mul_op)
      return op.operands[0] == op.operands[1] &&
             is_floating(scope.function_.type(op.operands[0]).dtype);
    if (op.def == &convert_op) return !is_inexact(scope.function_.type(op.operands[0]).dtype);
    if (op.def == &select_op) return operand(1) && operand(2);
    if (op.def == &dynamic_slice_op || op.def == &gather_op) return operand(0);
    if (op.def == &dynamic_update_slice_op) return operand(0) && operand(1);
    if (op.def == &scatter_op) {
      const ScatterKind kind = op.params.as<ScatterParams>().kind;
      if (kind == ScatterKind::kAdd) return operand(0);
      return kind == ScatterKind::kSet && operand(0) && operand(2);
    }
    return hands_on_elements(op.def) && all(scope, op, 0, op.operands.size());
  }

  // It is enough if one term has no -0. If the first term may have one, its assumptions are
  // dropped.
  bool any_of_two(const Scope& scope, const Op& op) {
    const auto before = open;
    if (holds(scope, op.operands[0])) return true;
    open = before;
    return holds(scope, op.operands[1]);
  }

  bool of_control(const Scope& scope, const Op& op, ValueId v) {
    const ControlFlow flow = control_flow_of(op);
    const auto result = static_cast<size_t>(std::find(op.results.begin(), op.results.end(), v) -
                                            op.results.begin());
    // If the loop makes no trip, the carry's result is its start.
    if (flow.is_loop() && result < flow.num_carry &&
        !holds(scope, op.operands[flow.num_consts + result]))
      return false;
    for (size_t k = 0; k < flow.regions.size(); ++k) {
      if (flow.decides(k)) continue;
      const Function& region = *flow.regions[k];
      if (!holds(inner(scope, region, op, k), region.outputs[result])) return false;
    }
    return true;
  }

  bool of_input(const Scope& scope, ValueId v) {
    if (!scope.around_) return false;
    const auto& inputs = scope.function_.inputs;
    const auto k = static_cast<size_t>(std::find(inputs.begin(), inputs.end(), v) - inputs.begin());
    const ControlFlow flow = control_flow_of(*scope.op_);
    if (!holds(*scope.around_, scope.op_->operands[flow.first_entering() + k])) return false;
    if (!flow.is_loop() || k < flow.num_consts || flow.is_scanned(k)) return true;
    const size_t body = flow.has_condition() ? 1 : 0;
    const Function& function = *flow.regions[body];
    const ValueId out = function.outputs[k - flow.num_consts];
    return scope.region_ == body ? holds(scope, out)
                                 : holds(inner(*scope.around_, function, *scope.op_, body), out);
  }

  // Returns the scope of a region that this search enters, the same one each time.
  const Scope& inner(const Scope& around, const Function& region, const Op& op, size_t k) {
    for (const std::unique_ptr<Scope>& scope : entered)
      if (&scope->function_ == &region && scope->op_ == &op) return *scope;
    entered.push_back(std::make_unique<Scope>(region, around, op, k));
    entered.back()->find_makers();
    return *entered.back();
  }
  std::vector<std::unique_ptr<Scope>> entered;
};

bool Scope::has_no_negative_zero(ValueId value) const {
  for (const Scope* scope = this; scope; scope = scope->around_) scope->find_makers();
  return Search().holds(*this, value);
}

void Scope::find_makers() const {
  if (!makers_.empty()) return;
  makers_.assign(function_.types.size(), -1);
  for (size_t i = 0; i < function_.ops.size(); ++i)
    for (ValueId v : function_.ops[i].results)
      makers_[static_cast<size_t>(v)] = static_cast<int>(i);
}

}  // namespace tessera::fusion
