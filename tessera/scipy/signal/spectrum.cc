// Spectra of segments: welch, csd, stft and istft.
#include <algorithm>
#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/fft.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/quantile.h"
#include "tessera/numpy/reduce.h"
#include "tessera/scipy/signal.h"

namespace tessera::scipy::signal {

namespace {

using Args = std::span<const Array>;

struct SegmentParams {
  int64_t nperseg, noverlap, nfft;
  Trend detrend;
  bool onesided;
  Scaling scaling;
  Boundary boundary;
  bool padded, power, cross;  // power: values are squared; cross: of two signals
};

// Returns sin^2 at `points` points of one period, the periodic Hann window.
Array hann(int64_t points, DType dtype) {
  if (points == 1) return ones({1}, dtype);
  return square(sin(lax::iota(dtype, {points}) * (M_PI / static_cast<double>(points))));
}

// Returns x with n more elements on both sides of its last dimension.
Array extended(const Array& x, Boundary boundary, int64_t n) {
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.ndim() - 1));
  widths.emplace_back(n, n);
  switch (boundary) {
    case Boundary::kNone:
      return x;
    case Boundary::kZeros:
      return pad(x, widths);
    case Boundary::kConstant:
      return pad(x, widths, {.mode = PadMode::kEdge});
    case Boundary::kEven:
      return pad(x, widths, {.mode = PadMode::kReflect});
    case Boundary::kOdd: {
      const int64_t size = x.shape().back();
      if (n < 1) return x;
      const Array first = slice_in_dim(x, 0, 1, -1), last = slice_in_dim(x, size - 1, size, -1);
      const Array before = flip(slice_in_dim(x, 1, n + 1, -1), -1),
                  behind = flip(slice_in_dim(x, size - n - 1, size - 1, -1), -1);
      return concatenate({2 * first - before, x, 2 * last - behind}, -1);
    }
  }
  __builtin_unreachable();
}

Array with_zeros_behind(const Array& x, int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.ndim() - 1));
  widths.emplace_back(0, count);
  return pad(x, widths);
}

int64_t zeros_to_fill(const SegmentParams& p, int64_t size) {
  const int64_t step = p.nperseg - p.noverlap;
  const int64_t rest = (size - p.nperseg) % step;
  return rest == 0 ? 0 : (step - rest) % p.nperseg;
}

// Returns the transforms of all segments: [..., segments, frequencies].
Array transforms(const SegmentParams& p, const Array& x, const Array& window) {
  const int64_t step = p.nperseg - p.noverlap, count = (x.shape().back() - p.noverlap) / step;
  const Array start = expand_dims(lax::iota(int32, {count}) * static_cast<int>(step), 1);
  const Array places = start + expand_dims(lax::iota(int32, {p.nperseg}), 0);
  Array segments = take(x, places, {.axis = x.ndim() - 1});
  if (p.detrend != Trend::kNone) segments = detrend(segments, {.axis = -1, .type = p.detrend});
  segments = segments * window;
  return p.onesided ? tessera::fft::rfft(real(segments), {.n = p.nfft})
                    : tessera::fft::fft(segments, {.n = p.nfft});
}

// The arguments `a` are the signal, the window, the samples per unit of time, and the other signal.
// Returns frequencies, times and values.
std::vector<Array> segment_spectra(const SegmentParams& p, Args a) {
  std::vector<Array> signals{a[0]};
  if (p.cross) signals.push_back(a[3]);
  signals = promote_dtypes(signals, Promotion::kInexact);
  const DType real_kind = real(signals[0]).dtype();
  const DType result = real_kind == float64 ? complex128 : complex64;
  const Array window = a[1], fs = as_dtype(a[2], real_kind);
  int64_t size = 0;
  for (const Array& x : signals) size = std::max(size, x.shape().back());
  for (Array& x : signals) {
    x = with_zeros_behind(x, size - x.shape().back());
    x = extended(x, p.boundary, p.nperseg / 2);
    if (p.padded) x = with_zeros_behind(x, zeros_to_fill(p, x.shape().back()));
  }
  size = signals[0].shape().back();
  Array scale = p.scaling == Scaling::kDensity ? 1.0 / (fs * sum(window * window))
                                               : 1.0 / square(sum(window));
  Array values = transforms(p, signals[0], window);
  if (p.cross)
    values = conj(values) * transforms(p, signals[1], window);
  else if (p.power)
    values = conj(values) * values;
  else
    scale = sqrt(scale);
  values = values * scale;
  if (p.onesided && p.power) {
    const int64_t n = values.shape().back();
    // The power of each frequency between 0 and fs / 2 is doubled, for the negative ones.
    const Array place = lax::iota(int32, {n});
    const Array twice = (place > 0) & (place < static_cast<int>(p.nfft % 2 ? n : n - 1));
    values = values * where(twice, 2, ones({n}, real_kind));
  }
  const int64_t step = p.nperseg - p.noverlap, count = (size - p.noverlap) / step;
  const double half = static_cast<double>(p.nperseg) / 2;
  const double first = p.boundary == Boundary::kNone ? half : 0;
  const Array times = (lax::iota(real_kind, {count}) * static_cast<double>(step) + first) / fs;
  const Array bins = p.onesided ? tessera::fft::rfftfreq(p.nfft) : tessera::fft::fftfreq(p.nfft);
  values = astype(values, result);
  return {astype(bins, real_kind) * fs, times, p.power && !p.cross ? real(values) : values};
}

struct Setting {
  SegmentParams params;
  Array window;
};

Setting setting(const char* name, const Array& x, int64_t axis, const Window& window,
                std::optional<int64_t> nperseg, std::optional<int64_t> noverlap,
                std::optional<int64_t> nfft, bool onesided) {
  const int64_t size = x.shape()[axis];
  if (x.size() == 0)
    shape_error(name, "expected a signal with elements, got {}", describe(x.type()));
  Setting out;
  const DType dtype =
      to_inexact(x.dtype()) == float64 || x.dtype() == complex128 ? float64 : float32;
  int64_t& n = out.params.nperseg;
  if (const Array* given = std::get_if<Array>(&window)) {
    if (given->ndim() != 1 || given->size() == 0 || given->size() > size)
      shape_error(name, "expected a window as a vector of at most {} elements, got {}", size,
                  describe(given->type()));
    if (nperseg && *nperseg != given->size())
      value_error(name, "expected nperseg to be the window's size {}, got {}", given->size(),
                  *nperseg);
    n = given->size();
    out.window = *given;
  } else {
    if (nperseg && *nperseg < 1) value_error(name, "expected nperseg >= 1, got {}", *nperseg);
    n = std::min(nperseg.value_or(256), size);
    out.window = hann(n, canonical_dtype(dtype));
  }
  out.params.noverlap = noverlap.value_or(n / 2);
  if (out.params.noverlap < 0 || out.params.noverlap >= n)
    value_error(name, "expected 0 <= noverlap < nperseg = {}, got {}", n, out.params.noverlap);
  out.params.nfft = nfft.value_or(n);
  if (out.params.nfft < n)
    value_error(name, "expected nfft >= nperseg = {}, got {}", n, out.params.nfft);
  out.params.onesided = onesided && !is_complex(x.dtype()) && !is_complex(out.window.dtype());
  return out;
}

// Returns the bias of the median of n exponential numbers, as SciPy: 1 + sum 1 / (2 i + 1) - 1 / (2
// i).
double median_bias(int64_t n) {
  double bias = 1;
  for (int64_t i = 1; i <= (n - 1) / 2; ++i)
    bias += 1.0 / static_cast<double>(2 * i + 1) - 1.0 / static_cast<double>(2 * i);
  return bias;
}

Spectrum averaged(const std::vector<Array>& parts, const SpectrumOptions& o, int64_t axis) {
  // Averages [..., segments, frequencies] over the segments.
  Array power = moveaxis(parts[2], -2, -1);
  if (o.average == Average::kMean) {
    power = mean(power, {.axis = -1});
  } else {
    const double bias = median_bias(power.shape().back());
    power = is_complex(power.dtype()) ? lax::complex(median(real(power), {.axis = -1}),
                                                     median(imag(power), {.axis = -1})) /
                                            bias
                                      : median(power, {.axis = -1}) / bias;
  }
  return {parts[0], moveaxis(power, -1, axis)};
}

Spectrum spectrum(const char* name, const Array& x, const std::optional<Array>& y,
                  const SpectrumOptions& o) {
  const int64_t axis = normalize_axis(name, o.axis, x.ndim());
  if (y && y->ndim() != x.ndim())
    shape_error(name, "expected signals of one rank, got {} and {}", describe(x.type()),
                describe(y->type()));
  if (y && y->size() == 0)
    shape_error(name, "expected signals with elements, got {}", describe(y->type()));
  const Array& longer = y && y->shape()[axis] > x.shape()[axis] ? *y : x;
  Setting s =
      setting(name, longer, axis, o.window, o.nperseg, o.noverlap, o.nfft,
              o.return_onesided && !(y && is_complex(y->dtype())) && !is_complex(x.dtype()));
  s.params.detrend = o.detrend;
  s.params.scaling = o.scaling;
  s.params.boundary = Boundary::kNone;
  s.params.padded = false;
  s.params.power = true;
  s.params.cross = y.has_value();
  std::vector<Array> args{moveaxis(x, axis, -1), s.window, o.fs};
  if (y) args.push_back(moveaxis(*y, axis, -1));
  return averaged(composite(name, s.params, args, segment_spectra), o, axis);
}

}  // namespace

Spectrum welch(const Array& x, const SpectrumOptions& options) {
  return spectrum("welch", x, std::nullopt, options);
}
Spectrum csd(const Array& x, const Array& y, const SpectrumOptions& options) {
  return spectrum("csd", x, y, options);
}

Stft stft(const Array& x, const StftOptions& o) {
  const char* name = "stft";
  const int64_t axis = normalize_axis(name, o.axis, x.ndim());
  Setting s = setting(
      name, x, axis, o.window,
      std::holds_alternative<Array>(o.window) ? std::nullopt : std::optional<int64_t>(o.nperseg),
      o.noverlap, o.nfft, o.return_onesided);
  s.params.detrend = o.detrend;
  s.params.scaling = Scaling::kSpectrum;
  s.params.boundary = o.boundary;
  s.params.padded = o.padded;
  s.params.power = s.params.cross = false;
  if (o.boundary == Boundary::kOdd && s.params.nperseg / 2 > x.shape()[axis] - 1)
    shape_error(name, "expected more than {} elements along axis {} to go on from, got {}",
                s.params.nperseg / 2, axis, describe(x.type()));
  const std::vector<Array> parts =
      composite(name, s.params, {moveaxis(x, axis, -1), s.window, o.fs}, segment_spectra);
  // From [..., segments, frequencies], moves the frequencies to the axis and the segments to the
  // end.
  return {parts[0], parts[1], moveaxis(moveaxis(parts[2], -2, -1), -2, axis)};
}

namespace {

struct IstftParams {
  int64_t nperseg, step, nfft;
  bool onesided, boundary;
};

// Returns the sum of segments [..., segments, nperseg], each `step` after the one before it.
Array overlapped(const Array& x, int64_t step) {
  const int64_t segments = x.shape()[x.ndim() - 2], n = x.shape().back();
  const Array start = expand_dims(lax::iota(int32, {segments}) * static_cast<int>(step), 1);
  const Array places = start + expand_dims(lax::iota(int32, {n}), 0);
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  shape.push_back(step * (segments - 1) + n);
  Array out = zeros(shape, x.dtype());
  out = moveaxis(out, -1, 0);
  const Array to_add = moveaxis(x, {-2, -1}, {0, 1});
  return moveaxis(at(out)[places].add(to_add), 0, -1);
}

// The arguments `a` are the values [..., frequencies, times], the window, and the samples per unit
// of time.
std::vector<Array> resynthesized(const IstftParams& p, Args a) {
  const Array values = moveaxis(a[0], -1, -2);
  Array parts = p.onesided ? tessera::fft::irfft(values, {.n = p.nfft})
                           : tessera::fft::ifft(values, {.n = p.nfft});
  parts = slice_in_dim(parts, 0, p.nperseg, -1);
  const Array window = as_dtype(a[1], parts.dtype());
  const int64_t segments = parts.shape()[parts.ndim() - 2];
  Array x = overlapped(parts * sum(window) * window, p.step);
  Array norm = overlapped(broadcast_to(square(window), {segments, p.nperseg}), p.step);
  if (p.boundary) {
    const int64_t half = p.nperseg / 2, size = norm.size();
    x = slice_in_dim(x, half, size - half, -1);
    norm = slice_in_dim(norm, half, size - half, -1);
  }
  x = x / where(real(norm) > 1e-10, norm, 1);
  const DType kind = real(x).dtype();
  return {lax::iota(kind, {x.shape().back()}) / as_dtype(a[2], kind), x};
}

}  // namespace

Istft istft(const Array& values, const IstftOptions& o) {
  const char* name = "istft";
  if (values.ndim() < 2)
    shape_error(name, "expected at least 2 dimensions, got {}", describe(values.type()));
  const int64_t time = normalize_axis(name, o.time_axis, values.ndim()),
                freq = normalize_axis(name, o.freq_axis, values.ndim());
  if (time == freq)
    value_error(name, "expected two axes for times and frequencies, got {} for both", time);
  const int64_t bins = values.shape()[freq], whole = o.input_onesided ? 2 * (bins - 1) : bins;
  const Array* given = std::get_if<Array>(&o.window);
  const int64_t n = o.nperseg.value_or(given && given->ndim() == 1 ? given->size() : whole);
  if (n < 1) value_error(name, "expected nperseg >= 1, got {}", n);
  if (given && given->shape() != Shape{n})
    shape_error(name, "expected a window of {} elements, got {}", n, describe(given->type()));
  const int64_t nfft = o.nfft.value_or(whole + (o.input_onesided && n == whole + 1 ? 1 : 0));
  if (nfft < n) value_error(name, "expected nfft >= nperseg = {}, got {}", n, nfft);
  const int64_t noverlap = o.noverlap.value_or(n / 2);
  if (noverlap < 0 || noverlap >= n)
    value_error(name, "expected 0 <= noverlap < nperseg = {}, got {}", n, noverlap);
  const DType complex_kind = values.dtype() == complex128 || to_inexact(values.dtype()) == float64
                                 ? complex128
                                 : complex64;
  const Array window = given ? *given : hann(n, complex_kind == complex128 ? float64 : float32);
  const IstftParams params{n, n - noverlap, nfft, o.input_onesided, o.boundary};
  const std::vector<Array> out = composite(
      name, params, {moveaxis(astype(values, complex_kind), {freq, time}, {-2, -1}), window, o.fs},
      resynthesized);
  return {out[0], moveaxis(out[1], -1, freq < time ? time - 1 : time)};
}

}  // namespace tessera::scipy::signal
