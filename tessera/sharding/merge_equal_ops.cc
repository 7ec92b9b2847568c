#include "tessera/sharding/merge_equal_ops.h"

#include <unordered_map>

#include "tessera/base/hash.h"
#include "tessera/control/control.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"

namespace tessera::sharding {
namespace {

constexpr int64_t kLargeBytes = 1 << 16;

class Merger {
 public:
  explicit Merger(Function& out) : out_(out) {}

  // Appends the body of `f` with its inputs bound to `values`; returns the values of its outputs.
  ValueIds append(const Function& f, const ValueIds& values) {
    return append_ops(f, values, [&](const Op& op, ValueIds operands) {
      return append_op(op, f, std::move(operands));
    });
  }

 private:
  ValueIds append_op(const Op& op, const Function& f, ValueIds operands) {
    if (const FunctionRef callee = callee_of(op)) return append(*callee, operands);
    Op merged{.def = op.def,
              .params = with_merged_regions(op),
              .operands = std::move(operands),
              .source = op.source,
              .reason = op.reason};
    const std::vector<Type> types = f.types_of(op.results);
    if (has_effect(merged)) return out_.add_op(std::move(merged), types);
    const Literal* large = large_constant(merged);
    size_t key =
        hash_combine(std::hash<const void*>()(op.def),
                     large ? std::hash<const void*>()(large->raw()) : merged.params.hash());
    for (ValueId v : merged.operands) key = hash_combine(key, static_cast<size_t>(v));
    const auto [begin, end] = seen_.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      const Op& other = out_.ops[it->second];
      if (other.def == merged.def && other.operands == merged.operands &&
          same_results(other, types) && same_params(other, merged, large))
        return other.results;
    }
    seen_.emplace(key, out_.ops.size());
    return out_.add_op(std::move(merged), types);
  }

  // Returns the constant if it is too large to be compared; such a constant is equal only to
  // itself.
  static const Literal* large_constant(const Op& op) {
    const ConstantParams* constant = as_constant(op);
    return constant && constant->value.bytes() > kLargeBytes ? &constant->value : nullptr;
  }

  static bool same_params(const Op& a, const Op& b, const Literal* large) {
    if (!large) return a.params == b.params;
    const Literal* other = large_constant(a);
    return other && other->raw() == large->raw();
  }

  static OpParams with_merged_regions(const Op& op) {
    if (!std::holds_alternative<ManualRegion>(op.def->lower))
      return map_control_regions(op, merge_equal_ops);
    auto params = op.params.as<ManualComputationParams>();
    params.body = std::make_shared<const Function>(merge_equal_ops(*params.body));
    return params;
  }

  // Types must be equal, too: operands and params determine neither whether a scalar is weak, nor
  // its name in a program of another framework.
  bool same_results(const Op& op, std::span<const Type> types) const {
    for (size_t r = 0; r < types.size(); ++r)
      if (!(out_.types[op.results[r]] == types[r])) return false;
    return op.results.size() == types.size();
  }

  Function& out_;
  std::unordered_multimap<size_t, size_t> seen_;  // indices of out_.ops by hash
};

}  // namespace

Function merge_equal_ops(const Function& function) {
  return rewritten(function, [&](Function& out, const ValueIds& inputs) {
    out.types.reserve(function.types.size());
    out.ops.reserve(function.ops.size());
    return Merger(out).append(function, inputs);
  });
}

}  // namespace tessera::sharding
