#include "tessera/fusion/plan_order.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "tessera/fusion/updates.h"

namespace tessera::fusion {
namespace {

using Successors = std::vector<boost::container::small_vector<int, 4>>;

class GroupOrder {
 public:
  GroupOrder(const Graph& graph, const FusionPlan& plan) : g_(graph), plan_(plan) {}
  std::vector<int> run() const;

 private:
  void add_readers(int v, std::vector<int>& out) const;
  std::vector<std::pair<int, int>> readers_first(const Successors& next) const;

  const Graph& g_;
  const FusionPlan& plan_;
};

// Appends the groups that read v or a view of it.
void GroupOrder::add_readers(int v, std::vector<int>& out) const {
  for (int user : g_.values[v].users) {
    for (const GroupMembership& at : plan_.memberships[user]) out.push_back(at.group);
    const GraphOp& op = g_.ops[user];
    if (op.kind == OpKind::kReshape && plan_.stored[op.results[0]]) add_readers(op.results[0], out);
  }
}

// Returns pairs of groups of which the first reads an array that the second updates, if neither
// waits for the other. The first should run first, since then the update can overwrite the array.
std::vector<std::pair<int, int>> GroupOrder::readers_first(const Successors& next) const {
  std::vector<std::pair<int, int>> out;
  Successors all;
  for (int i = 0; i < static_cast<int>(g_.ops.size()); ++i) {
    if (!is_update(g_.ops[i]) || plan_.memberships[i].empty()) continue;
    const int update = plan_.memberships[i][0].group;
    int v = g_.ops[i].operands[0];
    while (g_.values[v].op >= 0 && g_.ops[g_.values[v].op].kind == OpKind::kReshape &&
           plan_.stored[v])
      v = g_.ops[g_.values[v].op].operands[0];
    std::vector<int> readers;
    add_readers(v, readers);
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    std::erase(readers, update);
    if (readers.empty()) continue;
    if (all.empty()) all = next;
    std::vector<char> after(all.size(), 0);
    std::vector<int> open = {update};
    while (!open.empty()) {
      const int k = open.back();
      open.pop_back();
      if (std::exchange(after[k], 1)) continue;
      open.insert(open.end(), all[k].begin(), all[k].end());
    }
    for (int reader : readers) {
      if (after[reader]) continue;
      all[reader].push_back(update);
      out.emplace_back(reader, update);
    }
  }
  return out;
}

std::vector<int> GroupOrder::run() const {
  std::vector<int> order;
  const int n = static_cast<int>(plan_.groups.size());
  std::vector<boost::container::small_vector<int, 2>> makers(g_.values.size());
  for (int k = 0; k < n; ++k) {
    const Group& group = plan_.groups[k];
    if (group.kernel) {
      for (const GroupOutput& output : group.outputs) makers[output.value].push_back(k);
    } else {
      for (int v : g_.ops[group.op].results) makers[v].push_back(k);
    }
  }
  Successors next(n);
  std::vector<int> waiting(n, 0);
  for (int k = 0; k < n; ++k) {
    for (int i : plan_.groups[k].ops) {
      for (int v : g_.ops[i].operands) {
        for (int maker : makers[v]) {
          if (maker == k) continue;
          next[maker].push_back(k);
          ++waiting[k];
        }
      }
    }
  }
  for (const auto& [reader, update] : readers_first(next)) {
    next[reader].push_back(update);
    ++waiting[update];
  }
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
  for (int k = 0; k < n; ++k)
    if (waiting[k] == 0) ready.emplace(plan_.groups[k].op, k);
  while (!ready.empty()) {
    const int k = ready.top().second;
    ready.pop();
    order.push_back(k);
    for (int reader : next[k])
      if (--waiting[reader] == 0) ready.emplace(plan_.groups[reader].op, reader);
  }
  TESSERA_CHECK(static_cast<int>(order.size()) == n, "steps that wait for each other");
  return order;
}

}  // namespace

std::vector<int> order_of_groups(const Graph& graph, const FusionPlan& plan) {
  return GroupOrder(graph, plan).run();
}

}  // namespace tessera::fusion
