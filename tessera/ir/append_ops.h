// append_ops: copies the ops of one function into another; rewritten: makes a function from
// another's ops.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::ir {

// Returns the op with these params and operands, and without results.
inline Op copy_of(const Op& op, OpParams params, ValueIds operands) {
  return {op.def, std::move(params), std::move(operands), {}, op.source, op.reason};
}

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

// Returns a function with the name and the inputs of `f`. append(out, inputs) adds ops to it and
// returns the values of its outputs; `inputs` are the values of its inputs.
template <class Append>
Function rewritten(const Function& f, Append&& append) {
  Function out;
  out.name = f.name;
  ValueIds inputs;
  for (ValueId v : f.inputs) inputs.push_back(out.add_input(f.types[v]));
  const ValueIds outputs = append(out, inputs);
  out.outputs.assign(outputs.begin(), outputs.end());
  return out;
}

}  // namespace tessera::ir
