// Pooling as flax.linen's: folds of windows over the spatial dimensions of inputs (batch...,
// spatial..., features), any number of batch dimensions, none included.
#pragma once

#include "tessera/nn/conv.h"

namespace tessera::nn {

struct PoolOptions {
  Dims strides = {};                  // one a dimension of the window; absent: ones
  Padding padding = Padding::kValid;  // kSame, kValid or widths: what lies there is not folded
};
// The largest and the smallest element of each window of a real or integer array. Where several
// are the largest, the gradient goes to the first. A window of padding alone gives -inf and inf
// (integers: the least and the largest number).
//
// UserError: a window with more dimensions than the input has before its features, strides or
// widths that are not one a dimension of it, padding that repeats the input.
Array max_pool(const Array& x, const Dims& window_shape, const PoolOptions& options = {});
Array min_pool(const Array& x, const Dims& window_shape, const PoolOptions& options = {});

struct AvgPoolOptions {
  Dims strides = {};
  Padding padding = Padding::kValid;
  bool count_include_pad = true;  // padding counts as zeros; otherwise as nothing
};
// The mean of each window, of a floating-point or complex array; errors as above.
Array avg_pool(const Array& x, const Dims& window_shape, const AvgPoolOptions& options = {});

}  // namespace tessera::nn
