#include "tessera/fusion/early_kernels.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::fusion {
namespace {

class Mover {
 public:
  explicit Mover(const Schedule& s)
      : s_(s), writer_(s.slots.size(), -1), source_(s.slots.size()), reads_(s.slots.size()) {
    for (size_t v = 0; v < s.slots.size(); ++v) source_[v] = static_cast<int>(v);
    for (size_t i = 0; i < s.steps.size(); ++i) {
      const StepSlots used = step_slots(s.steps[i]);
      if (const auto* view = std::get_if<ViewStep>(&s.steps[i]))
        source_[index(view->out)] = source(view->in);
      for (const int v : used.writes) writer_[index(v)] = static_cast<int>(i);
      for (const int v : used.reads) reads_[index(source(v))].push_back(static_cast<int>(i));
    }
  }

  // Returns the step after which a kernel may run; the step before it if it should not move.
  int earliest(size_t j) const {
    const int stays = static_cast<int>(j) - 1;
    const auto* kernel = std::get_if<KernelStep>(&s_.steps[j]);
    if (!kernel) return stays;
    const StepSlots used = step_slots(s_.steps[j]);
    if (!std::all_of(used.writes.begin(), used.writes.end(),
                     [&](int v) { return slot(v).kind == Slot::Kind::kOutput; }))
      return stays;
    int after = -1;
    bool follows_product = false;
    for (const int v : used.reads) {
      const int writer = writer_[index(v)];
      after = std::max(after, writer);
      if (writer >= 0) {
        const Step& made = s_.steps[index(writer)];
        // Other steps run while the messages of a collective are sent.
        if (std::holds_alternative<CollectiveStep>(made)) return stays;
        follows_product |=
            std::holds_alternative<DotStep>(made) || std::holds_alternative<ConvolutionStep>(made);
      }
      const int from = source(v);
      if (slot(from).kind != Slot::Kind::kInput) continue;
      for (const int reader : reads_[index(from)])
        if (reader < static_cast<int>(j)) after = std::max(after, reader);
    }
    return follows_product ? std::max(after, last_reader_of_donors(used, j)) : stays;
  }

 private:
  static size_t index(int i) { return static_cast<size_t>(i); }

  // A result takes the memory of a donated input of its size that no later step reads. If the
  // kernel does not read as many inputs of that size as it writes results, returns the last step
  // before step j that reads one; otherwise -1.
  int last_reader_of_donors(const StepSlots& used, size_t j) const {
    std::map<int64_t, int> missing;  // by size
    for (const int v : used.writes) ++missing[bytes(v)];
    for (const int v : used.reads)
      if (slot(source(v)).kind == Slot::Kind::kInput) --missing[bytes(source(v))];
    int last = -1;
    for (const int input : s_.inputs) {
      const auto found = missing.find(bytes(input));
      if (found == missing.end() || found->second <= 0) continue;
      for (const int reader : reads_[index(source(input))])
        if (reader < static_cast<int>(j)) last = std::max(last, reader);
    }
    return last;
  }
  int64_t bytes(int v) const { return slot(v).bytes() * slot(v).instances; }
  const Slot& slot(int v) const { return s_.slots[index(v)]; }
  // Returns the slot that has the memory of a slot, which may be a view.
  int source(int v) const { return source_[index(v)]; }

  const Schedule& s_;
  std::vector<int> writer_;              // for each slot, the step that writes it; -1: none
  std::vector<int> source_;              // for each slot, the slot that it is a view of, or itself
  std::vector<std::vector<int>> reads_;  // for each slot, the steps that read it or a view of it
};

}  // namespace

void run_kernels_early(Schedule& schedule) {
  // Steps in the order of what they run after: (step, 0) for a step that stays, (step that it runs
  // after, 1) for one that moves.
  std::vector<std::pair<std::pair<int, int>, size_t>> order;
  const Mover mover(schedule);
  bool moves = false;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const int own = static_cast<int>(i), after = mover.earliest(i);
    const bool stays = after == own - 1;
    moves |= !stays;
    order.push_back({stays ? std::pair(own, 0) : std::pair(after, 1), i});
  }
  if (!moves) return;
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Step> steps;
  for (const auto& [place, i] : order) steps.push_back(std::move(schedule.steps[i]));
  schedule.steps = std::move(steps);
}

}  // namespace tessera::fusion
