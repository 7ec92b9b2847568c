#include "tessera/spmd/combine_collectives.h"

#include <algorithm>

#include "tessera/base/contains.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"

namespace tessera::spmd {
namespace {

bool is_collective(const Op& op) {
  const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower);
  return lowering && lowering->kind != CollectiveKind::kAxisIndex &&
         lowering->kind != CollectiveKind::kCast;
}

// Collectives that will be one op. Their operands are there already.
struct Group {
  const OpDef* def;
  OpParams params;
  DType dtype;
  std::vector<Op> members;
  int64_t bytes = 0;
  bool is_open = true;  // not in the program yet
};

using Groups = std::vector<int>;  // ascending

// An op that waits for groups to be in the program.
struct Waiting {
  Op op;
  Groups groups;
};

class Combiner {
 public:
  Combiner(const Function& f, std::vector<Reason>& reasons)
      : f_(f), reasons_(reasons), producers_(f.producers()), waits_(f.types.size()) {}

  Function run() {
    out_ = f_;
    out_.ops.clear();
    for (Op op : f_.ops) {
      op.params = map_control_regions(
          op, [&](const Function& region) { return Combiner(region, reasons_).run(); });
      visit(std::move(op));
    }
    for (size_t g = 0; g < groups_.size(); ++g) close({static_cast<int>(g)});
    TESSERA_CHECK(waiting_.empty(), "{} ops of {} wait for no collective", waiting_.size(),
                  f_.name);
    return std::move(out_);
  }

 private:
  void visit(Op op) {
    Groups groups = waits_for(op);
    // What others may wait for comes as early as it can.
    if (!groups.empty() && (is_collective(op) || is_control_flow(op) || has_effect(op))) {
      close(groups);
      groups.clear();
    }
    if (may_be_combined(op)) return join(std::move(op));
    if (groups.empty()) {
      out_.ops.push_back(std::move(op));
      return;
    }
    for (ValueId v : op.results) waits_[v] = groups;
    waiting_.push_back({std::move(op), std::move(groups)});
  }

  // The open groups that an operand comes from.
  Groups waits_for(const Op& op) const {
    Groups out;
    for (ValueId v : op.operands)
      for (int g : waits_[v])
        if (groups_[g].is_open && !contains(out, g)) out.push_back(g);
    std::sort(out.begin(), out.end());
    return out;
  }

  int64_t bytes_of(const Op& op) const {
    const Type& type = f_.type(op.results[0]);
    return type.elements() * itemsize(type.dtype);
  }
  static bool has_kind(const Op& op, CollectiveKind kind) {
    return std::get<CollectiveLowering>(op.def->lower).kind == kind;
  }
  bool may_be_combined(const Op& op) const {
    return is_collective(op) && op.operands.size() == 1 && op.results.size() == 1 &&
           (has_kind(op, CollectiveKind::kAllReduce) || has_kind(op, CollectiveKind::kAllGather)) &&
           bytes_of(op) <= kCombinedBytes;
  }

  // What an operand is in front of barriers.
  ValueId source(ValueId v) const {
    while (producers_[v] >= 0) {
      const Op& op = f_.ops[producers_[v]];
      if (!std::holds_alternative<Identity>(op.def->lower)) break;
      v = op.operands[std::find(op.results.begin(), op.results.end(), v) - op.results.begin()];
    }
    return v;
  }
  // What is sent once more, later, is not wanted before.
  bool sends(const Group& group, ValueId operand) const {
    return std::any_of(group.members.begin(), group.members.end(), [&](const Op& member) {
      return source(member.operands[0]) == source(operand);
    });
  }

  void join(Op op) {
    const DType dtype = f_.type(op.operands[0]).dtype;
    const int64_t bytes = bytes_of(op);
    const auto fits = [&](const Group& g) {
      return g.is_open && g.def == op.def && g.dtype == dtype && g.params == op.params;
    };
    auto group = std::find_if(groups_.begin(), groups_.end(), fits);
    if (group != groups_.end() &&
        (group->bytes + bytes > kCombinedBytes || sends(*group, op.operands[0]))) {
      close({static_cast<int>(group - groups_.begin())});
      group = groups_.end();
    }
    if (group == groups_.end()) group = groups_.insert(group, {op.def, op.params, dtype});
    group->bytes += bytes;
    waits_[op.results[0]] = {static_cast<int>(group - groups_.begin())};
    group->members.push_back(std::move(op));
  }

  // Puts the groups into the program, and what waited for them alone.
  void close(const Groups& groups) {
    bool any = false;
    for (int g : groups) {
      if (!groups_[g].is_open) continue;
      groups_[g].is_open = false;
      out_.ops.push_back(combined(std::move(groups_[g].members)));
      any = true;
    }
    if (!any) return;
    std::vector<Waiting> still;
    for (Waiting& w : waiting_) {
      std::erase_if(w.groups, [&](int g) { return !groups_[g].is_open; });
      if (w.groups.empty()) {
        out_.ops.push_back(std::move(w.op));
      } else {
        still.push_back(std::move(w));
      }
    }
    waiting_ = std::move(still);
  }

  Op combined(std::vector<Op> members) {
    Op out = std::move(members[0]);
    if (members.size() == 1) return out;
    Reason reason;
    if (out.reason > 0) reason = reasons_.at(static_cast<size_t>(out.reason - 1));
    reason.parts = {out.reason};
    for (size_t k = 1; k < members.size(); ++k) {
      out.operands.push_back(members[k].operands[0]);
      out.results.push_back(members[k].results[0]);
      reason.parts.push_back(members[k].reason);
    }
    reasons_.push_back(std::move(reason));
    out.reason = static_cast<int32_t>(reasons_.size());
    return out;
  }

  const Function& f_;
  std::vector<Reason>& reasons_;
  const std::vector<int> producers_;
  Function out_;
  std::vector<Groups> waits_;  // of each value; those that are not open no longer count
  std::vector<Group> groups_;
  std::vector<Waiting> waiting_;
};

}  // namespace

Function combine_collectives(const Function& function, std::vector<Reason>& reasons) {
  return Combiner(function, reasons).run();
}

}  // namespace tessera::spmd
