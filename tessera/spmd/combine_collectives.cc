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

using Groups = std::vector<int>;  // group numbers, ascending

// Collectives that will become one op.
struct Group {
  const OpDef* def;
  OpParams params;
  DType dtype;
  std::vector<Op> members;
  int64_t bytes = 0;
  bool is_open = true;  // it is not in the program yet
  Groups after;         // the groups with results that its members need
};

// An op that waits until groups are in the program.
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
    if (may_be_combined(op)) return join(std::move(op), groups);
    // Ops that others may wait for are added as early as possible.
    if (!groups.empty() && (is_collective(op) || is_control_flow(op) || has_effect(op))) {
      close(groups);
      groups.clear();
    }
    if (groups.empty()) {
      out_.ops.push_back(std::move(op));
      return;
    }
    for (ValueId v : op.results) waits_[v] = groups;
    waiting_.push_back({std::move(op), std::move(groups)});
  }

  // Returns the open groups from which an operand comes, and the groups that those wait for.
  Groups waits_for(const Op& op) const {
    Groups out;
    for (ValueId v : op.operands) add_open(out, waits_[v]);
    for (size_t k = 0; k < out.size(); ++k) add_open(out, groups_[out[k]].after);
    std::sort(out.begin(), out.end());
    return out;
  }
  void add_open(Groups& to, const Groups& from) const {
    for (int g : from)
      if (groups_[g].is_open && !contains(to, g)) to.push_back(g);
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
           !has_kind(op, CollectiveKind::kBroadcast) && bytes_of(op) <= kCombinedBytes;
  }

  // Returns the value that enters the barriers and other identities which return v.
  ValueId source(ValueId v) const {
    while (producers_[v] >= 0) {
      const Op& op = f_.ops[producers_[v]];
      if (!std::holds_alternative<Identity>(op.def->lower)) break;
      v = op.operands[std::find(op.results.begin(), op.results.end(), v) - op.results.begin()];
    }
    return v;
  }
  // Returns whether the group already sends the operand. A value that is sent once more is not
  // needed earlier than where the program sends it.
  bool sends(const Group& group, ValueId operand) const {
    return std::any_of(group.members.begin(), group.members.end(), [&](const Op& member) {
      return source(member.operands[0]) == source(operand);
    });
  }

  // Adds the op to a group. `after` has the open groups that it waits for.
  void join(Op op, Groups after) {
    const DType dtype = f_.type(op.operands[0]).dtype;
    const int64_t bytes = bytes_of(op);
    const auto fits = [&](const Group& g) {
      return g.is_open && g.def == op.def && g.dtype == dtype && g.params == op.params;
    };
    auto group = std::find_if(groups_.begin(), groups_.end(), fits);
    if (group != groups_.end()) {
      const int g = static_cast<int>(group - groups_.begin());
      if (group->bytes + bytes > kCombinedBytes || contains(after, g) ||
          sends(*group, op.operands[0])) {
        close({g});
        after = waits_for(op);
        group = groups_.end();
      }
    }
    if (group == groups_.end()) group = groups_.insert(group, {op.def, op.params, dtype});
    group->bytes += bytes;
    for (int g : after)
      if (!contains(group->after, g)) group->after.push_back(g);
    waits_[op.results[0]] = {static_cast<int>(group - groups_.begin())};
    group->members.push_back(std::move(op));
  }

  // Adds the groups to the program: first the groups that each waits for, then the group, then the
  // ops that waited only for these.
  void close(const Groups& groups) {
    for (int g : groups) {
      if (!groups_[g].is_open) continue;
      close(groups_[g].after);
      groups_[g].is_open = false;
      out_.ops.push_back(combined(std::move(groups_[g].members)));
      release();
    }
  }

  // Adds the ops that no longer wait for any open group.
  void release() {
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
  std::vector<Groups> waits_;  // for each value; only open groups count
  std::vector<Group> groups_;
  std::vector<Waiting> waiting_;
};

}  // namespace

Function combine_collectives(const Function& function, std::vector<Reason>& reasons) {
  return Combiner(function, reasons).run();
}

}  // namespace tessera::spmd
