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

// One pass of Stockham's autosort: reads points of shape (radix, groups, stride), and writes
// (groups, radix, stride).
template <class T>
struct Pass {
  int radix;
  int64_t groups, stride;
  const T* twiddles;  // [groups][radix - 1] complex: w^(group k), w of order groups * radix
  const T* roots;     // odd radices: cos(2 pi k / radix), then sin, for k < radix
};

// The addresses of the points of transforms: point i of lane l is the complex number at data + 2 (i
// * point_stride + l * lane_stride). Lanes are loaded into one buffer after the other.
template <class T>
struct LaneView {
  T* data;
  int64_t points, point_stride, lane_stride;
  int lanes;
  bool swapped;  // whether real and imaginary parts are exchanged
};

// The routines take buffers, which are aligned to a vector, and tables of interleaved complex
// numbers.
template <class T>
struct LaneRoutines {
  int width;
  // Transforms the points of a, and may write to b; returns the buffer that holds the result.
  T* (*transform)(const Pass<T>* passes, int count, T* a, T* b);
  // Loads as many buffers as the view's lanes need; the remaining lanes of the last buffer are
  // zero.
  void (*load)(T* const* to, const LaneView<const T>& from);
  void (*store)(T* const* from, const LaneView<T>& to, T scale);
  // Computes to[i] = from[i] * table[i]. Real and imaginary parts are exchanged before it if
  // swap_in, and after it if swap_out.
  void (*multiply)(T* to, const T* from, const T* table, int64_t points, bool swap_in,
                   bool swap_out);
  // Computes to[i] = from[i] * table[i] * lanes[i], where `lanes` is a buffer itself.
  void (*twist)(T* to, const T* from, const T* table, const T* lanes, int64_t points);
  // Exchanges lanes and points. `from` is blocks of `block_points` points, whose lanes become
  // consecutive points of `to`: point i of lane l is lane i % width of point row + l of block i /
  // width.
  void (*turn)(T* const* to, const T* from, int64_t block_points, int64_t row, int lanes,
               int64_t points);
  // unpack_real computes the h + 1 points of the spectra of real lines from the h points of z, the
  // transforms of (even elements + i odd elements). pack_real is the inverse, except that z is
  // doubled and has its parts exchanged. `table` is exp(-2 pi i k / 2h) for k <= h / 2.
  void (*unpack_real)(T* to, const T* z, const T* table, int64_t h);
  void (*pack_real)(T* z, const T* from, const T* table, int64_t h);
  // These do the same for one line in memory, for points k in [begin, end), a part of [0, h / 2],
  // and h - k. They may work in place.
  void (*unpack_line)(T* to, const T* z, const T* table, int64_t h, int64_t begin, int64_t end);
  void (*pack_line)(T* z, const T* from, const T* table, int64_t h, int64_t begin, int64_t end);
  // Computes products of complex numbers, to[i] = a[i] * b[i] * scale, where a's parts are
  // exchanged first if swap_in.
  void (*product)(T* to, const T* a, const T* b, int64_t n, T scale, bool swap_in);
};

// Returns the routines for this processor.
template <class T>
const LaneRoutines<T>& lane_routines();

}  // namespace tessera::ops::fourier
