// ComplexPass and RealPass: the prepared transforms along one dimension of an array. They use lanes
// if there are enough lines to fill these; otherwise they transform line by line.
#pragma once

#include <atomic>
#include <memory>

#include "tessera/ops/fourier/line_transform.h"

namespace tessera::ops::fourier {

// What the passes have noticed. An infinity or NaN of a line is in every sum of all its numbers,
// such as the first point of its transform.
struct Noticed {
  std::atomic<bool> not_finite = false;
};

// Complex transforms along the middle dimension of arrays (outer, n, inner).
template <class T>
class ComplexPass {
 public:
  ComplexPass(int64_t outer, int64_t n, int64_t inner);
  // Writes the transform of `in` to `out`, which may be the same memory. `outer` is at most that of
  // the constructor.
  void run(const T* in, T* out, int64_t outer, bool inverse, T scale, Noticed& noticed) const;

 private:
  void run_lanes(const T* in, T* out, int64_t outer, bool inverse, T scale, Noticed& noticed) const;
  void run_lines(const T* in, T* out, int64_t outer, bool inverse, T scale, Noticed& noticed) const;

  int64_t n_, inner_;
  std::unique_ptr<const LaneTransform<T>> lanes_;  // one of these
  std::unique_ptr<const LineTransform<T>> line_;
};

// Transforms between lines of n real numbers and lines of n / 2 + 1 complex ones, the first half of
// the spectrum. If n is even, a complex transform of half the length does the work.
template <class T>
class RealPass {
 public:
  RealPass(int64_t lines, int64_t n);
  void forward(const T* in, T* out, Noticed& noticed) const;
  void inverse(const T* in, T* out, T scale, Noticed& noticed) const;

 private:
  void forward_even_line(const T* in, T* out) const;
  void inverse_even_line(const T* in, T* out, T scale) const;
  // Calls fn(first, count) for groups of lines, on all threads.
  template <class F>
  void for_groups(int64_t size, F&& fn) const;

  int64_t lines_, n_, half_;
  Table<T> twiddles_;                              // if n is even: exp(-2 pi i k / n), k <= n / 4
  std::unique_ptr<const LaneTransform<T>> lanes_;  // of n / 2 points; one of these
  std::unique_ptr<const LineTransform<T>> line_;   // of n / 2 points
  std::unique_ptr<const ComplexPass<T>> odd_;      // of n points, if n is odd
};

}  // namespace tessera::ops::fourier
