#include "tessera/sharding/split_constants.h"

#include <algorithm>
#include <map>

#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/sharding_group.h"

namespace tessera::sharding {
namespace {

// Expressions of more ops are not copied, so their users share a sharding. A mask has fewer.
constexpr int kMaxOps = 16;

class ConstantSplitter {
 public:
  explicit ConstantSplitter(const Function& f)
      : f_(f), map_(f.types.size(), -1), makers_(f.types.size()), grouped_(f.types.size(), 0) {
    for (const Op& op : f.ops)
      if (ops::sharding_group_of(op)) grouped_[op.operands[0]] = 1;
  }

  Function run() {
    out_.name = f_.name;
    for (ValueId v : f_.inputs) map_[v] = out_.add_input(f_.types[v]);
    for (const Op& op : f_.ops) {
      if (const int size = constant_size(op)) {
        makers_[op.results[0]] = {&op, size};
      } else {
        append(op);
      }
    }
    // All outputs together count as one user.
    std::map<ValueId, ValueId> made;
    for (ValueId v : f_.outputs) out_.outputs.push_back(value(v, made));
    return std::move(out_);
  }

 private:
  struct Maker {
    const Op* op = nullptr;  // the op that makes a constant; null for other values
    int size = 0;            // the number of ops that make it
  };

  // Returns the number of ops that make the result from nothing, or from one scalar. Returns 0 if
  // the result is no such constant, or if making it takes too many ops.
  int constant_size(const Op& op) const {
    if (op.results.size() != 1 || op.def->effect || grouped_[op.results[0]]) return 0;
    if (op.operands.empty()) return 1;
    if (!std::holds_alternative<Pointwise>(op.def->lower) &&
        !std::holds_alternative<IndexMap>(op.def->lower))
      return 0;
    int size = 1;
    for (ValueId v : op.operands) {
      const bool spread = f_.types[v].rank() == 0 && f_.types[op.results[0]].rank() > 0;
      if (!makers_[v].op && !spread) return 0;
      size += makers_[v].size;
    }
    return size <= kMaxOps ? size : 0;
  }

  void append(const Op& op) {
    std::map<ValueId, ValueId> made;
    ValueIds operands;
    for (ValueId v : op.operands) operands.push_back(value(v, made));
    const std::vector<Type> types = f_.types_of(op.results);
    const ValueIds& results = out_.add_op(*op.def, map_control_regions(op, split_constants),
                                          std::move(operands), types, op.source);
    for (size_t i = 0; i < results.size(); ++i) map_[op.results[i]] = results[i];
  }

  // Returns the value for a user; `made` has the copies that were made for this user already.
  ValueId value(ValueId v, std::map<ValueId, ValueId>& made) {
    const Op* op = makers_[v].op;
    if (!op) return map_[v];
    if (const auto it = made.find(v); it != made.end()) return it->second;
    ValueIds operands;
    for (ValueId operand : op->operands) operands.push_back(value(operand, made));
    const ValueId copy = out_.add_op(*op->def, op->params, std::move(operands),
                                     std::span(&f_.types[v], 1), op->source)[0];
    made.emplace(v, copy);
    return copy;
  }

  const Function& f_;
  Function out_;
  std::vector<ValueId> map_;   // the new number of each value that is not a constant
  std::vector<Maker> makers_;  // for each value
  // For each value: whether it is a member of a sharding group. Its users read the member itself.
  std::vector<char> grouped_;
};

}  // namespace

Function split_constants(const Function& function) { return ConstantSplitter(function).run(); }

}  // namespace tessera::sharding
