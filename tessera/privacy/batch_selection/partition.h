// Random partitions of the examples into groups. For source files of privacy/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/privacy/batch_selection/counter_stream.h"

namespace tessera::privacy::batch_selection::internal {

class Groups {
 public:
  // Constructs the groups first, ..., last - 1. visit(emit) calls emit(group, example) for all
  // pairs, examples in increasing order; it is called twice, and other groups are ignored.
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

// Returns groups where each example draws its own.
Groups independent_partition(int64_t examples, int64_t groups, const CounterStream& stream);
// Returns groups of examples / groups each, rounded down; the remaining examples are in none.
Groups equal_split_partition(int64_t examples, int64_t groups, const CounterStream& stream);

// Returns, for the groups in [first, last), the examples where each is in k of all groups, and
// every choice of them is equally likely.
struct Allocation {
  int64_t examples, k, groups;
};
Groups allocate(const Allocation& what, int64_t first, int64_t last, const CounterStream& stream);

}  // namespace tessera::privacy::batch_selection::internal
