// Discrete Fourier transforms, as in jax.numpy.fft. Any length; real and integer arrays become
// complex, or for those of real arrays floating, first.
//
//   fft::fft(x);
//   fft::fft(x, {.n = 128, .axis = 0, .norm = fft::Norm::kOrtho});
//   fft::irfftn(fft::rfftn(x), {.s = x.shape()});
//
// Errors, of all: UserError for lengths below one, axes that do not exist or are given twice, as
// many lengths as there are no axes, and complex numbers where real ones are transformed.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/creation.h"

namespace tessera::fft {

// What is divided by the number of points: the inverse, both by its root, or the forward one.
enum class Norm : uint8_t { kBackward, kOrtho, kForward };

struct Options {
  // Points of the transform: the axis is cut or padded with zeros at its end. Of inverse transforms
  // to real numbers those of the result, 2 (points - 1) unless given.
  std::optional<int64_t> n = {};
  int64_t axis = -1;
  Norm norm = Norm::kBackward;
};
struct OptionsN {
  std::optional<Dims> s = {};  // n of each axis; the last axes where there are no `axes`
  Axes axes = None;
  Norm norm = Norm::kBackward;
};
struct Options2 {
  std::optional<Dims> s = {};
  Dims axes = {-2, -1};
  Norm norm = Norm::kBackward;
};

Array fft(const Array& x, const Options& options = {});
Array ifft(const Array& x, const Options& options = {});
// Of real arrays, the n / 2 + 1 points that are not conjugates of others; and back, where imaginary
// parts that such a spectrum does not have are ignored.
Array rfft(const Array& x, const Options& options = {});
Array irfft(const Array& x, const Options& options = {});
// The real spectrum of an array that is the first half of one equal to its reversed conjugate; and
// back.
Array hfft(const Array& x, const Options& options = {});
Array ihfft(const Array& x, const Options& options = {});

Array fft2(const Array& x, const Options2& options = {});
Array ifft2(const Array& x, const Options2& options = {});
Array rfft2(const Array& x, const Options2& options = {});
Array irfft2(const Array& x, const Options2& options = {});

// Real transforms are of the last axis.
Array fftn(const Array& x, const OptionsN& options = {});
Array ifftn(const Array& x, const OptionsN& options = {});
Array rfftn(const Array& x, const OptionsN& options = {});
Array irfftn(const Array& x, const OptionsN& options = {});

// The frequencies of the points of fft and rfft of n samples `d` apart.
Array fftfreq(int64_t n, double d = 1, OptionalDType dtype = {});
Array rfftfreq(int64_t n, double d = 1, OptionalDType dtype = {});
// Frequency 0 from the first place to the middle, and back.
Array fftshift(const Array& x, const Axes& axes = None);
Array ifftshift(const Array& x, const Axes& axes = None);

}  // namespace tessera::fft
