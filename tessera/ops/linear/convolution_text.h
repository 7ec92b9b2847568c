// The parameters of a convolution as text, for StableHLO's assembly and printed schedules.
#pragma once

#include <string>

#include "tessera/ops/linear/convolution.h"

namespace tessera::ops {

// Returns "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]".
std::string convolution_numbers_text(const ConvolutionParams& params);
// Returns "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], ...}".
std::string convolution_text(const ConvolutionParams& params);

}  // namespace tessera::ops
