// convolution: StableHLO's, with any number of spatial dimensions, strides, padding, dilation and
// groups.
#pragma once

#include <string_view>

#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::ops {

// The positions of batch (rhs: output feature), feature (rhs: input feature) and the spatial
// dimensions, in this order, as in jax.lax.
struct ConvDimensionNumbers {
  Dims lhs_spec, rhs_spec, out_spec;
};

struct ConvolutionParams {
  Dims strides, low, high, lhs_dilation, rhs_dilation, reversal;  // one for each spatial dimension
  Dims lhs_spec, rhs_spec, out_spec;
  int64_t feature_group_count = 1, batch_group_count = 1;
  DType result = float32;
};
extern const OpDef& convolution_op;

}  // namespace tessera::ops

namespace tessera::lax {

struct ConvOptions {
  Dims lhs_dilation = {}, rhs_dilation = {};  // ones
  // "NCHW", "OIHW", "NCHW"; if absent, they are these, for as many spatial dimensions as there are.
  std::string_view lhs_layout = {}, rhs_layout = {}, out_layout = {};
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::optional<DType> preferred = std::nullopt;
};
// `padding`: (low, high) of each spatial dimension.
using Padding = std::vector<std::pair<int64_t, int64_t>>;
Array conv_general_dilated(const Array& lhs, const Array& rhs, const Dims& strides,
                           const Padding& padding, const ConvOptions& options = {});
// "SAME", "SAME_LOWER" or "VALID".
Array conv_general_dilated(const Array& lhs, const Array& rhs, const Dims& strides,
                           std::string_view padding, const ConvOptions& options = {});
Array conv(const Array& lhs, const Array& rhs, const Dims& strides, std::string_view padding);
Array conv_with_general_padding(const Array& lhs, const Array& rhs, const Dims& strides,
                                const Padding& padding, const Dims& lhs_dilation = {},
                                const Dims& rhs_dilation = {});
// Computes the gradient of a convolution with respect to its input, as an operation of its own:
// strides become the distance between the input's elements.
Array conv_transpose(const Array& lhs, const Array& rhs, const Dims& strides,
                     std::string_view padding, const ConvOptions& options = {},
                     bool transpose_kernel = false);

}  // namespace tessera::lax
