// ConvShape: any convolution op as strides over the memory of its operands, and which of the
// library's three convolutions it is.
//
// Groups of features and groups of the batch differ only in the distance of groups in the lhs, so
// from here on they are treated alike.
#pragma once

#include <optional>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ops/linear/convolution.h"

namespace tessera::runtime {

// The distance in elements between neighbours along each dimension. lhs and result: batch, group,
// feature of a group; rhs: output feature, group, input feature.
struct ConvTensor {
  int64_t major = 0, group = 0, minor = 0;
  Dims spatial;
};

// result[b, g, o, p] = sum over i, k of
//   lhs[b, g, i, (p * stride + k * window_dilation - low) / in_dilation] * rhs[g, o, i, k].
struct ConvShape {
  struct Dim {
    int64_t in, window, out, stride, low, in_dilation, window_dilation;
    bool reversed;  // the window
  };
  int64_t batch = 1, groups = 1, inputs = 1, outputs = 1;  // features of one group
  std::vector<Dim> dims;
  ConvTensor lhs, rhs, out;
  Shape rhs_shape;
  Dims rhs_dims;  // the positions of the spatial dimensions in it
};
ConvShape conv_shape(const ConvolutionParams& p, const Shape& lhs, const Shape& rhs,
                     const Shape& result);

// The kind of convolution for the library. Its names (src, weights, dst) are those of the forward
// convolution of which it computes the result or a gradient:
//   kForward          dst from src and weights
//   kBackwardData     src from dst and weights: with an input dilated by d it is the gradient by
//                     the input of a convolution with strides d, with its window reversed
//   kBackwardWeights  weights from src and dst: with a window larger than the result, over an lhs
//                     whose batch is its minor dimension, it is the gradient by the kernel
//
// Example: the kernel's gradient of a (32, 56, 56, 64) image by 3 x 3 windows has the image with
// batch and features exchanged as lhs and windows of 56 x 56 as rhs; as kBackwardWeights it is
// 32 images, 3 x 3 windows.
enum class ConvDirection : uint8_t { kForward, kBackwardData, kBackwardWeights };
struct LibraryConv {
  struct Dim {
    int64_t in, window, out, stride, dilation, low;
  };
  ConvDirection direction = ConvDirection::kForward;
  int64_t batch = 1, groups = 1, inputs = 1, outputs = 1;
  std::vector<Dim> dims;  // 1 to 3
  ConvTensor src, weights, dst;
  std::vector<bool> reversed;  // the dimensions of rhs to reverse first
};
// Returns nullopt if the library has no such convolution.
std::optional<LibraryConv> library_conv(const ConvShape& shape);

// The part of one spatial dimension of src that results [begin, begin + count) read. in <= 0: none.
struct ConvSlice {
  int64_t begin, in, low, high, out;
  friend bool operator==(const ConvSlice&, const ConvSlice&) = default;
};
ConvSlice slice_conv(const LibraryConv::Dim& dim, int64_t begin, int64_t count);

// A part of the work: ranges of the batch, the groups, the features of a group, and of dst's first
// spatial dimension.
struct ConvTile {
  int64_t batch, batches, group, groups, input, inputs, output, outputs, row, rows;
};
// Returns the tiles, which depend on the shape alone. Tiles of kBackwardWeights that differ only in
// batch or rows are parts of one sum and follow one another. `alone`: the groups of some tensor are
// not adjacent, so a tile has one group.
std::vector<ConvTile> split_into_tiles(const LibraryConv& conv, bool alone);
double conv_flops(const LibraryConv& conv);

}  // namespace tessera::runtime
