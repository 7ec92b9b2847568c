// The examples dealt into groups. For source files of privacy/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/privacy/batch_selection/counter_stream.h"

namespace tessera::privacy::batch_selection::internal {

class Groups {
 public:
  // Of the groups first, ..., last - 1. visit(emit) calls emit(group, example) for all pairs,
  // examples in increasing order; it is called twice, and groups outside are left out.
  template <class Visit>
  Groups(int64_t first, int64_t last, const Visit& visit)
      : first_(first), offsets_(static_cast<size_t>(last - first) + 1, 0) {
    visit([&](int64_t group, int64_t) {
      if (holds(group)) ++offsets_[static_cast<size_t>(group - first_) + 1];
    });
    for (size_t g = 1; g < offsets_.size(); ++g) offsets_[g] += offsets_[g - 1];
    examples_.resize(offsets_.back());
    std::vector<size_t> next(offsets_.begin(), offsets_.end() - 1);
    visit([&](int64_t group, int64_t example) {
      if (holds(group)) examples_[next[static_cast<size_t>(group - first_)]++] = example;
    });
  }

  bool holds(int64_t group) const {
    return group >= first_ && group - first_ + 1 < static_cast<int64_t>(offsets_.size());
  }
  // In increasing order.
  std::span<const int64_t> operator[](int64_t group) const {
    const auto g = static_cast<size_t>(group - first_);
    return std::span(examples_).subspan(offsets_[g], offsets_[g + 1] - offsets_[g]);
  }

 private:
  int64_t first_;
  std::vector<size_t> offsets_;
  std::vector<int64_t> examples_;
};

// Each example in a group of its own drawing.
Groups independent_partition(int64_t examples, int64_t groups, const CounterStream& stream);
// Groups of examples / groups each, rounded down; the examples left over are in none.
Groups equal_split_partition(int64_t examples, int64_t groups, const CounterStream& stream);

// Each example in k of the groups, every choice of them as likely: those of the groups in
// [first, last).
struct Allocation {
  int64_t examples, k, groups;
};
Groups allocate(const Allocation& what, int64_t first, int64_t last, const CounterStream& stream);

}  // namespace tessera::privacy::batch_selection::internal
