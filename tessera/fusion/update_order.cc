#include "tessera/fusion/update_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/fusion/updates.h"

namespace tessera::fusion {
namespace {

// The most ops computed in the same kernel as a reader that are examined.
constexpr size_t kMostOps = 64;

class UpdateOrder {
 public:
  explicit UpdateOrder(Graph& graph) : g_(graph), waiting_(graph.ops.size()) {}

  void run() {
    bool any = false;
    for (int i = 0; i < static_cast<int>(g_.ops.size()); ++i)
      if (is_update(g_.ops[i])) any = wait_for_readers(i) || any;
    if (!any) return;
    for (size_t r = 0; r < waiting_.size(); ++r)
      for (int update : waiting_[r]) g_.ops[update].operands.push_back(g_.ops[r].results[0]);
    sort_ops();
    g_.find_users();
  }

 private:
  bool wait_for_readers(int update) {
    std::vector<int> readers;
    add_readers(g_.ops[update].operands[0], readers);
    std::erase(readers, update);
    if (readers.empty()) return false;
    std::vector<char> after;
    bool any = false;
    for (int r : readers) {
      const std::vector<int> computed = computed_with(r);
      if (computed.empty() || computed.back() < update) continue;
      if (after.empty()) after = needs(update);
      if (after[r] ||
          std::none_of(computed.begin(), computed.end(), [&](int k) { return after[k] != 0; }))
        continue;
      waiting_[r].push_back(update);
      any = true;
    }
    return any;
  }

  // Appends the ops that read a small part of v or of a view of it.
  void add_readers(int v, std::vector<int>& out) const {
    for (int user : g_.values[v].users) {
      const GraphOp& op = g_.ops[user];
      if (op.kind == OpKind::kReshape) add_readers(op.results[0], out);
      if ((op.kind == OpKind::kIndexMap || op.kind == OpKind::kGather) && op.operands[0] == v &&
          2 * g_.values[op.results[0]].elements() <= g_.values[v].elements())
        out.push_back(user);
    }
  }

  // Returns the ops that may be computed in the same kernel as op r, in ascending order. It is
  // empty if there are too many, or if r's result is stored in any case.
  std::vector<int> computed_with(int r) const {
    if (g_.values[g_.ops[r].results[0]].output) return {};
    std::vector<int> out, open = {r};
    while (!open.empty()) {
      const GraphOp& op = g_.ops[open.back()];
      open.pop_back();
      for (int v : op.results)
        for (int user : g_.values[v].users) {
          if (g_.ops[user].stored() || std::find(out.begin(), out.end(), user) != out.end())
            continue;
          if (out.size() == kMostOps) return {};
          out.push_back(user);
          open.push_back(user);
        }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  // Returns, for each op, whether it needs the update's result.
  std::vector<char> needs(int update) const {
    std::vector<char> out(g_.ops.size(), 0);
    std::vector<int> open = {update};
    while (!open.empty()) {
      const int k = open.back();
      open.pop_back();
      if (std::exchange(out[k], 1)) continue;
      for (int v : g_.ops[k].results)
        open.insert(open.end(), g_.values[v].users.begin(), g_.values[v].users.end());
      open.insert(open.end(), waiting_[k].begin(), waiting_[k].end());
    }
    return out;
  }

  // Sorts the ops such that every op comes after those that make its operands; otherwise their
  // order stays.
  void sort_ops() {
    const auto n = static_cast<int>(g_.ops.size());
    std::vector<std::vector<int>> next(n);
    std::vector<int> missing(n, 0), place(n, -1);
    for (int i = 0; i < n; ++i)
      for (int v : g_.ops[i].operands) {
        if (g_.values[v].op < 0) continue;
        next[g_.values[v].op].push_back(i);
        ++missing[i];
      }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < n; ++i)
      if (missing[i] == 0) ready.push(i);
    std::vector<GraphOp> sorted;
    sorted.reserve(g_.ops.size());
    while (!ready.empty()) {
      const int i = ready.top();
      ready.pop();
      place[i] = static_cast<int>(sorted.size());
      for (int k : next[i])
        if (--missing[k] == 0) ready.push(k);
      sorted.push_back(std::move(g_.ops[i]));
    }
    TESSERA_CHECK(sorted.size() == g_.ops.size(), "updates and readers wait for each other");
    g_.ops = std::move(sorted);
    for (GraphValue& value : g_.values)
      if (value.op >= 0) value.op = place[value.op];
  }

  Graph& g_;
  // For each reader, the updates that wait for it.
  std::vector<std::vector<int>> waiting_;
};

}  // namespace

void order_updates(Graph& graph) { UpdateOrder(graph).run(); }

}  // namespace tessera::fusion
