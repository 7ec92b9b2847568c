// Signals, with the names of jax.scipy.signal: convolutions of any number of dimensions, trends, and
// spectra by windowed Fourier transforms.
//
// Integers become floating. Errors, of all: UserError for ranks, shapes and lengths that do not fit
// each other. tessera/tessera.h does not include this header.
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
  ConvolveMode mode = ConvolveMode::kFull;  // kSame: of the size of in1
  ConvolveMethod method = ConvolveMethod::kAuto;
};
// The convolution of two arrays of one rank, of which one is at most as large as the other in every
// dimension; the correlation: with in2 conjugated and turned over.
Array convolve(const Array& in1, const Array& in2, const ConvolveOptions& options = {});
Array correlate(const Array& in1, const Array& in2, const ConvolveOptions& options = {});
// Of matrices, with zeros around them.
Array convolve2d(const Array& in1, const Array& in2, ConvolveMode mode = ConvolveMode::kFull);
Array correlate2d(const Array& in1, const Array& in2, ConvolveMode mode = ConvolveMode::kFull);
// convolve by Fourier transforms along these axes; along the others both have one extent.
Array fftconvolve(const Array& in1, const Array& in2, ConvolveMode mode = ConvolveMode::kFull,
                  const Axes& axes = None);

enum class Trend : uint8_t { kNone, kConstant, kLinear };
struct DetrendOptions {
  int64_t axis = -1;
  Trend type = Trend::kLinear;
  Dims bp = {};  // where a line ends and the next one begins
};
// The data without their mean, or without the line of least squared errors.
Array detrend(const Array& data, const DetrendOptions& options = {});

// The Hann window, sin^2, or any other as a vector, whose size is that of the segments then.
struct Hann {};
using Window = std::variant<Hann, Array>;
enum class Scaling : uint8_t { kDensity, kSpectrum };
enum class Average : uint8_t { kMean, kMedian };
struct SpectrumOptions {
  Array fs = 1.0;  // samples a unit of time
  Window window = Hann{};
  std::optional<int64_t> nperseg = std::nullopt;  // of a segment; absent: 256, at most the signal's
  std::optional<int64_t> noverlap = std::nullopt;  // of neighbours; absent: half a segment
  std::optional<int64_t> nfft = std::nullopt;      // absent: a segment
  Trend detrend = Trend::kConstant;
  bool return_onesided = true;  // of real signals: frequencies of at least 0 alone
  Scaling scaling = Scaling::kDensity;
  int64_t axis = -1;
  Average average = Average::kMean;
};
struct Spectrum {
  Array frequencies, power;
};
// Welch's estimate of the power spectrum: the mean over segments ("The use of fast Fourier transform
// for the estimation of power spectra", 1967). Of two signals the cross spectrum, complex.
Spectrum welch(const Array& x, const SpectrumOptions& options = {});
Spectrum csd(const Array& x, const Array& y, const SpectrumOptions& options = {});

// What stands before and behind the signal, half a segment each.
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
  bool padded = true;  // with zeros at the end, so that segments take in all of the signal
  int64_t axis = -1;
};
struct Stft {
  Array frequencies, times, values;  // the frequencies along the axis, the times last
};
Stft stft(const Array& x, const StftOptions& options = {});
struct IstftOptions {
  Array fs = 1.0;
  Window window = Hann{};
  std::optional<int64_t> nperseg = std::nullopt, noverlap = std::nullopt, nfft = std::nullopt;
  bool input_onesided = true;
  bool boundary = true;  // the signal was extended
  int64_t time_axis = -1, freq_axis = -2;
};
struct Istft {
  Array times, x;
};
// The signal with these values of stft: overlapping segments are added (Griffin and Lim, "Signal
// estimation from modified short-time Fourier transform", 1984).
Istft istft(const Array& values, const IstftOptions& options = {});

}  // namespace tessera::scipy::signal
