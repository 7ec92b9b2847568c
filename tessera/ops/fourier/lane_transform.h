// LaneTransform: the prepared transform of one length in lanes (lanes.h).
//
// Lengths without a prime factor above 13 are transformed pass by pass. Others are a convolution
// with a chirp, of a length that has none (L. I. Bluestein, "A linear filtering approach to the
// computation of the discrete Fourier transform", 1970).
#pragma once

#include <memory>
#include <vector>

#include "tessera/base/workspace.h"
#include "tessera/ops/fourier/lanes.h"
#include "tessera/ops/fourier/table.h"

namespace tessera::ops::fourier {

// is_smooth() returns whether all prime factors of n are at most kMaxRadix; smooth_from() returns
// the least smooth number >= n.
bool is_smooth(int64_t n);
int64_t smooth_from(int64_t n);

// Bluestein's tables: the chirp exp(-pi i k^2 / n) for k < n (`factors`), and the transform of its
// conjugate for a convolution of length m, divided by m (`spectrum`).
template <class T>
struct Chirp {
  Chirp(int64_t n, int64_t m);
  Table<T> factors, spectrum;  // complex numbers
};

template <class T>
class LaneTransform {
 public:
  explicit LaneTransform(int64_t n);
  int64_t size() const { return n_; }
  // Returns the number of points that each of the two buffers must hold.
  int64_t buffer_points() const { return work_ ? work_->n_ : n_; }
  // Transforms the points of a, and returns the buffer with the result, which is a or b.
  T* run(T* a, T* b) const;

 private:
  void add_pass(int radix, int64_t groups, int64_t stride);

  int64_t n_;
  std::vector<Pass<T>> passes_;
  std::vector<Table<T>> tables_;
  std::unique_ptr<const LaneTransform> work_;  // transform for Bluestein's convolution
  std::unique_ptr<const Chirp<T>> chirp_;
};

// Buffers for several groups of lanes, so that reads and writes across lines are longer, and one
// spare buffer, which transforms need.
template <class T>
class LanePanel {
 public:
  static constexpr int kMaxGroups = 4;
  // Returns the number of groups for which the cache has room.
  static int groups_for(int64_t points);

  LanePanel(int64_t points, int groups);
  T* const* buffers() const { return buffers_; }
  // Returns the buffer that is not in use.
  T*& spare() { return buffers_[groups_]; }
  // Transforms each of the first `count` buffers in place.
  void transform(const LaneTransform<T>& transform, int count);

 private:
  int groups_;
  Workspace<T> memory_;
  T* buffers_[kMaxGroups + 1];
};

}  // namespace tessera::ops::fourier
