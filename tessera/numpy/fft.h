// Discrete Fourier transforms, as in jax.numpy.fft, of any length. Real and integer arrays first
// become complex, or floating for the transforms of real arrays.
//
//   fft::fft(x);
//   fft::fft(x, {.n = 128, .axis = 0, .norm = fft::Norm::kOrtho});
//   fft::irfftn(fft::rfftn(x), {.s = x.shape()});
//
// All functions throw UserError for lengths below one, for axes that do not exist or are given
// twice, for a number of lengths that is not the number of axes, and for complex numbers if real
// ones are transformed.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/creation.h"

namespace tessera::fft {

// Which transform is divided by the number of points: the inverse one (kBackward), both by its
// square root (kOrtho), or the forward one (kForward).
enum class Norm : uint8_t { kBackward, kOrtho, kForward };

struct Options {
  // Number of points of the transform: the axis is cut, or padded with zeros at its end. For
  // inverse transforms to real numbers it is the length of the result, by default 2 (points - 1).
  std::optional<int64_t> n = {};
  int64_t axis = -1;
  Norm norm = Norm::kBackward;
};
struct OptionsN {
  OrNone<Dims> s = {};  // lengths of the axes; without `axes`, of the last ones
  Axes axes = None;
  Norm norm = Norm::kBackward;
};
struct Options2 {
  OrNone<Dims> s = {};
  Dims axes = {-2, -1};
  Norm norm = Norm::kBackward;
};

Array fft(const Array& x, const Options& options = {});
Array ifft(const Array& x, const Options& options = {});
// rfft returns the first n / 2 + 1 points of the transform of a real array; the others are their
// conjugates. irfft is its inverse, and ignores imaginary parts that such a spectrum cannot have.
Array rfft(const Array& x, const Options& options = {});
Array irfft(const Array& x, const Options& options = {});
// hfft returns the real spectrum of an array that is equal to its reversed conjugate and of which x
// is the first half. ihfft is its inverse.
Array hfft(const Array& x, const Options& options = {});
Array ihfft(const Array& x, const Options& options = {});

Array fft2(const Array& x, const Options2& options = {});
Array ifft2(const Array& x, const Options2& options = {});
Array rfft2(const Array& x, const Options2& options = {});
Array irfft2(const Array& x, const Options2& options = {});

// rfftn and irfftn are real transforms along the last axis.
Array fftn(const Array& x, const OptionsN& options = {});
Array ifftn(const Array& x, const OptionsN& options = {});
Array rfftn(const Array& x, const OptionsN& options = {});
Array irfftn(const Array& x, const OptionsN& options = {});

// Return the frequencies of the points of fft and rfft, for n samples that are `d` apart.
Array fftfreq(int64_t n, double d = 1, OptionalDType dtype = {});
Array rfftfreq(int64_t n, double d = 1, OptionalDType dtype = {});
// fftshift moves frequency 0 from the first position to the middle, ifftshift moves it back.
Array fftshift(const Array& x, const Axes& axes = None);
Array ifftshift(const Array& x, const Axes& axes = None);

}  // namespace tessera::fft
