#include "tessera/privacy/batch_selection/partition.h"

#include <algorithm>

#include "tessera/privacy/batch_selection/subset.h"

namespace tessera::privacy::batch_selection::internal {
namespace {

// Chooses the groups of one example after another, by Floyd's algorithm (subset.cc). It draws the
// groups that the example is in or, if these are most of the groups, those that it is not in.
class Chooser {
 public:
  Chooser(const Allocation& what, const CounterStream& stream)
      : what_(what),
        drawn_(std::min(what.k, what.groups - what.k)),
        words_(stream),
        drawn_by_(static_cast<size_t>(what.groups), -1),
        chosen_(static_cast<size_t>(drawn_)) {}

  template <class Emit>
  void emit_groups(int64_t example, const Emit& emit) {
    for (int64_t i = 0; i < drawn_; ++i) chosen_[static_cast<size_t>(i)] = draw(example, i);
    if (drawn_ == what_.k) {
      for (const int64_t group : chosen_) emit(group, example);
    } else {
      for (int64_t group = 0; group < what_.groups; ++group)
        if (drawn_by(group) != example) emit(group, example);
    }
  }

 private:
  int64_t& drawn_by(int64_t group) { return drawn_by_[static_cast<size_t>(group)]; }

  int64_t draw(int64_t example, int64_t i) {
    const int64_t end = what_.groups - drawn_ + i;
    auto group = static_cast<int64_t>(
        words_.below(static_cast<uint64_t>(end) + 1, static_cast<uint64_t>(example * drawn_ + i)));
    if (drawn_by(group) == example) group = end;
    drawn_by(group) = example;
    return group;
  }

  const Allocation what_;
  const int64_t drawn_;
  BufferedWords words_;
  std::vector<int64_t> drawn_by_;  // the last example that drew each group
  std::vector<int64_t> chosen_;
};

}  // namespace

Groups independent_partition(int64_t examples, int64_t groups, const CounterStream& stream) {
  return {0, groups, [&](auto emit) {
            BufferedWords words(stream);
            for (int64_t i = 0; i < examples; ++i)
              emit(static_cast<int64_t>(
                       words.below(static_cast<uint64_t>(groups), static_cast<uint64_t>(i))),
                   i);
          }};
}

Groups equal_split_partition(int64_t examples, int64_t groups, const CounterStream& stream) {
  const int64_t size = examples / groups;
  // places[i] is the position of example i in a random order, which determines its group. One group
  // needs no order.
  std::vector<int64_t> places;
  if (groups > 1) places = permutation(examples, stream);
  return {0, groups, [&](auto emit) {
            for (int64_t i = 0; i < examples; ++i) {
              const int64_t place = groups > 1 ? places[static_cast<size_t>(i)] : i;
              if (place < size * groups) emit(place / size, i);
            }
          }};
}

Groups allocate(const Allocation& what, int64_t first, int64_t last, const CounterStream& stream) {
  return {first, last, [&](auto emit) {
            Chooser chooser(what, stream);
            for (int64_t i = 0; i < what.examples; ++i) chooser.emit_groups(i, emit);
          }};
}

}  // namespace tessera::privacy::batch_selection::internal
