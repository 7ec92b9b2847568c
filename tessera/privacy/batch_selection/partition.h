// Random partitions of the examples into groups. Internal to privacy/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/privacy/batch_selection/counter_stream.h"

namespace tessera::privacy::batch_selection::internal {

class Groups {
 public:
  // Constructs the groups first, ..., last - 1. visit(emit) must call emit(group, example) for
  // every example in a group, in increasing order of examples. It is called twice. Other groups are
  // ignored.
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
  // Returns the examples of a group, in increasing order.
  std::span<const int64_t> operator[](int64_t group) const {
    const auto g = static_cast<size_t>(group - first_);
    return std::span(examples_).subspan(offsets_[g], offsets_[g + 1] - offsets_[g]);
  }

 private:
  int64_t first_;
  std::vector<size_t> offsets_;
  std::vector<int64_t> examples_;
};

// Returns a partition for which each example draws its group independently.
Groups independent_partition(int64_t examples, int64_t groups, const CounterStream& stream);
// Returns a random partition into groups of examples / groups examples each, rounded down. The
// remaining examples are in no group.
Groups equal_split_partition(int64_t examples, int64_t groups, const CounterStream& stream);

// allocate() puts each example into k of all groups, where every choice is equally likely. It
// returns the groups in [first, last).
struct Allocation {
  int64_t examples, k, groups;
};
Groups allocate(const Allocation& what, int64_t first, int64_t last, const CounterStream& stream);

}  // namespace tessera::privacy::batch_selection::internal
