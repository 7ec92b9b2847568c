// The properties of a Fourier transform along one dimension, of either op (fft.h), that passes
// need.
#pragma once

#include <optional>

#include "tessera/ir/function.h"
#include "tessera/ops/fourier/fft.h"

namespace tessera::ops {

struct FftLine {
  FftType type;
  int64_t dim;
};
// Returns nothing for other ops, and for transforms over several dimensions.
std::optional<FftLine> as_fft_line(const Op& op, const Function& f);

}  // namespace tessera::ops
