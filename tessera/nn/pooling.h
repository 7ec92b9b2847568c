// Pooling as in flax.linen: reductions of windows over the spatial dimensions of inputs (batch...,
// spatial..., features), with any number of batch dimensions, including none.
#pragma once

#include "tessera/nn/conv.h"

namespace tessera::nn {

struct PoolOptions {
  Dims strides = {};                  // one for each dimension of the window; absent: ones
  Padding padding = Padding::kValid;  // kSame, kValid or widths; padding is not folded
};
// Return the largest, or the smallest, element of each window of a real or integer array. If
// several are the largest, the gradient goes to the first. A window of padding alone gives -inf or
// inf (for integers the smallest or the largest number).
//
// Throw UserError for a window with more dimensions than the input has before its features, for
// strides or widths that are not one for each dimension of it, and for padding that repeats the
// input.
Array max_pool(const Array& x, const Dims& window_shape, const PoolOptions& options = {});
Array min_pool(const Array& x, const Dims& window_shape, const PoolOptions& options = {});

struct AvgPoolOptions {
  Dims strides = {};
  Padding padding = Padding::kValid;
  bool count_include_pad = true;  // padding counts as zeros; otherwise it is left out
};
// Returns the mean of each window, of a floating-point or complex array; errors as above.
Array avg_pool(const Array& x, const Dims& window_shape, const AvgPoolOptions& options = {});

}  // namespace tessera::nn
