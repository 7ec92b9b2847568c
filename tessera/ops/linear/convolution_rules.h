// The rules of convolution: its derivatives, outer products and batching.
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
