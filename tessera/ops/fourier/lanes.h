// Fourier transforms in lanes: several transforms of one length side by side, one in each lane of a
// vector register, so that every step is the same for all and nothing is shuffled between lanes.
//
// A buffer is an array of points; a point is a vector of real parts, then one of imaginary parts.
// LaneRoutines is the code over buffers for one instruction set (lane_code.h, compiled once each).
// Transforms are forward and unscaled: an inverse one swaps real and imaginary parts where it loads
// and where it stores.
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

// Where the points of transforms stand: point i of lane l is the complex number at data + 2 (i *
// point_stride + l * lane_stride). Lanes fill one buffer after the other.
template <class T>
struct LaneView {
  T* data;
  int64_t points, point_stride, lane_stride;
  int lanes;
  bool swapped;  // real and imaginary parts change places
};

// `a`, `b`: buffers, aligned to a vector. Complex tables are interleaved.
template <class T>
struct LaneRoutines {
  int width;
  // Points of a (and b is for its use); returns the one of both that holds the result.
  T* (*transform)(const Pass<T>* passes, int count, T* a, T* b);
  // Of as many buffers as the lanes need; lanes of the last one beyond those of the view are zero.
  void (*load)(T* const* to, const LaneView<const T>& from);
  void (*store)(T* const* from, const LaneView<T>& to, T scale);
  // to[i] = from[i] * table[i], with real and imaginary parts changing places before or after.
  void (*multiply)(T* to, const T* from, const T* table, int64_t points, bool swap_in,
                   bool swap_out);
  // to[i] = from[i] * table[i] * lanes[i], where `lanes` is a buffer itself.
  void (*twist)(T* to, const T* from, const T* table, const T* lanes, int64_t points);
  // `from` is blocks of `points` points, whose lanes are consecutive points here: point i of lane l
  // is lane i % width of point row + l of block i / width.
  void (*turn)(T* const* to, const T* from, int64_t block_points, int64_t row, int lanes,
               int64_t points);
  // The h + 1 points of real lines' spectra from the h points of z, which holds the transform of
  // their even elements + i odd ones; and back (z then swapped, and twice what it was). `table`:
  // exp(-2 pi i k / 2h), k <= h / 2.
  void (*unpack_real)(T* to, const T* z, const T* table, int64_t h);
  void (*pack_real)(T* z, const T* from, const T* table, int64_t h);
  // The same of one line in memory, for k of [begin, end) within [0, h / 2] and h - k. May be in
  // place.
  void (*unpack_line)(T* to, const T* z, const T* table, int64_t h, int64_t begin, int64_t end);
  void (*pack_line)(T* z, const T* from, const T* table, int64_t h, int64_t begin, int64_t end);
  // Products of complex numbers, to[i] = a[i] * b[i] * scale; before, a's parts change places.
  void (*product)(T* to, const T* a, const T* b, int64_t n, T scale, bool swap_in);
};

// For the processor at hand.
template <class T>
const LaneRoutines<T>& lane_routines();

}  // namespace tessera::ops::fourier
