#include "tessera/fusion/rewrites/comparator_keys.h"

#include <algorithm>

#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"

namespace tessera::fusion {
namespace {

// The elements that a value depends on.
enum Elements : uint8_t { kNone = 0, kFirst = 1, kSecond = 2, kBoth = 3 };

ValueIds append_inlined(const Function& from, const ValueIds& inputs, Function& out) {
  return append_ops(from, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
    if (const FunctionRef callee = callee_of(op)) return append_inlined(*callee, operands, out);
    return out.add_op(copy_of(op, op.params, std::move(operands)), from.types_of(op.results));
  });
}

Function inlined(const Function& f) {
  return rewritten(
      f, [&](Function& out, const ValueIds& inputs) { return append_inlined(f, inputs, out); });
}

class KeyFinder {
 public:
  explicit KeyFinder(const Function& f) : f_(f), values_(f.types.size()) {}

  ComparatorKeys run() {
    for (size_t i = 0; i < f_.inputs.size(); ++i) {
      const ValueId input = f_.inputs[i];
      Value& value = values_[input];
      value.of = i % 2 == 0 ? kFirst : kSecond;
      value.single = i % 2 == 0 ? keys_.add_input(f_.type(input)) : keys_.inputs.back();
    }
    for (const Op& op : f_.ops) read(op);
    order_.name = "comparator";
    order_.outputs = {in_order(f_.outputs[0])};
    return {remove_dead_ops(keys_), remove_dead_ops(order_)};
  }

 private:
  struct Value {
    Elements of = kNone;
    ValueId single = -1;  // in keys_, unless it depends on both elements
    ValueId both = -1;    // in order_, if it depends on both or none
  };

  void read(const Op& op) {
    uint8_t of = kNone;
    for (ValueId v : op.operands) of |= values_[v].of;
    const bool elementwise =
        std::holds_alternative<Pointwise>(op.def->lower) && op.results.size() == 1;
    // An op that arrays of elements do not have, such as a loop, stays in the comparator.
    if (!elementwise && of != kNone) of = kBoth;
    for (ValueId v : op.results) values_[v].of = static_cast<Elements>(of);
    if (of == kBoth || of == kNone) {
      ValueIds operands;
      for (ValueId v : op.operands) operands.push_back(in_order(v));
      const ValueIds& results =
          order_.add_op(copy_of(op, op.params, std::move(operands)), f_.types_of(op.results));
      for (size_t r = 0; r < results.size(); ++r) values_[op.results[r]].both = results[r];
    }
    if (of != kBoth) {
      ValueIds operands;
      for (ValueId v : op.operands) operands.push_back(values_[v].single);
      const ValueIds results = in_keys(op, std::move(operands));
      for (size_t r = 0; r < results.size(); ++r) values_[op.results[r]].single = results[r];
    }
  }

  // Adds an op to the keys, unless it is there: both elements have the same keys.
  ValueIds in_keys(const Op& op, ValueIds operands) {
    for (const Op& other : keys_.ops)
      if (other.def == op.def && other.operands == operands && other.params == op.params)
        return other.results;
    return keys_.add_op(copy_of(op, op.params, std::move(operands)), f_.types_of(op.results));
  }

  // Returns the value in the order of keys. If it depends on one element, it becomes a key.
  ValueId in_order(ValueId v) {
    const Value& value = values_[v];
    if (value.of == kBoth || value.of == kNone) return value.both;
    const auto at = std::find(keys_.outputs.begin(), keys_.outputs.end(), value.single);
    const auto key = static_cast<size_t>(at - keys_.outputs.begin());
    if (at == keys_.outputs.end()) {
      keys_.outputs.push_back(value.single);
      for (int side = 0; side < 2; ++side) order_.add_input(f_.type(v));
    }
    return order_.inputs[2 * key + (value.of == kFirst ? 0 : 1)];
  }

  const Function& f_;
  std::vector<Value> values_;
  Function keys_, order_;
};

}  // namespace

ComparatorKeys keys_of_comparator(const Function& comparator) {
  const Function f = inlined(comparator);
  return KeyFinder(f).run();
}

}  // namespace tessera::fusion
