// Selects the first items of many in an order, without sorting the others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::ops {

// A key and the position of its element; of equal keys, the one with the smaller position is first.
template <class Key>
struct Candidate {
  Key key;
  int64_t place;
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

// Keeps the first `count` of the candidates that were added, whose positions ascend.
template <class Key>
class FirstCandidates {
 public:
  explicit FirstCandidates(int64_t count)
      : count_(static_cast<size_t>(count)), room_(2 * count_ + 64) {
    kept_.reserve(room_);
  }
  // Returns whether a later candidate with this key may be among the first.
  bool wants(Key key) const { return !full_ || key < last_; }
  // Returns whether there are `count` candidates. From then on only keys before last() are wanted.
  bool is_full() const { return full_; }
  Key last() const { return last_; }

  void add(Key key, int64_t place) {
    if (!wants(key)) return;
    kept_.push_back({key, place});
    if (kept_.size() == room_) drop_rest();
  }
  // Returns the first `count` of the candidates so far, the first one first.
  std::span<const Candidate<Key>> first() {
    if (kept_.size() > count_) drop_rest();
    std::sort(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  void drop_rest() {
    const auto last = kept_.begin() + static_cast<ptrdiff_t>(count_) - 1;
    std::nth_element(kept_.begin(), last, kept_.end());
    last_ = last->key;
    full_ = true;
    kept_.resize(count_);
  }

  size_t count_, room_;
  std::vector<Candidate<Key>> kept_;
  bool full_ = false;
  Key last_ = {};
};

// Keeps the first `count` of the candidates that were added, at most kMostFew, in their order. A
// candidate is inserted among those before it, so a key that is not among the first is not kept
// even for a moment, and nothing is allocated: short lines are selected in little time.
template <class Key>
class FewCandidates {
 public:
  static constexpr int64_t kMostFew = 8;
  explicit FewCandidates(int64_t count) : count_(count) {}
  bool is_full() const { return size_ == count_; }
  Key last() const { return kept_[count_ - 1].key; }

  void add(Key key, int64_t place) {
    if (is_full()) {
      if (!(key < last())) return;
      --size_;
    }
    int64_t at = size_++;
    for (; at > 0 && key < kept_[at - 1].key; --at) kept_[at] = kept_[at - 1];
    kept_[at] = {key, place};
  }
  // Returns the candidates that are kept, the first one first.
  std::span<const Candidate<Key>> first() const {
    return {kept_.data(), static_cast<size_t>(size_)};
  }

 private:
  int64_t count_, size_ = 0;
  std::array<Candidate<Key>, kMostFew> kept_;
};

}  // namespace tessera::ops
