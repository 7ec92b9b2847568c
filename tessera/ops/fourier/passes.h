// ComplexPass and RealPass: the transforms along one dimension of an array, prepared. They use
// lanes if there are enough lines to fill them, otherwise transform line by line.
#pragma once

#include <memory>

#include "tessera/ops/fourier/line_transform.h"

namespace tessera::ops::fourier {

// For arrays (outer, n, inner).
template <class T>
class ComplexPass {
 public:
  ComplexPass(int64_t outer, int64_t n, int64_t inner);
  // `outer` is at most that of the constructor. `in` and `out` may be the same memory.
  void run(const T* in, T* out, int64_t outer, bool inverse, T scale) const;

 private:
  void run_lanes(const T* in, T* out, int64_t outer, bool inverse, T scale) const;
  void run_lines(const T* in, T* out, int64_t outer, bool inverse, T scale) const;

  int64_t n_, inner_;
  std::unique_ptr<const LaneTransform<T>> lanes_;  // either
  std::unique_ptr<const LineTransform<T>> line_;
};

// For lines of n real numbers, and of n / 2 + 1 complex ones: the spectrum's first half. An even n
// is a complex transform of half the length.
template <class T>
class RealPass {
 public:
  RealPass(int64_t lines, int64_t n);
  void forward(const T* in, T* out) const;
  void inverse(const T* in, T* out, T scale) const;

 private:
  void forward_even_line(const T* in, T* out) const;
  void inverse_even_line(const T* in, T* out, T scale) const;
  // Calls fn(first, count) for groups of lines, on all threads.
  template <class F>
  void for_groups(int64_t size, F&& fn) const;

  int64_t lines_, n_, half_;
  Table<T> twiddles_;                              // exp(-2 pi i k / n), k <= n / 4; even n
  std::unique_ptr<const LaneTransform<T>> lanes_;  // of n / 2; one of these
  std::unique_ptr<const LineTransform<T>> line_;   // of n / 2
  std::unique_ptr<const ComplexPass<T>> odd_;      // of n
};

}  // namespace tessera::ops::fourier
