// append_ops: copies the ops of one function into another.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::ir {

// Copies the ops of `f`: calls add(op, operands) for each op, which adds a copy to the other
// function and returns the values of its results. `inputs` are the values there of f's inputs.
// Returns the values of f's outputs. Values is a list of ValueId.
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
