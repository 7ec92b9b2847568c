// Signal processing with the names of jax.scipy.signal: convolutions of any number of dimensions,
// trends, and spectra by windowed Fourier transforms.
//
// Integers become floating. All functions throw UserError for ranks, shapes and lengths that do not
// fit each other. tessera/tessera.h does not include this header.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/convolve.h"

namespace tessera::scipy::signal {

using tessera::ConvolveMode;

enum class ConvolveMethod : uint8_t { kAuto, kDirect, kFft };  // kAuto: kDirect
struct ConvolveOptions {
  ConvolveMode mode = ConvolveMode::kFull;  // kSame: the result has in1's shape
  ConvolveMethod method = ConvolveMethod::kAuto;
};
// convolve returns the convolution of two arrays of one rank; one of them must be at most as large
// as the other in every dimension. correlate returns the convolution with in2 conjugated and
// reversed.
Array convolve(const Array& in1, const Array& in2, const ConvolveOptions& options = {});
Array correlate(const Array& in1, const Array& in2, const ConvolveOptions& options = {});
// Return the same for matrices, with zeros around them.
Array convolve2d(const Array& in1, const Array& in2, ConvolveMode mode = ConvolveMode::kFull);
Array correlate2d(const Array& in1, const Array& in2, ConvolveMode mode = ConvolveMode::kFull);
// Returns convolve() computed by Fourier transforms along these axes. Along the others both must
// have equal extents.
Array fftconvolve(const Array& in1, const Array& in2, ConvolveMode mode = ConvolveMode::kFull,
                  const Axes& axes = None);

enum class Trend : uint8_t { kNone, kConstant, kLinear };
struct DetrendOptions {
  int64_t axis = -1;
  Trend type = Trend::kLinear;
  Dims bp = {};  // indices at which a new line begins
};
// Returns the data minus their mean, or minus the line of least squared errors.
Array detrend(const Array& data, const DetrendOptions& options = {});

// The Hann window, sin^2. A window may also be a vector, whose size is then that of the segments.
struct Hann {};
using Window = std::variant<Hann, Array>;
enum class Scaling : uint8_t { kDensity, kSpectrum };
enum class Average : uint8_t { kMean, kMedian };
struct SpectrumOptions {
  Array fs = 1.0;  // samples per unit of time
  Window window = Hann{};
  std::optional<int64_t> nperseg = std::nullopt;   // absent: 256, at most the signal's size
  std::optional<int64_t> noverlap = std::nullopt;  // overlap of neighbours; absent: half a segment
  std::optional<int64_t> nfft = std::nullopt;      // absent: the size of a segment
  Trend detrend = Trend::kConstant;
  bool return_onesided = true;  // of real signals: only frequencies >= 0
  Scaling scaling = Scaling::kDensity;
  int64_t axis = -1;
  Average average = Average::kMean;
};
struct Spectrum {
  Array frequencies, power;
};
// welch returns Welch's estimate of the power spectrum, the mean over segments ("The use of fast
// Fourier transform for the estimation of power spectra", 1967). csd returns the cross spectrum of
// two signals, which is complex.
Spectrum welch(const Array& x, const SpectrumOptions& options = {});
Spectrum csd(const Array& x, const Array& y, const SpectrumOptions& options = {});

// The elements before and behind the signal, half a segment each.
enum class Boundary : uint8_t { kNone, kZeros, kConstant, kEven, kOdd };
struct StftOptions {
  Array fs = 1.0;
  Window window = Hann{};
  int64_t nperseg = 256;
  std::optional<int64_t> noverlap = std::nullopt;
  std::optional<int64_t> nfft = std::nullopt;
  Trend detrend = Trend::kNone;
  bool return_onesided = true;
  Boundary boundary = Boundary::kZeros;
  bool padded = true;  // adds zeros at the end until segments cover all of the signal
  int64_t axis = -1;
};
struct Stft {
  Array frequencies, times, values;  // the frequencies are the axis, the times the last one
};
Stft stft(const Array& x, const StftOptions& options = {});
struct IstftOptions {
  Array fs = 1.0;
  Window window = Hann{};
  std::optional<int64_t> nperseg = std::nullopt, noverlap = std::nullopt, nfft = std::nullopt;
  bool input_onesided = true;
  bool boundary = true;  // whether the signal was extended by `boundary`
  int64_t time_axis = -1, freq_axis = -2;
};
struct Istft {
  Array times, x;
};
// Returns the signal with these values of stft, by adding overlapping segments (Griffin and Lim,
// "Signal estimation from modified short-time Fourier transform", 1984).
Istft istft(const Array& values, const IstftOptions& options = {});

}  // namespace tessera::scipy::signal
