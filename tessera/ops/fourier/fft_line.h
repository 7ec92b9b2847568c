// What passes need to know of a Fourier transform along one dimension, by either op of fft.h.
#pragma once

#include <optional>

#include "tessera/ir/function.h"
#include "tessera/ops/fourier/fft.h"

namespace tessera::ops {

struct FftLine {
  FftType type;
  int64_t dim;
};
// Returns nullopt for other ops, and for transforms over several dimensions.
std::optional<FftLine> as_fft_line(const Op& op, const Function& f);

}  // namespace tessera::ops
