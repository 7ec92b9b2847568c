#include "tessera/fusion/updates.h"

#include <algorithm>
#include <cstring>

namespace tessera::fusion {
namespace {

// For a smaller array, a kernel over all elements takes no longer and keeps the array in registers.
constexpr int64_t kLeastBytes = 257;
// Constants with more elements are computed by the kernels that use them.
constexpr int64_t kConstantElements = 64;
// In a loop that is one function of machine code (codegen/routines/routine_homes.h), an update
// would have to copy a carry that does not end in its own memory. Such loops have short trips and
// smaller carries.
constexpr int64_t kLeastGatheredBytes = 65536;

class UpdateFinder {
 public:
  UpdateFinder(Graph& graph, const std::vector<bool>& own_inputs)
      : g_(graph), own_inputs_(own_inputs), chosen_(graph.ops.size(), 0) {}

  void run() {
    bool any = false;
    for (size_t i = 0; i < g_.ops.size(); ++i) {
      chosen_[i] = is_candidate(static_cast<int>(i));
      any = any || chosen_[i];
    }
    if (!any) return;
    for (size_t i = g_.ops.size(); i-- > 0;)
      if (chosen_[i]) {
        const GraphOp& op = g_.ops[i];
        chosen_[i] =
            is_stored(op.results[0]) || (is_gathered(op.results[0]) && is_own(op.operands[0]));
      }
    for (size_t i = 0; i < g_.ops.size(); ++i)
      if (chosen_[i]) choose(static_cast<int>(i));
    g_.find_users();
  }

 private:
  bool is_candidate(int i) const {
    const GraphOp& op = g_.ops[i];
    if (op.kind != OpKind::kIndexMap || !op.mapping.updates) return false;
    const int base = op.operands[0];
    const GraphValue &value = g_.values[base], &update = g_.values[op.operands[1]];
    if (value.bytes() < kLeastBytes || 2 * update.elements() > value.elements()) return false;
    return has_memory(base) && !is_read_after(i, base);
  }

  // Returns whether the value is stored, whatever is decided for the ops that read it.
  bool has_memory(int v) const {
    while (true) {
      const GraphValue& value = g_.values[v];
      if (value.op < 0) return value.input >= 0;
      const GraphOp& op = g_.ops[value.op];
      if (op.kind != OpKind::kReshape) return op.stored() || chosen_[value.op];
      v = op.operands[0];
    }
  }

  // Returns whether v is an output, or is read by an op that needs the result of op i.
  bool is_read_after(int i, int v) const {
    if (g_.values[v].output) return true;
    const auto& users = g_.values[v].users;
    if (users.back() == i) return false;
    std::vector<char> needs(static_cast<size_t>(users.back() - i) + 1, 0);
    needs[0] = 1;
    for (int k = i + 1; k <= users.back(); ++k) {
      char& here = needs[static_cast<size_t>(k - i)];
      for (int operand : g_.ops[k].operands) {
        const int maker = g_.values[operand].op;
        if (maker >= i && needs[static_cast<size_t>(maker - i)]) here = 1;
      }
      if (here && std::binary_search(users.begin(), users.end(), k)) return true;
    }
    return false;
  }

  // Returns whether the result of a candidate has to be in memory.
  bool is_stored(int v) const {
    const GraphValue& value = g_.values[v];
    if (value.output) return true;
    return std::any_of(value.users.begin(), value.users.end(), [&](int user) {
      const GraphOp& op = g_.ops[user];
      if (op.kind == OpKind::kReshape) return is_stored(op.results[0]);
      return op.stored() || (chosen_[user] && op.operands[0] == v);
    });
  }

  // Returns whether a gather reads a large part of the value. Without the update, the gather would
  // test for each element whether it is part of the update.
  bool is_gathered(int v) const {
    const GraphValue& value = g_.values[v];
    if (value.bytes() < kLeastGatheredBytes) return false;
    return std::any_of(value.users.begin(), value.users.end(), [&](int user) {
      const GraphOp& op = g_.ops[user];
      if (op.kind == OpKind::kReshape) return is_gathered(op.results[0]);
      return op.kind == OpKind::kGather && op.operands[0] == v &&
             2 * g_.values[op.results[0]].elements() >= value.elements();
    });
  }

  // Returns whether the memory of the value may be overwritten after its last use.
  bool is_own(int v) const {
    while (true) {
      const GraphValue& value = g_.values[v];
      if (value.op < 0)
        return static_cast<size_t>(value.input) < own_inputs_.size() && own_inputs_[value.input];
      const GraphOp& op = g_.ops[value.op];
      if (op.kind == OpKind::kControl || op.kind == OpKind::kCollective) return false;
      if (op.kind != OpKind::kReshape && !chosen_[value.op]) return true;
      v = op.operands[0];
    }
  }

  void choose(int i) {
    GraphOp& op = g_.ops[i];
    op.kind = OpKind::kUpdate;
    // Copies, because constants that are added move the values.
    const Shape whole = g_.values[op.operands[0]].shape, part = g_.values[op.operands[1]].shape;
    for (size_t k = 1; k < op.operands.size(); ++k) {
      const int v = op.operands[k];
      const GraphValue& value = g_.values[v];
      // An update as long as the operand in a dimension can only begin at 0 there.
      const bool fixed = k >= 2 && whole[k - 2] == part[k - 2];
      const std::shared_ptr<const Literal> splat = value.op >= 0 ? g_.ops[value.op].splat : nullptr;
      if (fixed) {
        op.operands[k] = add_constant(Literal(value.dtype, value.shape));
      } else if (splat && value.elements() <= kConstantElements) {
        op.operands[k] = add_constant(filled(*splat, value.shape));
      }
    }
  }

  static Literal filled(const Literal& scalar, const Shape& shape) {
    Literal out(scalar.dtype(), shape);
    const auto item = static_cast<size_t>(itemsize(scalar.dtype()));
    for (int64_t e = 0; e < out.elements(); ++e)
      std::memcpy(out.mutable_raw() + static_cast<size_t>(e) * item, scalar.raw(), item);
    return out;
  }

  int add_constant(Literal literal) {
    const int v = g_.add_value(literal.dtype(), literal.shape(), {});
    g_.values[v].constant = std::make_shared<const Literal>(std::move(literal));
    return v;
  }

  Graph& g_;
  const std::vector<bool>& own_inputs_;
  std::vector<char> chosen_;  // for each op: whether it is (or may be) an update
};

}  // namespace

void find_updates(Graph& graph, const std::vector<bool>& own_inputs) {
  UpdateFinder(graph, own_inputs).run();
}

bool is_update(const GraphOp& op) {
  return op.kind == OpKind::kUpdate || (op.kind == OpKind::kCall && op.updates);
}

}  // namespace tessera::fusion
