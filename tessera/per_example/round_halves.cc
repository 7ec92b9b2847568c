#include "tessera/per_example/round_halves.h"

#include <algorithm>
#include <variant>

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/reduce_precision.h"

namespace tessera::per_example {
namespace {

bool computes(const Op& op) {
  return is_computed(op.def->lower) && !std::holds_alternative<IndexMap>(op.def->lower);
}

ops::ReducePrecisionParams format_of(DType half) {
  return half == float16 ? ops::ReducePrecisionParams{5, 10} : ops::ReducePrecisionParams{8, 7};
}

FunctionRef rounded_region(const FunctionRef& region) {
  return region ? std::make_shared<const Function>(round_halves(*region)) : region;
}

void round_regions(Op& op) {
  std::vector<Attribute> fields = op.params.fields();
  for (Attribute& field : fields) {
    if (auto* region = std::get_if<FunctionRef>(&field)) *region = rounded_region(*region);
    if (auto* regions = std::get_if<std::vector<FunctionRef>>(&field))
      for (FunctionRef& f : *regions) f = rounded_region(f);
  }
  op.params = op.params.with_fields(fields);
}

}  // namespace

Function round_halves(const Function& function) {
  const auto is_half_type = [](const Type& t) { return is_half(t.dtype); };
  Function out = function;
  out.ops.clear();
  for (Op op : function.ops) {
    if (!is_computed(op.def->lower)) round_regions(op);
    std::vector<Op> roundings;
    for (ValueId& result : op.results) {
      const Type type = function.type(result);
      if (!is_half_type(type) || !computes(op)) continue;
      Op& rounding = roundings.emplace_back();
      rounding.def = &ops::reduce_precision_op;
      rounding.params = OpParams(format_of(type.dtype));
      rounding.results.push_back(result);
      result = out.add_value(type);
      rounding.operands.push_back(result);
      rounding.source = op.source;
    }
    out.ops.push_back(std::move(op));
    std::move(roundings.begin(), roundings.end(), std::back_inserter(out.ops));
  }
  return out;
}

}  // namespace tessera::per_example
