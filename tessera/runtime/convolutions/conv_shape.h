// ConvShape: any convolution op as strides over the memory of its operands, and which of the
// library's three convolutions it is.
//
// Groups of features and groups of the batch differ only in the distance of groups in lhs, so code
// that uses a ConvShape need not tell them apart.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ops/linear/convolution.h"

namespace tessera::runtime {

// The distances in elements between neighbours along each dimension of a tensor. `major`, `group`
// and `minor` are, for lhs and the result, the batch, the groups and the features of a group; for
// rhs, the output features, the groups and the input features.
struct ConvTensor {
  int64_t major = 0, group = 0, minor = 0;
  Dims spatial;
};

// result[b, g, o, p] = sum over i, k of
//   lhs[b, g, i, (p * stride + k * window_dilation - low) / in_dilation] * rhs[g, o, i, k].
struct ConvShape {
  struct Dim {
    int64_t in, window, out, stride, low, in_dilation, window_dilation;
    bool reversed;  // whether the window is
  };
  // `inputs` and `outputs` are the numbers of features of one group.
  int64_t batch = 1, groups = 1, inputs = 1, outputs = 1;
  std::vector<Dim> dims;
  ConvTensor lhs, rhs, out;
  Shape rhs_shape;
  Dims rhs_dims;  // the positions of the spatial dimensions in rhs_shape
};
ConvShape conv_shape(const ConvolutionParams& p, const Shape& lhs, const Shape& rhs,
                     const Shape& result);

// What the library computes: the result of a forward convolution, or a gradient of one. src,
// weights and dst are the forward convolution's input, kernel and result:
//   kForward          dst from src and weights
//   kBackwardData     src from dst and weights. A convolution with an input dilated by d is the
//                     gradient by the input of a convolution with strides d and reversed windows.
//   kBackwardWeights  weights from src and dst. A convolution with a window larger than its result,
//                     over an lhs with the batch as its minor dimension, is the gradient by the
//                     kernel. So is one with a small result, if both operands are stored so.
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
  std::vector<bool> reversed;  // the dimensions of rhs that are reversed first
};
// Returns nullopt if the library has no such convolution.
std::optional<LibraryConv> library_conv(const ConvShape& shape);

// The part of one spatial dimension of src that positions [begin, begin + count) of dst read. They
// read only padding if in <= 0.
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
// Returns the tiles, which depend only on the arguments. Tiles of kBackwardWeights that differ only
// in batch or rows are parts of one sum and follow one another. If `alone`, each tile has one
// group, because the groups of some tensor are not adjacent.
std::vector<ConvTile> split_into_tiles(const LibraryConv& conv, bool alone);
// Returns the tiles that the library computes. If groups have one feature, features are as far
// apart as groups; sets the strides of `conv` to that.
std::vector<ConvTile> conv_tiles(LibraryConv& conv);
// Returns for each tile the range of elements of the result, (first, count), that are its result.
// Returns no ranges if they are not all contiguous, or if the convolution is a gradient.
std::vector<std::pair<int64_t, int64_t>> result_ranges(const LibraryConv& conv,
                                                       const std::vector<ConvTile>& tiles);
double conv_flops(const LibraryConv& conv);
// Returns an estimate of the time that one thread needs.
double conv_ns(const LibraryConv& conv);

}  // namespace tessera::runtime
