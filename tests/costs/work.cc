#include "work.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/overloaded.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"

namespace tessera::costs {

using namespace ir;

namespace {

// How an op accesses its operands, as far as its cost depends on it.
enum class Access : uint8_t {
  kAll,     // reads all of them
  kResult,  // reads as many elements as it returns
  kUpdate,  // changes a part of the first one, by the others
  kNone,    // another name of its operand
};

Access access_of(const Op& op) {
  struct Named {
    std::string_view name;
    Access access;
  };
  static constexpr Named kNamed[] = {
      {"slice", Access::kResult},
      {"dynamic_slice", Access::kResult},
      {"gather", Access::kResult},
      {"dynamic_update_slice", Access::kUpdate},
      {"scatter", Access::kUpdate},
      {"reshape", Access::kNone},
      {"optimization_barrier", Access::kNone},
  };
  for (const Named& named : kNamed)
    if (op.def->name == named.name) return named.access;
  return Access::kAll;
}

double elements(const Type& type) { return static_cast<double>(type.elements()); }
double elements(const Function& f, std::span<const ValueId> values) {
  double sum = 0;
  for (ValueId v : values) sum += elements(f.type(v));
  return sum;
}

class Work {
 public:
  // `owned` marks inputs that may be changed if nothing reads them afterwards.
  Work(const Function& f, const std::vector<bool>& owned)
      : f_(f), owned_(f.types.size(), true), last_(f.types.size(), -1) {
    for (size_t k = 0; k < f.inputs.size(); ++k) owned_[id(f.inputs[k])] = owned[k];
    root_.resize(f.types.size());
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<ValueId>(v);
    for (const Op& op : f.ops)
      if (access_of(op) == Access::kNone)
        for (size_t k = 0; k < op.results.size(); ++k)
          root_[id(op.results[k])] = root_[id(op.operands[k])];
    for (size_t i = 0; i < f.ops.size(); ++i)
      if (access_of(f.ops[i]) != Access::kNone)
        for (ValueId v : f.ops[i].operands) last_[id(root_[id(v)])] = static_cast<int>(i);
    for (ValueId v : f.outputs) returned_.push_back(root_[id(v)]);
  }

  double all() const {
    double sum = 0;
    for (size_t i = 0; i < f_.ops.size(); ++i) sum += of(f_.ops[i], static_cast<int>(i));
    return sum;
  }

 private:
  static size_t id(ValueId v) { return static_cast<size_t>(v); }
  // Returns whether op `i`, which reads the value once, may change it in place.
  bool may_change(ValueId v, int i) const {
    const ValueId root = root_[id(v)];
    const Op& op = f_.ops[static_cast<size_t>(i)];
    const auto uses = std::count_if(op.operands.begin(), op.operands.end(),
                                    [&](ValueId x) { return root_[id(x)] == root; });
    return owned_[id(root)] && last_[id(root)] <= i && uses == 1 &&
           std::find(returned_.begin(), returned_.end(), root) == returned_.end();
  }

  double of(const Op& op, int i) const {
    if (is_control_flow(op)) return of_control(op, i);
    if (const FunctionRef callee = callee_of(op))
      return naive_operations(*callee) + elements(f_, op.results);
    const std::vector<Type> operands = f_.types_of(op.operands), results = f_.types_of(op.results);
    switch (access_of(op)) {
      case Access::kNone:
        return 0;
      case Access::kResult:
        return 2 * elements(f_, op.results);
      case Access::kUpdate: {
        double sum = elements(f_, op.operands) - elements(operands[0]);
        if (!may_change(op.operands[0], i)) sum += elements(operands[0]);
        return 2 * sum;
      }
      case Access::kAll: {
        const double touched = elements(f_, op.operands) + elements(f_, op.results);
        return op.def->flops ? std::max(touched, op.def->flops(operands, results, op.params))
                             : touched;
      }
    }
    return 0;
  }

  double of_control(const Op& op, int i) const {
    const ControlFlow flow = control_flow_of(op);
    double sum = 0, most = 0;
    for (const FunctionRef& region : flow.regions) {
      std::vector<bool> owned(region->inputs.size(), false);
      for (size_t k = 0; k < owned.size(); ++k) {
        const size_t operand = flow.first_entering() + k;
        owned[k] = flow.is_loop() ? k >= flow.num_consts && !flow.is_scanned(k)
                                  : may_change(op.operands[operand], i);
      }
      const double mine = Work(*region, owned).all();
      sum += mine;
      most = std::max(most, mine);
    }
    if (!flow.is_loop()) return most;
    sum *= static_cast<double>(flow.trip_count.value_or(1));
    // If a carry's initial value may not be changed, it is copied. Rows of stacked results are
    // copied together.
    for (size_t k = 0; k < op.results.size(); ++k)
      if (flow.is_stacked(k) || !may_change(op.operands[flow.num_consts + k], i))
        sum += 2 * elements(f_.type(op.results[k]));
    return sum;
  }

  const Function& f_;
  std::vector<bool> owned_;
  std::vector<int> last_;      // for roots: the last op that reads one
  std::vector<ValueId> root_;  // the value of which this one is another name
  std::vector<ValueId> returned_;
};

}  // namespace

double naive_operations(const Function& f) {
  return Work(f, std::vector<bool>(f.inputs.size(), false)).all() + elements(f, f.outputs);
}

double text_size(const Function& f) {
  auto size = static_cast<double>(f.inputs.size() + f.outputs.size());
  for (const Op& op : f.ops) {
    size += 1 + static_cast<double>(op.results.size());
    for (const FunctionRef& region : control_regions(op)) size += text_size(*region);
    if (const FunctionRef callee = callee_of(op)) size += text_size(*callee);
  }
  return size;
}

}  // namespace tessera::costs
