// Fourier transforms in lanes: several transforms of one length at once, one in each lane of a
// vector register, so that every step is the same for all and nothing is shuffled between lanes.
//
// A buffer is an array of points; a point is a vector of real parts, then one of imaginary parts.
// LaneRoutines is the code over buffers for one instruction set (lane_code.h, compiled once for
// each). Transforms are forward and unscaled: an inverse one exchanges real and imaginary parts
// when it loads and when it stores.
#pragma once

#include <cstdint>

namespace tessera::ops::fourier {

inline constexpr int kMaxRadix = 13;

// One pass of Stockham's autosort: reads (radix, groups, stride) points, writes (groups, radix,
// stride).
template <class T>
struct Pass {
  int radix;
  int64_t groups, stride;
  const T* twiddles;  // [groups][radix - 1] complex: w^(group k), w of order groups * radix
  const T* roots;     // odd radices: cos(2 pi k / radix), then sin, for k < radix
};

// The addresses of the points of transforms: point i of lane l is the complex number at data + 2 (i
// * point_stride + l * lane_stride). Lanes fill one buffer after the other.
template <class T>
struct LaneView {
  T* data;
  int64_t points, point_stride, lane_stride;
  int lanes;
  bool swapped;  // whether real and imaginary parts are exchanged
};

// `a`, `b`: buffers, aligned to a vector. Complex tables are interleaved.
template <class T>
struct LaneRoutines {
  int width;
  // Transforms the points of a, and may write to b; returns the one that holds the result.
  T* (*transform)(const Pass<T>* passes, int count, T* a, T* b);
  // Loads as many buffers as the lanes need; lanes of the last one beyond those of the view are
  // zero.
  void (*load)(T* const* to, const LaneView<const T>& from);
  void (*store)(T* const* from, const LaneView<T>& to, T scale);
  // Computes to[i] = from[i] * table[i], with real and imaginary parts exchanged before or after.
  void (*multiply)(T* to, const T* from, const T* table, int64_t points, bool swap_in,
                   bool swap_out);
  // Computes to[i] = from[i] * table[i] * lanes[i], where `lanes` is a buffer itself.
  void (*twist)(T* to, const T* from, const T* table, const T* lanes, int64_t points);
  // `from` is blocks of `points` points, whose lanes are consecutive points in `to`: point i of
  // lane l is lane i % width of point row + l of block i / width.
  void (*turn)(T* const* to, const T* from, int64_t block_points, int64_t row, int lanes,
               int64_t points);
  // Computes the h + 1 points of real lines' spectra from the h points of z, which holds the
  // transform of their even elements + i odd ones; and the inverse (where z is then exchanged, and
  // twice what it was). `table`: exp(-2 pi i k / 2h), k <= h / 2.
  void (*unpack_real)(T* to, const T* z, const T* table, int64_t h);
  void (*pack_real)(T* z, const T* from, const T* table, int64_t h);
  // The same for one line in memory, for k in [begin, end) within [0, h / 2] and for h - k. It may
  // be in place.
  void (*unpack_line)(T* to, const T* z, const T* table, int64_t h, int64_t begin, int64_t end);
  void (*pack_line)(T* z, const T* from, const T* table, int64_t h, int64_t begin, int64_t end);
  // Computes products of complex numbers, to[i] = a[i] * b[i] * scale, where a's parts may be
  // exchanged first.
  void (*product)(T* to, const T* a, const T* b, int64_t n, T scale, bool swap_in);
};

// Returns the routines for this processor.
template <class T>
const LaneRoutines<T>& lane_routines();

}  // namespace tessera::ops::fourier
