// Compares functions of signals with JAX: golden/make_calls_scipy.py.
#include "tessera/scipy/signal.h"

#include "../errors.h"
#include "../numpy/calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::scipy_signal_test {
namespace {

using namespace scipy::signal;
using test::expect_error;
using test::leaves_of;

TEST(Signal, AsInJax) {
  test::check_calls("calls_scipy", "signal", {
    TESSERA_CALL("convolve", scipy::signal::convolve(a[0], a[1])),
        TESSERA_CALL("convolve_same",
                     scipy::signal::convolve(a[0], a[1], {.mode = ConvolveMode::kSame})),
        TESSERA_CALL("convolve_swapped",
                     scipy::signal::convolve(a[0], a[1], {.mode = ConvolveMode::kSame})),
        TESSERA_CALL("convolve_valid",
                     scipy::signal::convolve(a[0], a[1], {.mode = ConvolveMode::kValid})),
        TESSERA_CALL("convolve_fft",
                     scipy::signal::convolve(a[0], a[1], {.method = ConvolveMethod::kFft})),
        TESSERA_CALL("correlate", scipy::signal::correlate(a[0], a[1])),
        TESSERA_CALL("correlate_complex", scipy::signal::correlate(a[0], a[1])),
        TESSERA_CALL("convolve2d_full", convolve2d(a[0], a[1], ConvolveMode::kFull)),
        TESSERA_CALL("correlate2d_full", correlate2d(a[0], a[1], ConvolveMode::kFull)),
        TESSERA_CALL("correlate2d_full_swapped", correlate2d(a[0], a[1], ConvolveMode::kFull)),
        TESSERA_CALL("fftconvolve_full", fftconvolve(a[0], a[1], ConvolveMode::kFull)),
        TESSERA_CALL("convolve2d_same", convolve2d(a[0], a[1], ConvolveMode::kSame)),
        TESSERA_CALL("correlate2d_same", correlate2d(a[0], a[1], ConvolveMode::kSame)),
        TESSERA_CALL("correlate2d_same_swapped", correlate2d(a[0], a[1], ConvolveMode::kSame)),
        TESSERA_CALL("fftconvolve_same", fftconvolve(a[0], a[1], ConvolveMode::kSame)),
        TESSERA_CALL("convolve2d_valid", convolve2d(a[0], a[1], ConvolveMode::kValid)),
        TESSERA_CALL("correlate2d_valid", correlate2d(a[0], a[1], ConvolveMode::kValid)),
        TESSERA_CALL("correlate2d_valid_swapped", correlate2d(a[0], a[1], ConvolveMode::kValid)),
        TESSERA_CALL("fftconvolve_valid", fftconvolve(a[0], a[1], ConvolveMode::kValid)),
        TESSERA_CALL("fftconvolve_axes", fftconvolve(a[0], a[1], ConvolveMode::kFull, 1)),
        TESSERA_CALL("fftconvolve_complex", fftconvolve(a[0], a[1])),
        TESSERA_CALL("detrend", detrend(a[0])),
        TESSERA_CALL("detrend_constant", detrend(a[0], {.axis = 0, .type = Trend::kConstant})),
        TESSERA_CALL("detrend_breaks", detrend(a[0], {.bp = {20, 30}})),
        TESSERA_CALL_MANY("welch", const Spectrum s = welch(a[0], {.fs = 10.0, .nperseg = 16});
                          return {s.frequencies, s.power};),
        TESSERA_CALL_MANY("welch_median",
                          const Spectrum s = welch(a[0], {.nperseg = 8,
                                                          .noverlap = 2,
                                                          .detrend = Trend::kLinear,
                                                          .scaling = Scaling::kSpectrum,
                                                          .average = Average::kMedian});
                          return {s.frequencies, s.power};),
        TESSERA_CALL_MANY(
            "welch_two_sided",
            const Spectrum s = welch(a[0], {.nperseg = 9, .nfft = 16, .return_onesided = false});
            return {s.frequencies, s.power};),
        TESSERA_CALL_MANY("csd", const Spectrum s = csd(a[0], a[1], {.fs = 2.0, .nperseg = 16});
                          return {s.frequencies, s.power};),
        TESSERA_CALL_MANY("csd_lengths", const Spectrum s = csd(a[0], a[1], {.nperseg = 16});
                          return {s.frequencies, s.power};),
        TESSERA_CALL_MANY("stft", const Stft s = stft(a[0], {.fs = 10.0, .nperseg = 16});
                          return {s.frequencies, s.times, s.values};),
        TESSERA_CALL_MANY("stft_options", const Stft s = stft(a[0], {.nperseg = 8,
                                                                     .noverlap = 6,
                                                                     .nfft = 12,
                                                                     .detrend = Trend::kConstant,
                                                                     .boundary = Boundary::kOdd});
                          return {s.frequencies, s.times, s.values};),
        TESSERA_CALL_MANY("stft_even",
                          const Stft s = stft(a[0], {.nperseg = 12, .boundary = Boundary::kEven});
                          return {s.frequencies, s.times, s.values};),
        TESSERA_CALL_MANY(
            "stft_constant",
            const Stft s = stft(a[0], {.nperseg = 12, .boundary = Boundary::kConstant});
            return {s.frequencies, s.times, s.values};),
        TESSERA_CALL_MANY("stft_None",
                          const Stft s = stft(
                              a[0], {.nperseg = 12, .boundary = Boundary::kNone, .padded = false});
                          return {s.frequencies, s.times, s.values};),
        TESSERA_CALL("istft",
                     istft(stft(a[0], {.nperseg = 16}).values, {.fs = 10.0, .nperseg = 16}).x),
  });
}

TEST(Signal, ErrorsSayWhatIsExpected) {
  const Array v = arange(8.0f), m = ones({2, 3});
  expect_error([&] { scipy::signal::convolve(v, m); },
               "[convolve] expected arrays with elements and of one rank");
  expect_error(
      [&] {
        scipy::signal::convolve(m, ones({3, 2}));
      },
      "[convolve] expected one array to be at most as large");
  expect_error([&] { convolve2d(v, v); }, "[convolve2d] expected two matrices");
  expect_error([&] { correlate2d(v, v); }, "[correlate2d] expected two matrices");
  expect_error([&] { fftconvolve(v, m); },
               "[fftconvolve] expected arrays with elements and of one rank");
  expect_error(
      [&] {
        fftconvolve(m, ones({3, 3}), ConvolveMode::kFull, 1);
      },
      "[fftconvolve] expected one extent of axis 0");
  expect_error(
      [&] {
        fftconvolve(m, ones({3, 2}), ConvolveMode::kValid);
      },
      "[fftconvolve] expected one array to be at most as large");
  expect_error([&] { detrend(v, {.bp = {9}}); }, "[detrend] expected breakpoints in [0, 8], got 9");
  expect_error([&] { detrend(zeros(0)); }, "[detrend] expected elements along axis 0");
  expect_error([&] { welch(zeros(0)); }, "[welch] expected a signal with elements");
  expect_error([&] { welch(v, {.nperseg = 0}); }, "[welch] expected nperseg >= 1, got 0");
  expect_error([&] { welch(v, {.nperseg = 4, .noverlap = 4}); },
               "[welch] expected 0 <= noverlap < nperseg = 4, got 4");
  expect_error([&] { welch(v, {.nperseg = 4, .nfft = 3}); },
               "[welch] expected nfft >= nperseg = 4, got 3");
  expect_error([&] { welch(v, {.window = m}); }, "[welch] expected a window as a vector");
  expect_error([&] { welch(v, {.window = ones(3), .nperseg = 4}); },
               "[welch] expected nperseg to be the window's size 3");
  expect_error([&] { csd(v, m); }, "[csd] expected signals of one rank");
  expect_error([&] { stft(ones(2), {.nperseg = 2, .noverlap = 2}); },
               "[stft] expected 0 <= noverlap");
  expect_error([&] { istft(v); }, "[istft] expected at least 2 dimensions");
  expect_error([&] { istft(m, {.time_axis = 0, .freq_axis = 0}); }, "[istft] expected two axes");
  expect_error([&] { istft(m, {.window = v, .nperseg = 2}); },
               "[istft] expected a window of 2 elements");
  expect_error([&] { istft(m, {.nperseg = 2, .noverlap = 2}); },
               "[istft] expected 0 <= noverlap < nperseg = 2");
  expect_error([&] { istft(m, {.nperseg = 8, .nfft = 4}); },
               "[istft] expected nfft >= nperseg = 8");
}

}  // namespace
}  // namespace tessera::scipy_signal_test
