// Convolution with the layouts of linen's and nnx's layers: inputs (batch..., spatial...,
// features), kernels (spatial..., features / groups, features).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/numpy/creation.h"

namespace tessera::nn {

// The padding of the input. kSame keeps the extents (divided by the strides); kValid adds nothing;
// kCircular and kReflect repeat the input; kCausal pads the beginning of the only spatial
// dimension; widths are numbers of zeros before and after each dimension.
class Padding {
 public:
  enum Mode : uint8_t { kSame, kValid, kCircular, kReflect, kCausal, kExplicit };
  Padding(Mode mode) : mode_(mode) {}
  Padding(std::vector<std::pair<int64_t, int64_t>> widths)
      : mode_(kExplicit), widths_(std::move(widths)) {}

  Mode mode() const { return mode_; }
  const std::vector<std::pair<int64_t, int64_t>>& widths() const { return widths_; }
  std::string tree_static_key() const;

 private:
  Mode mode_;
  std::vector<std::pair<int64_t, int64_t>> widths_;
};

// Each of the Dims has one entry for each spatial dimension, or one for all, or none, which means
// 1.
struct ConvOptions {
  Dims strides = {};
  Padding padding = Padding::kSame;
  Dims input_dilation = {}, kernel_dilation = {};
  int64_t feature_group_count = 1;
};

// Returns the kernel's shape. Throws UserError naming `op` unless the features divide into the
// groups.
Shape conv_kernel_shape(const char* op, const Dims& kernel_size, int64_t in_features,
                        int64_t out_features, const ConvOptions& options);
// Returns the convolution. `bias` may be undefined. There may be any number of batch dimensions,
// including none. Throws UserError naming `op` for options that do not fit the kernel, and for an
// input that is smaller than it.
Array conv(const char* op, const Array& x, const Array& kernel, const Array& bias,
           const ConvOptions& options, OptionalDType dtype);

// Computes jax.lax.conv_transpose of inputs (batch..., spatial..., features) and a kernel
// (spatial..., features, out features). The strides apply to the result. With `transpose_kernel`
// the kernel is that of a forward convolution, (spatial..., out features, features), and the result
// is the gradient of that convolution. Padding is kSame, kValid or widths around the dilated input.
// Throws UserError naming `op` for any other padding, for inputs that do not fit the kernel, and
// for extents that are not one for each dimension.
struct ConvTransposeOptions {
  Dims strides = {};
  Padding padding = Padding::kSame;
  Dims kernel_dilation = {};
  bool transpose_kernel = false;
};
Array conv_transpose(const char* op, const Array& x, const Array& kernel, const Array& bias,
                     const ConvTransposeOptions& options, OptionalDType dtype);

}  // namespace tessera::nn
