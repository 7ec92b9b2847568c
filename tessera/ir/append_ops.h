// The ops of one function, one after the other, into another.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::ir {

// add(op, operands) adds what stands for an op of `f` and gives the values of its results. `inputs`
// are those of f's inputs; returns those of its outputs. Values: of ValueId.
template <class Values, class Add>
Values append_ops(const Function& f, const Values& inputs, Add&& add) {
  std::vector<ValueId> map(f.types.size(), -1);
  const auto mapped = [&](const auto& values) {
    Values out;
    for (ValueId v : values) out.push_back(map[v]);
    return out;
  };
  for (size_t i = 0; i < f.inputs.size(); ++i) map[f.inputs[i]] = inputs[i];
  for (const Op& op : f.ops) {
    const Values results = add(op, mapped(op.operands));
    for (size_t r = 0; r < results.size(); ++r) map[op.results[r]] = results[r];
  }
  return mapped(f.outputs);
}

}  // namespace tessera::ir
