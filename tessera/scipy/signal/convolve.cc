// Convolutions, and detrend.
#include <algorithm>

#include "tessera/compile/composite.h"
#include "tessera/numpy/fft.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/scipy/signal.h"

namespace tessera::scipy::signal {

namespace {

using Args = std::span<const Array>;

// Returns whether a is at most as large as b in every dimension.
bool fits_in(const Array& a, const Array& b) {
  for (int64_t d = 0; d < a.ndim(); ++d)
    if (a.shape()[d] > b.shape()[d]) return false;
  return true;
}

void expect_convolvable(const char* name, const Array& in1, const Array& in2) {
  if (in1.ndim() != in2.ndim() || in1.size() == 0 || in2.size() == 0)
    shape_error(name, "expected arrays with elements and of one rank, got {} and {}",
                describe(in1.type()), describe(in2.type()));
  if (!fits_in(in1, in2) && !fits_in(in2, in1))
    shape_error(name,
                "expected one array to be at most as large as the other in all dimensions, "
                "got {} and {}",
                describe(in1.type()), describe(in2.type()));
}

struct ModeParams {
  ConvolveMode mode;
};

Array direct(ConvolveMode mode, Args a) {
  const std::vector<Array> same = promote_dtypes(a, Promotion::kInexact);
  const Shape second = same[1].shape();
  const bool swap = fits_in(same[0], same[1]);
  const Array &large = same[swap ? 1 : 0], small = flip(same[swap ? 0 : 1]);
  lax::Padding padding;
  for (int64_t d = 0; d < large.ndim(); ++d) {
    const int64_t n = small.shape()[d], o = second[d];
    switch (mode) {
      case ConvolveMode::kFull:
        padding.emplace_back(n - 1, n - 1);
        break;
      case ConvolveMode::kSame:
        padding.emplace_back(n - 1 - (o - 1) / 2, n - o + (o - 1) / 2);
        break;
      case ConvolveMode::kValid:
        padding.emplace_back(0, 0);
        break;
    }
  }
  const auto with_channels = [](const Array& x) { return expand_dims(x, {0, 1}); };
  return squeeze(lax::conv_general_dilated(with_channels(large), with_channels(small),
                                           Dims(static_cast<size_t>(large.ndim()), 1), padding),
                 {0, 1});
}

Array by_products(const char* name, const Array& in1, const Array& in2, ConvolveMode mode) {
  expect_convolvable(name, in1, in2);
  return composite(name, ModeParams{mode}, {in1, in2},
                   [](const ModeParams& p, Args a) { return direct(p.mode, a); });
}

void expect_matrices(const char* name, const Array& in1, const Array& in2) {
  if (in1.ndim() != 2 || in2.ndim() != 2)
    shape_error(name, "expected two matrices, got {} and {}", describe(in1.type()),
                describe(in2.type()));
}

struct FftParams {
  ConvolveMode mode;
  Dims axes;
};

Array by_transforms(const FftParams& p, Args a) {
  std::vector<Array> same = promote_dtypes(a, Promotion::kInexact);
  const auto smaller = [&](const Array& x, const Array& y) {
    return std::all_of(p.axes.begin(), p.axes.end(),
                       [&](int64_t d) { return x.shape()[d] <= y.shape()[d]; });
  };
  if (p.mode == ConvolveMode::kValid && smaller(same[0], same[1])) std::swap(same[0], same[1]);
  const Shape &first = same[0].shape(), &second = same[1].shape();
  Dims full;
  bool plain = true;  // along every axis one operand has extent 1
  for (int64_t d : p.axes) {
    full.push_back(first[d] + second[d] - 1);
    plain = plain && (first[d] == 1 || second[d] == 1);
  }
  Array out;
  if (plain) {
    out = same[0] * same[1];
  } else if (is_complex(same[0].dtype())) {
    const tessera::fft::OptionsN o{.s = full, .axes = p.axes};
    out = tessera::fft::ifftn(tessera::fft::fftn(same[0], o) * tessera::fft::fftn(same[1], o), o);
  } else {
    const tessera::fft::OptionsN o{.s = full, .axes = p.axes};
    out =
        tessera::fft::irfftn(tessera::fft::rfftn(same[0], o) * tessera::fft::rfftn(same[1], o), o);
  }
  for (int64_t i = 0; i < p.axes.rank(); ++i) {
    const int64_t d = p.axes[i];
    const int64_t size = p.mode == ConvolveMode::kFull   ? full[i]
                         : p.mode == ConvolveMode::kSame ? first[d]
                                                         : first[d] - second[d] + 1;
    const int64_t start = (full[i] - size) / 2;
    out = slice_in_dim(out, start, start + size, d);
  }
  return out;
}

}  // namespace

Array fftconvolve(const Array& in1, const Array& in2, ConvolveMode mode, const Axes& axes) {
  const char* name = "fftconvolve";
  if (in1.ndim() != in2.ndim() || in1.size() == 0 || in2.size() == 0)
    shape_error(name, "expected arrays with elements and of one rank, got {} and {}",
                describe(in1.type()), describe(in2.type()));
  const Dims over = axes.in_order(name, in1.ndim());
  for (int64_t d = 0; d < in1.ndim(); ++d) {
    const bool transformed = std::find(over.begin(), over.end(), d) != over.end();
    if (!transformed && in1.shape()[d] != in2.shape()[d])
      shape_error(name,
                  "expected one extent of axis {}, which is none of those given, got {} and {}", d,
                  describe(in1.type()), describe(in2.type()));
  }
  if (mode == ConvolveMode::kValid && !fits_in(in1, in2) && !fits_in(in2, in1))
    shape_error(
        name,
        "expected one array to be at most as large as the other in all dimensions, got {} and {}",
        describe(in1.type()), describe(in2.type()));
  return composite("scipy.signal.fftconvolve", FftParams{mode, over}, {in1, in2}, by_transforms);
}

Array convolve(const Array& in1, const Array& in2, const ConvolveOptions& o) {
  if (o.method == ConvolveMethod::kFft) return fftconvolve(in1, in2, o.mode);
  return by_products("convolve", in1, in2, o.mode);
}
Array correlate(const Array& in1, const Array& in2, const ConvolveOptions& o) {
  return convolve(in1, flip(conj(in2)), o);
}
Array convolve2d(const Array& in1, const Array& in2, ConvolveMode mode) {
  expect_matrices("convolve2d", in1, in2);
  return by_products("convolve2d", in1, in2, mode);
}

Array correlate2d(const Array& in1, const Array& in2, ConvolveMode mode) {
  const char* name = "correlate2d";
  expect_matrices(name, in1, in2);
  expect_convolvable(name, in1, in2);
  const bool swap = fits_in(in1, in2) && in1.shape() != in2.shape();
  // If the first operand is the smaller one, the order of the results is SciPy's, as in JAX.
  if (mode != ConvolveMode::kSame && swap) {
    const Array out = by_products(name, flip(in2), conj(in1), mode);
    return mode == ConvolveMode::kFull ? conj(out) : out;
  }
  return flip(by_products(name, flip(in1), conj(in2), mode));
}

namespace {

struct DetrendParams {
  Trend type;
  Dims bounds;  // 0, the breakpoints, the extent
  int64_t axis;
};

Array without_trend(const DetrendParams& p, Args a) {
  const Array x = moveaxis(promote(a[0], Promotion::kInexact), p.axis, 0);
  if (p.type == Trend::kConstant)
    return moveaxis(x - mean(x, {.axis = 0, .keepdims = true}), 0, p.axis);
  const int64_t n = x.shape()[0];
  const Array rows = reshape(x, {n, n == 0 ? 0 : x.size() / n});
  std::vector<Array> parts;
  for (int64_t m = 0; m + 1 < p.bounds.rank(); ++m) {
    const int64_t begin = p.bounds[m], points = p.bounds[m + 1] - begin;
    const Array line = arange(1, points + 1, 1, x.dtype()) / static_cast<double>(points);
    const Array basis = stack({ones({points}, x.dtype()), line}, 1);
    const Array part = slice_in_dim(rows, begin, begin + points);
    parts.push_back(part - matmul(basis, tessera::linalg::lstsq(basis, part).x));
  }
  return moveaxis(reshape(concatenate(parts), x.shape()), 0, p.axis);
}

}  // namespace

Array detrend(const Array& data, const DetrendOptions& o) {
  const char* name = "detrend";
  const int64_t axis = normalize_axis(name, o.axis, data.ndim()), n = data.shape()[axis];
  if (o.type == Trend::kNone) return data;
  if (n == 0)
    shape_error(name, "expected elements along axis {}, got {}", axis, describe(data.type()));
  Dims bounds{0, n};
  for (int64_t b : o.bp) {
    if (b < 0 || b > n) value_error(name, "expected breakpoints in [0, {}], got {}", n, b);
    bounds.push_back(b);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return composite("scipy.signal.detrend", DetrendParams{o.type, bounds, axis}, {data},
                   without_trend);
}

}  // namespace tessera::scipy::signal
