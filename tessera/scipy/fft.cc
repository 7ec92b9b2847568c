#include "tessera/scipy/fft.h"

#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/fft.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/promotion.h"

namespace tessera::scipy::fft {

namespace {

struct DctParams {
  int64_t n, axis;
  bool ortho, inverse;
};

// Returns exp(sign i pi k / (2 n)) for k = 0, ..., n - 1.
Array quarter_turns(int64_t n, DType dtype, double sign) {
  const Array angle = lax::iota(dtype, {n}) * (sign * M_PI / (2 * static_cast<double>(n)));
  return lax::complex(cos(angle), sin(angle));
}

// Returns the numbers by which the results of the plain transform are multiplied to get those of
// the orthogonal one.
Array ortho_factors(int64_t n, DType dtype) {
  const double size = static_cast<double>(n);
  const Array rest = full({n - 1}, 1 / std::sqrt(2 * size), dtype);
  return concatenate({full({1}, 1 / std::sqrt(4 * size), dtype), rest});
}

// Returns the transform of x [..., n]. It is a Fourier transform of the elements at even positions
// followed by those at odd ones in reverse order (Makhoul, "A fast cosine transform in one and two
// dimensions", 1980).
Array forward(const Array& x, bool ortho) {
  const int64_t n = x.shape().back();
  const Array even = slice_in_dim(x, 0, n, -1, 2),
              odd = slice_in_dim(x, std::min<int64_t>(1, n), n, -1, 2);
  const Array spectrum = tessera::fft::fft(concatenate({even, flip(odd, -1)}, -1));
  const Array out = 2 * real(spectrum * quarter_turns(n, x.dtype(), -1));
  return ortho ? out * ortho_factors(n, x.dtype()) : out;
}

Array backward(const Array& x, bool ortho) {
  const int64_t n = x.shape().back();
  const Array factors = ortho_factors(n, x.dtype());
  const Array scaled = ortho ? x / (factors * 2) : x / 2;
  // The spectrum of a real vector: its imaginary part follows from the values in reverse order.
  const Array reversed = roll(flip(scaled, -1), 1, -1);
  const Array first = concatenate({zeros({1}, x.dtype()), ones({n - 1}, x.dtype())});
  const Array spectrum = (lax::complex(scaled, -reversed * first)) * quarter_turns(n, x.dtype(), 1);
  const Array v = real(tessera::fft::ifft(spectrum));
  const int64_t evens = (n + 1) / 2;
  const Array even = slice_in_dim(v, 0, evens, -1), odd = flip(slice_in_dim(v, evens, n, -1), -1);
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.ndim() - 1));
  widths.emplace_back(0, evens - odd.shape().back());
  Shape shape = x.shape();
  shape.back() = 2 * evens;
  return slice_in_dim(reshape(stack({even, pad(odd, widths)}, -1), shape), 0, n, -1);
}

Array transformed(const DctParams& p, std::span<const Array> a) {
  Array x = moveaxis(promote(a[0], Promotion::kInexact), p.axis, -1);
  const int64_t n = std::min(p.n, x.shape().back());
  x = slice_in_dim(x, 0, n, -1);
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.ndim() - 1));
  widths.emplace_back(0, p.n - n);
  x = pad(x, widths);
  const auto of_real = [&](const Array& part) {
    return p.inverse ? backward(part, p.ortho) : forward(part, p.ortho);
  };
  const Array out =
      is_complex(x.dtype()) ? lax::complex(of_real(real(x)), of_real(imag(x))) : of_real(x);
  return moveaxis(out, -1, p.axis);
}

Array along(const char* name, const Array& x, const DctOptions& o, bool inverse) {
  const int64_t axis = normalize_axis(name, o.axis, x.ndim());
  const int64_t n = o.n.value_or(x.shape()[axis]);
  if (n < 1) value_error(name, "expected a length of at least 1 along axis {}, got {}", axis, n);
  const DctParams params{n, axis, o.norm == DctNorm::kOrtho, inverse};
  return composite(name, params, {x}, transformed);
}

Array along_all(const char* name, const Array& x, const DctnOptions& o, bool inverse) {
  Dims axes;
  if (o.axes.all() && o.s) {
    if (o.s->rank() > x.ndim())
      value_error(name, "expected at most {} lengths, got {}", x.ndim(), o.s->rank());
    for (int64_t i = 0; i < o.s->rank(); ++i) axes.push_back(x.ndim() - o.s->rank() + i);
  } else {
    axes = o.axes.in_order(name, x.ndim());
  }
  if (o.s && o.s->rank() != axes.rank())
    value_error(name, "expected one length for each of {} axes, got {}", axes.rank(), o.s->rank());
  Array out = x;
  for (int64_t i = 0; i < axes.rank(); ++i)
    out = along(name, out,
                {.n = o.s ? std::optional<int64_t>((*o.s)[i]) : std::nullopt,
                 .axis = axes[i],
                 .norm = o.norm},
                inverse);
  return out;
}

}  // namespace

Array dct(const Array& x, const DctOptions& options) { return along("dct", x, options, false); }
Array idct(const Array& x, const DctOptions& options) { return along("idct", x, options, true); }
Array dctn(const Array& x, const DctnOptions& options) {
  return along_all("dctn", x, options, false);
}
Array idctn(const Array& x, const DctnOptions& options) {
  return along_all("idctn", x, options, true);
}

}  // namespace tessera::scipy::fft
