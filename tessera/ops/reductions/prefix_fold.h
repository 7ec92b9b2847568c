// prefix_fold: inclusive prefix folds along one dimension (the fold of all elements up to each
// one), in linear time and on all threads.
//
// The order of folding depends on the shape alone, so results do not depend on the number of
// threads. If there are few and long lines, they are divided into blocks: a thread folds its block,
// combines it with the fold of all earlier blocks, which it passes on, and then computes its block,
// which is still in its cache, a second time. Lines of floating-point products are not divided,
// because the product of a block may overflow although no product of a prefix does.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/base/thread_pool.h"
#include "tessera/ops/core/fold_element.h"

namespace tessera::ops {

// The type in which a running sum or product is kept: double for floats of up to 32 bits.
template <class T>
using Running = std::conditional_t<is_half_type<T> || std::is_same_v<T, float>, double, T>;

// Step is a fold of two Running<T>.
template <class T, class Step>
class PrefixFold {
 public:
  // Prepares the prefix folds along dimension d of `shape`; with `reverse`, each is the fold of all
  // elements from a position on. Lines may be divided into blocks if `divisible`.
  PrefixFold(const Shape& shape, int d, bool reverse, bool divisible, const T* x, T init, T* out)
      : x_(x),
        out_(out),
        init_(element_cast<Running<T>>(init)),
        rows_(shape[d]),
        reverse_(reverse) {
    columns_ = row_major_strides(shape)[d];
    width_ = std::min(columns_, kMaxWidth);
    strips_ = ceil_div(columns_, std::max<int64_t>(1, width_));
    lines_ = shape.elements() == 0 ? 0 : shape.elements() / (rows_ * columns_) * strips_;
    const int64_t block = std::max<int64_t>(1, kBlock / std::max<int64_t>(1, width_));
    block_rows_ = divisible && lines_ < kManyLines && rows_ > 2 * block ? block : rows_;
  }

  void run() const {
    if (lines_ == 0) return;
    if (block_rows_ < rows_) return run_blocks();
    const int64_t group = columns_ == 1 ? kChains : 1;
    const int64_t line = std::max<int64_t>(1, rows_ * width_ * group);
    parallel_for_ranges(ceil_div(lines_, group), std::max<int64_t>(1, kBlock / line),
                        [&](int64_t begin, int64_t end) {
                          if (columns_ > 1) {
                            for (int64_t l = begin; l < end; ++l) run_strip(l);
                          } else {
                            run_lines(begin * kChains, std::min(lines_, end * kChains));
                          }
                        });
  }

 private:
  using R = Running<T>;
  static constexpr int64_t kMaxWidth = 256;  // elements of a row that are folded at once
  // The number of elements of a block. Its four parts are folded together, because each addition
  // waits for the one before it. Parts are 4160 elements long (those of a line's last block are
  // shorter), since parts a power of two apart would compete for the same cache lines.
  static constexpr int64_t kChains = 4, kPart = 4160, kBlock = kChains * kPart;
  static constexpr int64_t kManyLines = 64;  // enough to occupy the machine without dividing lines

  // The fold of all blocks of a line that are finished, and their number.
  struct Handed {
    std::atomic<int64_t> blocks{0};
    std::unique_ptr<R[]> fold;
  };

  // Return the offset of a line's first element, and how many elements of each row the line has.
  int64_t line_start(int64_t l) const {
    return l / strips_ * rows_ * columns_ + l % strips_ * width_;
  }
  int64_t line_width(int64_t l) const { return std::min(width_, columns_ - l % strips_ * width_); }
  int64_t row(int64_t k) const { return reverse_ ? rows_ - 1 - k : k; }
  int64_t direction() const { return reverse_ ? -1 : 1; }

  // Folds rows [k, end) of a line into acc. If kStore, it also stores acc after each row.
  template <bool kStore>
  void fold_rows(int64_t start, int64_t width, int64_t k, int64_t end, R* acc) const {
    for (; k < end; ++k) {
      const T* from = x_ + start + row(k) * columns_;
      T* to = out_ + start + row(k) * columns_;
      for (int64_t i = 0; i < width; ++i) {
        acc[i] = step_(acc[i], element_cast<Running<T>>(from[i]));
        if constexpr (kStore) to[i] = element_cast<T>(acc[i]);
      }
    }
  }
  // Folds `kCount` parts of `length` elements, whose starts are `apart` elements from each other,
  // into acc.
  template <bool kStore, int kCount>
  void fold_parts(int64_t start, int64_t apart, int64_t length, R* acc) const {
    const int64_t by = direction();
    const T* from = x_ + start;
    T* to = out_ + start;
    R a[kCount];
    for (int c = 0; c < kCount; ++c) a[c] = acc[c];
    for (int64_t k = 0; k < length; ++k, from += by, to += by) {
      for (int c = 0; c < kCount; ++c) {
        a[c] = step_(a[c], element_cast<Running<T>>(from[c * apart]));
        if constexpr (kStore) to[c * apart] = element_cast<T>(a[c]);
      }
    }
    for (int c = 0; c < kCount; ++c) acc[c] = a[c];
  }

  void run_strip(int64_t l) const {
    R acc[kMaxWidth];
    std::fill(acc, acc + width_, init_);
    fold_rows<true>(line_start(l), line_width(l), 0, rows_, acc);
  }
  void run_lines(int64_t l, int64_t end) const {
    R acc[kChains];
    for (; l + kChains <= end; l += kChains) {
      std::fill(acc, acc + kChains, init_);
      fold_parts<true, kChains>(l * rows_ + row(0), rows_, rows_, acc);
    }
    for (; l < end; ++l) {
      acc[0] = init_;
      fold_parts<true, 1>(l * rows_ + row(0), 0, rows_, acc);
    }
  }

  void run_blocks() const {
    const int64_t blocks = ceil_div(rows_, block_rows_);
    std::vector<Handed> handed(static_cast<size_t>(lines_));
    for (Handed& h : handed) {
      h.fold = std::make_unique<R[]>(static_cast<size_t>(width_));
      std::fill(h.fold.get(), h.fold.get() + width_, init_);
    }
    // Threads take blocks in order, whatever the order of tasks, so a thread only waits for a block
    // that another thread has begun.
    std::atomic<int64_t> next{0};
    parallel_for(lines_ * blocks, [&](int64_t) {
      const int64_t ticket = next.fetch_add(1);
      const int64_t l = ticket / blocks, b = ticket % blocks;
      run_block(l, b, handed[static_cast<size_t>(l)]);
    });
  }

  void run_block(int64_t l, int64_t b, Handed& handed) const {
    const int64_t begin = b * block_rows_, end = std::min(rows_, begin + block_rows_);
    if (columns_ == 1 && end - begin >= kChains) return run_parts(l, begin, end, b, handed);
    const int64_t start = line_start(l), width = line_width(l);
    R sum[kMaxWidth], acc[kMaxWidth];
    const T* first = x_ + start + row(begin) * columns_;
    for (int64_t i = 0; i < width; ++i) sum[i] = element_cast<Running<T>>(first[i]);
    fold_rows<false>(start, width, begin + 1, end, sum);
    take_over(b, handed, width, acc, sum);
    fold_rows<true>(start, width, begin, end, acc);
  }
  // Folds the elements [begin, end) of a line as kChains parts of the same length, and the up to
  // kChains - 1 elements behind those of the last block, whose fold nothing reads.
  void run_parts(int64_t l, int64_t begin, int64_t end, int64_t b, Handed& handed) const {
    const int64_t part = (end - begin) / kChains, rest = begin + kChains * part;
    const int64_t by = direction(), start = line_start(l) + row(begin), apart = by * part;
    R sums[kChains], acc[kChains];
    for (int64_t c = 0; c < kChains; ++c) sums[c] = element_cast<Running<T>>(x_[start + c * apart]);
    fold_parts<false, kChains>(start + by, apart, part - 1, sums);
    R sum = sums[0];
    for (int64_t c = 1; c < kChains; ++c) sum = step_(sum, sums[c]);
    take_over(b, handed, 1, acc, &sum);
    for (int64_t c = 1; c < kChains; ++c) acc[c] = step_(acc[c - 1], sums[c - 1]);
    fold_parts<true, kChains>(start, apart, part, acc);
    fold_rows<true>(line_start(l), 1, rest, end, &acc[kChains - 1]);
  }

  // Waits for the blocks before block b, sets acc to their fold, and publishes the fold that
  // includes block b, whose own fold is `sum`.
  void take_over(int64_t b, Handed& handed, int64_t width, R* acc, const R* sum) const {
    for (int spins = 0; handed.blocks.load(std::memory_order_acquire) != b;)
      if (++spins > kSpins) std::this_thread::yield();
    for (int64_t i = 0; i < width; ++i) {
      acc[i] = handed.fold[static_cast<size_t>(i)];
      handed.fold[static_cast<size_t>(i)] = step_(acc[i], sum[i]);
    }
    handed.blocks.store(b + 1, std::memory_order_release);
  }
  static constexpr int kSpins = 1000;

  const T* x_;
  T* out_;
  R init_;
  [[no_unique_address]] Step step_;
  int64_t rows_, columns_ = 1, width_ = 1, strips_ = 1, lines_ = 0, block_rows_ = 1;
  bool reverse_;
};

}  // namespace tessera::ops
