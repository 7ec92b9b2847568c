#include "tessera/per_example/linear_in.h"

#include <algorithm>

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"

namespace tessera::per_example {

using namespace ir;

namespace {

bool is_linear_in_integers(const Op& op) {
  if (op.def == &ops::reduce_op) return op.params.as<ops::ReduceParams>().kind == ReduceKind::kSum;
  for (const OpDef* def : {&ops::convert_op, &ops::add_op, &ops::sub_op, &ops::neg_op,
                           &ops::reshape_op, &ops::transpose_op, &ops::broadcast_in_dim_op})
    if (op.def == def) return true;
  return false;
}

bool reads(const Function& f, ValueId value) {
  const auto has = [&](const auto& ids) {
    return std::find(ids.begin(), ids.end(), value) != ids.end();
  };
  return has(f.outputs) ||
         std::any_of(f.ops.begin(), f.ops.end(), [&](const Op& op) { return has(op.operands); });
}

}  // namespace

bool is_linear_in(const Op& op, std::span<const Type> operands, const std::vector<bool>& marked) {
  std::vector<Type> types(operands.begin(), operands.end());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!marked[k]) continue;
    if (!is_inexact(operands[k].dtype)) return is_linear_in_integers(op);
    types.push_back(operands[k]);
  }
  if (!op.def->jvp) return false;
  bool zero = false;
  tracing::TracedFunction traced = tracing::trace_function(
      [&](const std::vector<Array>& inputs) {
        const std::span<const Array> primals = std::span(inputs).first(operands.size());
        std::vector<Array> tangents(operands.size());
        for (size_t k = 0, next = operands.size(); k < operands.size(); ++k)
          if (marked[k]) tangents[k] = inputs[next++];
        std::vector<Array> out = op.def->jvp(primals, tangents, op.params).tangents;
        zero = std::any_of(out.begin(), out.end(), [](const Array& t) { return !t.defined(); });
        std::erase_if(out, [](const Array& t) { return !t.defined(); });
        return out;
      },
      types, "tangents");
  if (zero) return false;
  const Function f = remove_dead_ops(traced.function);
  for (size_t k = 0; k < operands.size(); ++k)
    if (marked[k] && reads(f, f.inputs[k])) return false;
  return true;
}

}  // namespace tessera::per_example
