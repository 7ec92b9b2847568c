// ConvWindows: computes a convolution of any dtypes and geometry by matrix products. The windows of
// a tile of results become the rows of a matrix, in pieces that stay in the cache, and are
// multiplied by the kernel. It is for convolutions that oneDNN has no fast code for: float64,
// integers, complex numbers, more than three spatial dimensions, strides together with a dilated
// input.
//
// Example: images (2, 6, 5, 4), windows of 3 x 3 and 8 output features. The matrix of windows has a
// row for each of the result's 2 * 4 * 3 = 24 positions, with 3 * 3 * 4 = 36 elements; the kernel
// is a (36, 8) matrix.
//
// The windows of a float64 line with one feature are not copied (sliding_sums.h).
#pragma once

#include "tessera/base/dtype.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/runtime/convolutions/conv_shape.h"

namespace tessera::runtime {

class ConvWindows {
 public:
  // Sums of floats are computed in float32 or wider; integers wrap like the result's dtype.
  ConvWindows(ConvShape shape, DType in, DType out);
  void run(const void* lhs, const void* rhs, void* out) const;

 private:
  struct Tile {
    int64_t group, row, rows;
  };
  template <class From, class To>
  void pack_kernel(const From* rhs, To* kernel) const;
  template <class From, class To>
  void lay_windows(const From* lhs, To* patches, const Tile& tile, int64_t begin,
                   int64_t end) const;
  template <class From, class To>
  void store(const From* sums, To* out, const Tile& tile) const;
  // Returns whether the windows are those of sliding_sums().
  bool slides() const;
  void choose_lines();
  void slide(const double* lhs, const double* kernel, void* out, const Tile& tile) const;

  ConvShape shape_;
  DType in_, sum_, out_;
  DType operand_;  // in which windows and the kernel are copied
  int64_t places_ = 1, positions_ = 1, k_ = 0;
  // index_[dim][position * window + tap] is the index along the spatial dimension `dim` of the
  // element that this tap reads; -1 is padding.
  std::vector<std::vector<int64_t>> index_;
  std::vector<Tile> tiles_;
  int64_t block_ = 0;  // how many of the k_ elements of a window are copied at a time
};

}  // namespace tessera::runtime
