// fft: StableHLO's op for discrete Fourier transforms over the last one to three dimensions.
//
// kFft and kIfft transform complex arrays, and kIfft divides by the number of points; kRfft returns
// the first half of a real array's spectrum, n / 2 + 1 points of the last dimension, and kIrfft the
// real array of such a half.
#pragma once

#include <array>
#include <string_view>

#include "tessera/ir/array.h"

namespace tessera::lax {

enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };
inline std::array<std::string_view, 4> enum_names(FftType) {
  return {"FFT", "IFFT", "RFFT", "IRFFT"};
}

}  // namespace tessera::lax

namespace tessera::ops {

using lax::FftType;

struct FftParams {
  FftType type = FftType::kFft;
  Dims lengths = {};  // lengths of the full array, even if x or the result is its half
};
extern const OpDef& fft_op;
// Returns the params of an fft; null for other ops.
const FftParams* as_fft(const Op& op);

// A complex transform along any one dimension. If an fft over several dimensions is partitioned, it
// becomes a sequence of these (sharding/split_transforms.h).
struct FftAlongParams {
  FftType type = FftType::kFft;  // kFft or kIfft
  int64_t dimension = 0;
};
extern const OpDef& fft_along_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns the transform of x over its last lengths.size() dimensions; the lengths are those of the
// result, or of x for kRfft. Numbers are converted to complex first (to floating point for kRfft).
// Without lengths, the result is x itself.
Array fft(const Array& x, FftType type, const Dims& lengths);

}  // namespace tessera::lax
