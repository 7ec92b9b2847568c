#include "tessera/numpy/fft.h"

#include <algorithm>
#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/fourier/fft.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fft {

using namespace ir;

namespace {

using lax::FftType;

// The params of a transform over any number of axes, in any order; lax::fft takes up to three last
// ones.
struct TransformParams {
  FftType type = FftType::kFft;
  Dims axes;     // in [0, rank)
  Dims lengths;  // of each of the axes
  double scale = 1;
};

// Returns `count` dimensions from `first` on.
Dims dims_from(int64_t first, int64_t count) {
  Dims out;
  for (int64_t d = first; d < first + count; ++d) out.push_back(d);
  return out;
}

bool gives_reals(FftType type) { return type == FftType::kIrfft; }
bool is_inverse(FftType type) { return type == FftType::kIfft || type == FftType::kIrfft; }

// Returns x with its last dimensions cut to `lengths`, or padded with zeros at the end.
Array resized(Array x, const Dims& lengths) {
  Dims limit = x.shape(), high(x.shape().size(), 0);
  for (int64_t i = 0; i < lengths.rank(); ++i) {
    const int64_t d = x.ndim() - lengths.rank() + i;
    limit[d] = std::min(limit[d], lengths[i]);
    high[d] = lengths[i] - limit[d];
  }
  const Dims zeros(x.shape().size(), 0);
  if (limit != x.shape()) x = lax::slice(x, zeros, limit, Dims(x.shape().size(), 1));
  if (high == zeros) return x;
  return lax::pad(x, lax::full({}, 0, x.dtype()), zeros, high, zeros);
}

// Transforms the last dimensions, three at a time. The transform from or to real numbers is first
// or last.
Array over_last(const Array& x, FftType type, const Dims& lengths) {
  if (lengths.rank() <= 3) return lax::fft(x, type, lengths);
  const int64_t rest = lengths.rank() - 3;
  const Dims others(lengths.begin(), lengths.begin() + rest),
      last(lengths.end() - 3, lengths.end());
  auto over_others = [&](const Array& y) {
    const Dims from = dims_from(y.ndim() - lengths.rank(), rest),
               to = dims_from(y.ndim() - rest, rest);
    const FftType complex = is_inverse(type) ? FftType::kIfft : FftType::kFft;
    return moveaxis(over_last(moveaxis(y, from, to), complex, others), to, from);
  };
  return gives_reals(type) ? lax::fft(over_others(x), type, last)
                           : over_others(lax::fft(x, type, last));
}

Array run(const char* name, const Array& x, const TransformParams& params) {
  return composite(name, params, {x}, [](const TransformParams& p, std::span<const Array> args) {
    const int64_t count = p.axes.rank();
    const Dims last = dims_from(args[0].ndim() - count, count);
    Array y = moveaxis(args[0], p.axes, last);
    Dims points = p.lengths;
    if (gives_reals(p.type) && count > 0)
      points.back() = points.back() > 0 ? points.back() / 2 + 1 : y.shape().back();
    y = over_last(resized(y, points), p.type, p.lengths);
    if (p.scale != 1) y = lax::mul(y, lax::full_like(y, p.scale));
    return moveaxis(y, last, p.axes);
  });
}

double scale_of(FftType type, Norm norm, const Dims& lengths) {
  double points = 1;
  for (int64_t n : lengths) points *= static_cast<double>(n);
  const bool up = is_inverse(type);
  switch (norm) {
    case Norm::kBackward:
      return 1;
    case Norm::kOrtho:
      return up ? std::sqrt(points) : 1 / std::sqrt(points);
    case Norm::kForward:
      return up ? points : 1 / points;
  }
  return 1;
}

Dims default_lengths(const Array& x, FftType type, const Dims& axes) {
  Dims out;
  for (int64_t axis : axes) out.push_back(x.shape()[axis]);
  if (gives_reals(type) && !out.empty()) out.back() = std::max<int64_t>(0, 2 * (out.back() - 1));
  return out;
}

void check_real(const char* name, FftType type, const Array& x, const Dims& lengths) {
  if (type != FftType::kRfft) return;
  if (is_complex(x.dtype()))
    type_error(name, "expected real numbers, got {}; use {} of complex ones", describe(x.type()),
               std::string_view(name) == "ihfft" ? "ifft" : name + 1);
  if (!lengths.empty() && lengths.back() == 0)
    value_error(name, "expected an axis of one element or more, got {}; pad it with n",
                describe(x.type()));
}

Array transform(const char* name, FftType type, const Array& x, const OrNone<Dims>& s,
                const Axes& wanted, Norm norm) {
  if (s)
    for (int64_t n : *s)
      if (n < 1) value_error(name, "expected lengths of 1 or more, got {}", *s);
  Axes axes = wanted;
  if (s && axes.all()) {
    if (s->rank() > x.ndim())
      value_error(name, "expected up to {} lengths, one for each axis of {}, got {}", x.ndim(),
                  describe(x.type()), *s);
    axes = dims_from(x.ndim() - s->rank(), s->rank());
  }
  const Dims where = axes.in_order(name, x.ndim());
  if (s && s->rank() != where.rank())
    value_error(name, "expected one length for each of {} axes, got {}", where.rank(), *s);
  const Dims lengths = s ? *s : default_lengths(x, type, where);
  check_real(name, type, x, lengths);
  return run(name, x, {type, where, lengths, scale_of(type, norm, lengths)});
}

Array transform(const char* name, FftType type, const Array& x, const Options& o) {
  const OrNone<Dims> s = o.n ? std::optional(Dims{*o.n}) : std::nullopt;
  return transform(name, type, x, s, o.axis, o.norm);
}
Array transform(const char* name, FftType type, const Array& x, const OptionsN& o) {
  return transform(name, type, x, o.s, o.axes, o.norm);
}
Array transform(const char* name, FftType type, const Array& x, const Options2& o) {
  if (o.axes.rank() != 2)
    value_error(name, "expected two axes, got {}; use {}n for others", o.axes,
                std::string_view(name).substr(0, std::string_view(name).size() - 1));
  return transform(name, type, x, o.s, o.axes, o.norm);
}

int64_t points_along(const char* name, const Array& x, int64_t axis) {
  return x.shape()[normalize_axis(name, axis, x.ndim())];
}
Array scaled(const Array& x, double factor) { return lax::mul(x, lax::full_like(x, factor)); }

struct FrequencyParams {
  int64_t n, count;
  double d;
  DType dtype;
};
// Returns the first `count` of n frequencies. If all are asked for, those of the upper half are
// negative.
Array frequencies(const char* name, int64_t n, int64_t count, double d, OptionalDType wanted) {
  const DType asked = canonical_dtype(wanted.value_or(default_float()));
  if (n < 0) value_error(name, "expected n >= 0, got {}", n);
  return composite(
      name, FrequencyParams{n, count, d, asked}, {},
      [](const FrequencyParams& p, std::span<const Array>) {
        Literal values(float64, {p.count});
        for (int64_t i = 0; i < p.count; ++i) {
          const bool negative = p.count == p.n && i >= (p.n + 1) / 2;
          values.mutable_data<double>()[i] = static_cast<double>(negative ? i - p.n : i);
        }
        const Array k = as_dtype(lax::constant(values), to_inexact(p.dtype));
        return as_dtype(lax::div(k, lax::full_like(k, p.d * static_cast<double>(p.n))), p.dtype);
      });
}

// Rolls every axis by half its length.
Array shifted(const char* name, const Array& x, const Axes& axes, int sign) {
  const Dims where = axes.in_order(name, x.ndim());
  if (where.empty()) return x;
  Dims shifts;
  for (int64_t axis : where) shifts.push_back(sign * (x.shape()[axis] / 2));
  return roll(x, shifts, where);
}

}  // namespace

Array fft(const Array& x, const Options& o) { return transform("fft", FftType::kFft, x, o); }
Array ifft(const Array& x, const Options& o) { return transform("ifft", FftType::kIfft, x, o); }
Array rfft(const Array& x, const Options& o) { return transform("rfft", FftType::kRfft, x, o); }
Array irfft(const Array& x, const Options& o) { return transform("irfft", FftType::kIrfft, x, o); }

Array hfft(const Array& x, const Options& o) {
  const auto n = static_cast<double>(o.n ? *o.n : 2 * (points_along("hfft", x, o.axis) - 1));
  Options inverse = o;
  inverse.norm = Norm::kBackward;
  const Array out =
      transform("hfft", FftType::kIrfft, lax::conj(promote(x, Promotion::kInexact)), inverse);
  const double factor = o.norm == Norm::kBackward ? n : o.norm == Norm::kOrtho ? std::sqrt(n) : 1;
  return out.size() == 0 ? out : scaled(out, factor);
}
Array ihfft(const Array& x, const Options& o) {
  const auto n = static_cast<double>(o.n ? *o.n : points_along("ihfft", x, o.axis));
  Options forward = o;
  forward.norm = Norm::kBackward;
  const double factor = o.norm == Norm::kBackward ? 1 / n
                        : o.norm == Norm::kOrtho  ? 1 / std::sqrt(n)
                                                  : 1;
  return scaled(lax::conj(transform("ihfft", FftType::kRfft, x, forward)), factor);
}

Array fft2(const Array& x, const Options2& o) { return transform("fft2", FftType::kFft, x, o); }
Array ifft2(const Array& x, const Options2& o) { return transform("ifft2", FftType::kIfft, x, o); }
Array rfft2(const Array& x, const Options2& o) { return transform("rfft2", FftType::kRfft, x, o); }
Array irfft2(const Array& x, const Options2& o) {
  return transform("irfft2", FftType::kIrfft, x, o);
}

Array fftn(const Array& x, const OptionsN& o) { return transform("fftn", FftType::kFft, x, o); }
Array ifftn(const Array& x, const OptionsN& o) { return transform("ifftn", FftType::kIfft, x, o); }
Array rfftn(const Array& x, const OptionsN& o) { return transform("rfftn", FftType::kRfft, x, o); }
Array irfftn(const Array& x, const OptionsN& o) {
  return transform("irfftn", FftType::kIrfft, x, o);
}

Array fftfreq(int64_t n, double d, OptionalDType dtype) {
  return frequencies("fftfreq", n, n, d, dtype);
}
Array rfftfreq(int64_t n, double d, OptionalDType dtype) {
  return frequencies("rfftfreq", n, n / 2 + 1, d, dtype);
}
Array fftshift(const Array& x, const Axes& axes) { return shifted("fftshift", x, axes, 1); }
Array ifftshift(const Array& x, const Axes& axes) { return shifted("ifftshift", x, axes, -1); }

}  // namespace tessera::fft
