// LineTransform: the prepared transform of one line of consecutive complex numbers. It uses lanes
// within the line, and all threads.
//
// A line of n = rows * columns points is a matrix: its columns are transformed and multiplied by
// twiddles, then its rows are transformed, several at a time in lanes. So memory is read and
// written twice (D. H. Bailey, "FFTs in external or hierarchical memory", 1990). Lengths with a
// prime factor above 13 are convolutions (lane_transform.h) of a length that is such a matrix.
#pragma once

#include <memory>

#include "tessera/ops/fourier/lane_transform.h"

namespace tessera::ops::fourier {

template <class T>
class LineTransform {
 public:
  explicit LineTransform(int64_t n);
  int64_t size() const { return n_; }
  // Writes the transform of `in` to `out`; both are n complex numbers, and may be the same memory.
  // `inverse` uses the conjugate roots. The result is multiplied by `scale`.
  void run(const T* in, T* out, bool inverse, T scale) const;

 private:
  void run_columns(const T* in, T* temp, bool inverse) const;
  void run_rows(const T* temp, T* out, bool inverse, T scale) const;
  void run_convolution(const T* in, T* out, bool inverse, T scale) const;
  void make_twiddles();

  int64_t n_;
  std::unique_ptr<const LaneTransform<T>> columns_, rows_;
  // The twiddle of row k in column c + l is starts[c / width][k] * steps[k][l].
  Table<T> starts_, steps_;
  std::unique_ptr<const LineTransform> work_;
  std::unique_ptr<const Chirp<T>> chirp_;
};

}  // namespace tessera::ops::fourier
