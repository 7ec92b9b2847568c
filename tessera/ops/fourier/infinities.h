// Transforms of lines that hold infinities, by the definition. The fast algorithms multiply an
// infinity by zeros and subtract infinities of parts from each other, which makes NaN of sums that
// have a value: the first point of the transform of (1, -inf, 1, 1) is their sum, minus infinity.
//
// By the definition a point is the sum of the numbers of the line, each times a cosine or sine. A
// term whose cosine or sine is zero is zero. Infinities of one sign in a sum make it infinite, and
// infinities of both signs NaN. Lines with NaN are left to the fast algorithms.
#pragma once

#include "tessera/ops/fourier/fft.h"

namespace tessera::ops::fourier {

// Lines along the middle dimension of arrays (outer, points, inner). For kRfft and kIrfft, `n` is
// the number of real points, there are n / 2 + 1 complex ones, and inner is 1.
struct Lines {
  FftType type;
  int64_t outer, n, inner;
};

// Overwrites the transforms `out` of those lines of `in` that hold infinities and no NaN.
template <class T>
void transform_infinities(const Lines& lines, const T* in, T* out, T scale);

}  // namespace tessera::ops::fourier
