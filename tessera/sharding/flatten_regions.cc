#include "tessera/sharding/flatten_regions.h"

#include "tessera/control/control.h"
#include "tessera/control/manual_boundary.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"

namespace tessera::sharding {
namespace {

class Flattener {
 public:
  explicit Flattener(Function& out) : out_(out) {}

  // Appends the body of `f` with its inputs bound to `values`; returns the values of its outputs.
  ValueIds append(const Function& f, const ValueIds& values) {
    return append_ops(f, values, [&](const Op& op, ValueIds operands) {
      return append_op(op, f, std::move(operands));
    });
  }

 private:
  ValueIds append_op(const Op& op, const Function& f, ValueIds operands) {
    if (const FunctionRef callee = callee_of(op)) return append(*callee, operands);
    if (std::holds_alternative<ManualRegion>(op.def->lower))
      return append_manual(op, std::move(operands));
    return out_.add_op(*op.def, map_control_regions(op, flatten_regions), std::move(operands),
                       f.types_of(op.results), op.source);
  }

  ValueIds append_manual(const Op& op, ValueIds operands) {
    const auto& p = op.params.as<ManualComputationParams>();
    auto boundary = [&](const OpDef& def, ValueId value, const PartitionSpec& spec) {
      OpParams params = ManualBoundaryParams{p.mesh, spec, p.manual_axes};
      const Type type = out_.types[value];
      const std::vector<Type> result = def.infer(std::span(&type, 1), params);
      return out_.add_op(def, std::move(params), {value}, result, op.source)[0];
    };
    ValueIds inside;
    for (size_t i = 0; i < operands.size(); ++i)
      inside.push_back(boundary(full_to_shard_op, operands[i], p.in_specs[i]));
    ValueIds results = append(*p.body, inside);
    for (size_t i = 0; i < results.size(); ++i)
      results[i] = boundary(shard_to_full_op, results[i], p.out_specs[i]);
    return results;
  }

  Function& out_;
};

}  // namespace

Function flatten_regions(const Function& function) {
  return rewritten(function, [&](Function& out, const ValueIds& inputs) {
    return Flattener(out).append(function, inputs);
  });
}

}  // namespace tessera::sharding
