// The parts of convolution that stand in files of their own: its rules and its text.
#pragma once

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/use_rule.h"
#include "tessera/ops/linear/convolution.h"

namespace tessera::ops {

JvpResult jvp_convolution(std::span<const Array> x, std::span<const Array> t,
                          const ConvolutionParams& p);
std::vector<Array> transpose_convolution(std::span<const Array> cts, std::span<const Array> x,
                                         const std::vector<bool>& linear,
                                         const ConvolutionParams& p);
std::optional<OuterProduct> convolution_outer_product(const Array& ct, std::span<const Array> x,
                                                      const std::vector<bool>& linear,
                                                      const ConvolutionParams& p);
BatchResult batch_convolution(std::span<const Array> x, std::span<const int> dims,
                              const ConvolutionParams& p);

}  // namespace tessera::ops

namespace tessera::ops::formats {

// dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], ...}
std::string convolution_text(const ConvolutionParams& params);
// %0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], ...}
OpFormat convolution();

}  // namespace tessera::ops::formats
