// fft: discrete Fourier transforms over the last one to three dimensions, StableHLO's.
//
// kFft and kIfft are of complex arrays, the inverse divided by the number of points; kRfft gives
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
  Dims lengths = {};  // of the array that is not a half: real ones, or complex
};
extern const OpDef& fft_op;
// The params of an fft; null for other ops.
const FftParams* as_fft(const Op& op);

// A complex transform along any one dimension. `fft` over several dimensions is one of these after
// the other where it is partitioned (sharding/split_transforms.h).
struct FftAlongParams {
  FftType type = FftType::kFft;  // or kIfft
  int64_t dimension = 0;
};
extern const OpDef& fft_along_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Over the last lengths.size() dimensions; the lengths are those of the result, but of kRfft those
// of x. Numbers become complex (of kRfft: floating) first; no lengths: x itself.
Array fft(const Array& x, FftType type, const Dims& lengths);

}  // namespace tessera::lax
