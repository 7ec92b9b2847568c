// Reachability: which steps come after which, while steps are formed from the last to the first.
// Only the latest kWindow steps are distinguished, so that the cost of a step does not grow with
// the program. The answer "does not come after" is always right; the answer "comes after" may be
// wrong.
#pragma once

#include <bitset>
#include <vector>

#include "tessera/base/namespaces.h"

namespace tessera::fusion {

class Reachability {
 public:
  static constexpr int kWindow = 512;
  using Set = std::bitset<kWindow>;

  // Adds the next step and returns its number. All steps of `after` come after it.
  int add(const Set& after) {
    const int id = count_++, slot = id % kWindow;
    if (id < kWindow) {
      after_.emplace_back();
    } else {
      forget(slot);
    }
    after_[slot] = after;
    after_[slot].reset(slot);
    return id;
  }
  // Adds to `set` the step `id` and all steps that come after it.
  void collect(int id, Set& set) const {
    if (!recent(id)) return;
    set |= after_[id % kWindow];
    set.set(id % kWindow);
  }
  // Returns whether `later` comes, or may come, after `id`.
  bool reaches(int id, int later) const {
    if (!recent(later) || after_forgotten_.test(later % kWindow)) return true;
    return recent(id) && after_[id % kWindow].test(later % kWindow);
  }
  // Records that all steps of `after` come after `id`, too.
  void extend(int id, Set after) {
    const int slot = id % kWindow;
    after.reset(slot);
    for (int s = 0; s < static_cast<int>(after_.size()); ++s) {
      if (s != slot && !after_[s].test(slot)) continue;
      after_[s] |= after;
      if (after_forgotten_.test(s)) after_forgotten_ |= after;
    }
  }

 private:
  bool recent(int id) const { return count_ - id <= kWindow; }
  // Steps that come after the step that leaves the window are recorded as coming after an unknown
  // step.
  void forget(int slot) {
    after_forgotten_ |= after_[slot];
    after_forgotten_.reset(slot);
    for (Set& set : after_) set.reset(slot);
  }

  std::vector<Set> after_;  // of step `id` at id % kWindow
  Set after_forgotten_;
  int count_ = 0;
};

}  // namespace tessera::fusion
