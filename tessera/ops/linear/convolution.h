// convolution: StableHLO's op, with any number of spatial dimensions, strides, padding, dilations
// and groups.
#pragma once

#include <string_view>

#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::ops {

// The positions of the batch (in rhs, the output features), the features (in rhs, the input
// features) and the spatial dimensions, in this order, as in jax.lax.
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
  Dims lhs_dilation = {}, rhs_dilation = {};  // one for each spatial dimension; empty: ones
  // Texts such as "NHWC", "HWIO" and "NHWC": 'N' is the batch and 'C' the features, 'O' the output
  // and 'I' the input features; other letters are spatial dimensions. Empty layouts are "NCHW",
  // "OIHW" and "NCHW", with as many spatial dimensions as the operands have (conv_transpose has
  // other ones).
  std::string_view lhs_layout = {}, rhs_layout = {}, out_layout = {};
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::optional<DType> preferred = std::nullopt;
};
// The padding (low, high) of each spatial dimension.
using Padding = std::vector<std::pair<int64_t, int64_t>>;
// Returns the convolution of lhs (batch, features, spatial dimensions) with the kernel rhs (output
// features, input features, window), in options.out_layout. Both have the same dtype and the same
// rank of at least 2; `strides` has one stride for each spatial dimension. The result's dtype is
// options.preferred, or that of lhs. For booleans it is true if both elements of any pair are true.
// Throws UserError: kType for other dtypes, kShape if shapes do not fit, kValue for wrong layouts,
// group counts or strides; the message names the violated constraint of StableHLO.
Array conv_general_dilated(const Array& lhs, const Array& rhs, const Dims& strides,
                           const Padding& padding, const ConvOptions& options = {});
// The same with the padding "SAME" (ceil(extent / stride) results, odd padding is longer behind),
// "SAME_LOWER" (odd padding is longer in front) or "VALID" (none).
Array conv_general_dilated(const Array& lhs, const Array& rhs, const Dims& strides,
                           std::string_view padding, const ConvOptions& options = {});
// conv_general_dilated without dilations, in the layouts "NCHW", "OIHW" and "NCHW".
Array conv(const Array& lhs, const Array& rhs, const Dims& strides, std::string_view padding);
// conv_general_dilated with dilations, in the layouts "NCHW", "OIHW" and "NCHW".
Array conv_with_general_padding(const Array& lhs, const Array& rhs, const Dims& strides,
                                const Padding& padding, const Dims& lhs_dilation = {},
                                const Dims& rhs_dilation = {});
// Returns the transposed convolution, which computes the gradient of a convolution by its input:
// `strides` are the distances between the elements of lhs. `padding` is "SAME" or "VALID". If
// `transpose_kernel`, rhs is the kernel of the forward convolution: it is reversed, and its
// features are exchanged. Without layouts, lhs and the result are "NHWC" and rhs is "HWIO", or the
// same with 0 to 3 spatial dimensions. Throws UserError: kShape for more of these, kValue for
// another padding.
Array conv_transpose(const Array& lhs, const Array& rhs, const Dims& strides,
                     std::string_view padding, const ConvOptions& options = {},
                     bool transpose_kernel = false);

}  // namespace tessera::lax
