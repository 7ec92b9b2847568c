#include "tessera/runtime/overlap.h"

#include <deque>
#include <map>
#include <set>

#include "tessera/base/error.h"
#include "tessera/cluster/joined_rounds.h"
#include "tessera/fusion/schedule_walk.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

class Order {
 public:
  explicit Order(const Schedule& s) : s_(s), nodes_(s.steps.size()) { find_edges(); }

  struct OrderedStep {
    int step;
    bool sends_with_next = false;  // whether it begins together with the next one
  };
  // Returns the steps in the order in which they run; empty if none is a transfer.
  std::vector<OrderedStep> run() {
    bool any = false;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto* collective = std::get_if<CollectiveStep>(&s_.steps[i]);
      if (!collective || !collective->crosses) continue;
      any = true;
      nodes_[i].crosses = true;
      nodes_[i].parts = &parts_[number(*collective, static_cast<int>(i))];
      ++nodes_[i].parts->missing;
    }
    if (!any) return {};
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].missing == 0) make_ready(static_cast<int>(i));
    while (order_.size() < nodes_.size()) {
      const int transfer = transfers_.empty() ? -1 : *transfers_.begin(),
                step = ready_.empty() ? -1 : *ready_.begin();
      if (transfer >= 0 &&
          (in_flight_.empty() || bytes_ + bytes_of(transfer) <= kMaxBytesInFlight)) {
        begin(transfer);
      } else if (step >= 0 && (transfer < 0 || step < transfer)) {
        ready_.erase(ready_.begin());
        order_.push_back({step});
        release(step);
      } else if (transfer < 0 && !held_.empty()) {
        begin(*held_.begin());
      } else {
        TESSERA_CHECK(!in_flight_.empty(), "steps that wait for each other");
        bytes_ -= bytes_of(in_flight_.front());
        release(in_flight_.front());
        in_flight_.pop_front();
      }
    }
    return std::move(order_);
  }

 private:
  // The parts of a transfer, which begin together.
  struct Parts {
    std::set<int> ready;
    int missing = 0;  // the number that may not begin yet
  };
  struct Node {
    bool crosses = false;
    Parts* parts = nullptr;  // null unless the step is a transfer
    int missing = 0;         // the number of unfinished steps before it
    std::vector<int> after;  // the steps that must come after it
  };

  // Adds edges: the step that writes a slot comes before its readers, and one that writes it again
  // comes after them. Calls may have effects, so they keep their order.
  void find_edges() {
    std::vector<int> writer(s_.slots.size(), -1);
    std::vector<std::vector<int>> readers(s_.slots.size());
    int effect = -1;
    for (size_t i = 0; i < s_.steps.size(); ++i) {
      const int step = static_cast<int>(i);
      const StepSlots used = step_slots(s_.steps[i]);
      for (int v : used.reads) {
        edge(writer[static_cast<size_t>(v)], step);
        readers[static_cast<size_t>(v)].push_back(step);
      }
      for (int v : used.writes) {
        edge(writer[static_cast<size_t>(v)], step);
        for (int reader : readers[static_cast<size_t>(v)]) edge(reader, step);
        readers[static_cast<size_t>(v)].clear();
        writer[static_cast<size_t>(v)] = step;
      }
      if (may_have_effects(s_.steps[i])) {
        edge(effect, step);
        effect = step;
      }
    }
  }
  // Loops and branches may contain calls, and transfers, whose order must be the same everywhere.
  static bool may_have_effects(const Step& step) {
    return std::holds_alternative<CallStep>(step) || std::holds_alternative<LoopStep>(step) ||
           std::holds_alternative<BranchStep>(step);
  }
  void edge(int from, int to) {
    if (from < 0 || from == to) return;
    nodes_[static_cast<size_t>(from)].after.push_back(to);
    ++nodes_[static_cast<size_t>(to)].missing;
  }
  // Returns the number that all parts of a transfer share. It is negative if there is only one
  // part.
  int number(const CollectiveStep& step, int i) const {
    const bool small = s_.slots[static_cast<size_t>(step.in)].bytes() <= cluster::kInOneMessage;
    return step.collective >= 0 && small ? step.collective : -1 - i;
  }
  void make_ready(int i) {
    const Node& node = nodes_[static_cast<size_t>(i)];
    if (!node.crosses) {
      ready_.insert(i);
      return;
    }
    // Fusion may compute the operand of one part from the result of another. So parts that are
    // ready wait for the others only while there is something else to do.
    node.parts->ready.insert(i);
    if (--node.parts->missing > 0) {
      held_.insert(i);
      return;
    }
    for (int part : node.parts->ready) {
      held_.erase(part);
      transfers_.insert(part);
    }
  }
  // Begins a transfer, together with those of its parts that are ready.
  void begin(int transfer) {
    for (int part : std::exchange(nodes_[static_cast<size_t>(transfer)].parts->ready, {})) {
      transfers_.erase(part);
      held_.erase(part);
      order_.push_back({part, true});
      in_flight_.push_back(part);
      bytes_ += bytes_of(part);
    }
    order_.back().sends_with_next = false;
  }
  void release(int i) {
    for (int next : nodes_[static_cast<size_t>(i)].after)
      if (--nodes_[static_cast<size_t>(next)].missing == 0) make_ready(next);
  }
  int64_t bytes_of(int i) const {
    const auto& step = std::get<CollectiveStep>(s_.steps[static_cast<size_t>(i)]);
    const Slot& out = s_.slots[static_cast<size_t>(step.out)];
    return out.bytes() * out.instances;
  }

  const Schedule& s_;
  std::vector<Node> nodes_;
  std::map<int, Parts> parts_;
  std::set<int> transfers_, ready_;  // steps that may begin, by their position in the program
  std::set<int> held_;               // transfers that wait for their other parts
  std::deque<int> in_flight_;        // transfers in the order in which they began
  int64_t bytes_ = 0;                // of the results in flight
  std::vector<OrderedStep> order_;
};

}  // namespace

Schedule overlap_transfers(Schedule s) {
  for (Step& step : s.steps) {
    replace_nested(step, overlap_transfers);
    if (auto* collective = std::get_if<CollectiveStep>(&step)) {
      const std::unique_ptr<TransferCode> code = make_cross_collective_code(*collective, s);
      collective->crosses = code != nullptr;
      if (code) collective->transfer_bytes = code->workspace_bytes();
    }
  }
  const std::vector<Order::OrderedStep> order = Order(s).run();
  if (order.empty()) return s;
  std::vector<Step> steps;
  for (const Order::OrderedStep& entry : order) {
    steps.push_back(std::move(s.steps[static_cast<size_t>(entry.step)]));
    if (entry.sends_with_next) std::get<CollectiveStep>(steps.back()).sends_with_next = true;
  }
  s.steps = std::move(steps);
  return s;
}

}  // namespace tessera::runtime
