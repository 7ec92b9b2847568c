// ConvWindows: computes a convolution of any dtypes and geometry by matrix products. The windows of
// a tile of results become the rows of a matrix, in pieces that stay in the cache, and are
// multiplied by the kernel. It is for convolutions that oneDNN has no fast code for: float64,
// integers, complex numbers, more than three spatial dimensions, strides together with a dilated
// input.
//
// Example: (2, 6, 5, 4) images, 3 x 3 windows, 8 features: rows are the results' positions, 2 * 4 *
// 3 = 24 of them, of 3 * 3 * 4 = 36 elements; the kernel is a (36, 8) matrix.
#pragma once

#include "tessera/base/dtype.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/runtime/conv_shape.h"

namespace tessera::runtime {

class ConvWindows {
 public:
  // Sums are computed in float32 at least; integers wrap as the result's dtype does.
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

  ConvShape shape_;
  DType in_, sum_, out_;
  int64_t places_ = 1, positions_ = 1, k_ = 0;
  // [dim][position * window + tap]: the element's index along the dimension, -1 for padding.
  std::vector<std::vector<int64_t>> index_;
  std::vector<Tile> tiles_;
  int64_t block_ = 0;  // of k
};

}  // namespace tessera::runtime
