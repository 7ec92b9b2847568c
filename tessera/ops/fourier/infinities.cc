#include "tessera/ops/fourier/infinities.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tessera/ops/fourier/panels.h"
#include "tessera/ops/fourier/passes.h"

namespace tessera::ops::fourier {
namespace {

int sign_of(int64_t x) { return (x > 0) - (x < 0); }
// Returns the sign of cos(2 pi m / n) for m in [0, n): positive in the first and last quarter.
int cosine_sign(int64_t m, int64_t n) {
  return 2 * m <= n ? sign_of(n - 4 * m) : sign_of(4 * m - 3 * n);
}
int sine_sign(int64_t m, int64_t n) { return m == 0 ? 0 : sign_of(n - 2 * m); }

// A real or imaginary part of a line that is infinite.
struct Infinity {
  int64_t at;
  bool imaginary;
  int sign;
};

// The infinite terms of a sum.
struct Terms {
  bool plus = false, minus = false;
  void add(int sign) {
    plus |= sign > 0;
    minus |= sign < 0;
  }
  bool undefined() const { return plus && minus; }
  template <class T>
  T sum(T finite) const {
    constexpr T kInf = std::numeric_limits<T>::infinity();
    if (undefined()) return std::numeric_limits<T>::quiet_NaN();
    return plus ? kInf : minus ? -kInf : finite;
  }
};

template <class T>
class InfiniteLine {
 public:
  explicit InfiniteLine(const Lines& lines) : lines_(lines) {}

  // Takes the line whose numbers are at x, x + stride, ...: `parts` (1 or 2) reals each. Returns
  // whether it holds infinities and no NaN.
  bool read(const T* x, int64_t points, int64_t stride, int parts) {
    infinities_.clear();
    finite_.resize(points * parts);
    for (int64_t i = 0; i < points; ++i)
      for (int p = 0; p < parts; ++p) {
        const T value = x[i * stride + p];
        if (std::isnan(value)) return false;
        finite_[i * parts + p] = std::isinf(value) ? T{0} : value;
        if (std::isinf(value)) infinities_.push_back({i, p == 1, value > 0 ? 1 : -1});
      }
    return !infinities_.empty();
  }

  // Writes the transform of the line that was read.
  void write(T* x, int64_t points, int64_t stride, int parts, T scale) {
    std::vector<T> sums(2 * (lines_.n + 1));
    transform_finite(sums.data(), scale);
    const bool inverse = lines_.type == FftType::kIfft || lines_.type == FftType::kIrfft;
    for (int64_t k = 0; k < points; ++k) {
      Terms re, im;
      for (const Infinity& term : infinities_) {
        const int64_t m = term.at * k % lines_.n;
        const int c = term.sign * cosine_sign(m, lines_.n);
        const int s = term.sign * sine_sign(m, lines_.n) * (inverse ? 1 : -1);
        // (re + i im) (c + i s)
        re.add(term.imaginary ? -s : c);
        im.add(term.imaginary ? c : s);
        if (re.undefined() && im.undefined()) break;
      }
      x[k * stride] = re.sum(sums[k * parts]);
      if (parts == 2) x[k * stride + 1] = im.sum(sums[k * parts + 1]);
    }
  }

 private:
  void transform_finite(T* out, T scale) const {
    Noticed ignored;
    switch (lines_.type) {
      case FftType::kFft:
      case FftType::kIfft:
        return ComplexPass<T>(1, lines_.n, 1)
            .run(finite_.data(), out, 1, lines_.type == FftType::kIfft, scale, ignored);
      case FftType::kRfft:
        return RealPass<T>(1, lines_.n).forward(finite_.data(), out, ignored);
      case FftType::kIrfft:
        return RealPass<T>(1, lines_.n).inverse(finite_.data(), out, scale, ignored);
    }
  }

  const Lines& lines_;
  std::vector<T> finite_;
  std::vector<Infinity> infinities_;
};

}  // namespace

template <class T>
void transform_infinities(const Lines& lines, const T* in, T* out, T scale) {
  const int in_parts = lines.type == FftType::kRfft ? 1 : 2;
  const int out_parts = lines.type == FftType::kIrfft ? 1 : 2;
  const int64_t half = lines.n / 2 + 1;
  const int64_t in_points = lines.type == FftType::kIrfft ? half : lines.n;
  const int64_t out_points = lines.type == FftType::kRfft ? half : lines.n;
  const int64_t grain = std::max<int64_t>(1, kTaskPoints / lines.n);
  parallel_for_ranges(lines.outer * lines.inner, grain, [&](int64_t begin, int64_t end) {
    InfiniteLine<T> line(lines);
    for (int64_t l = begin; l < end; ++l) {
      const int64_t o = l / lines.inner, i = l % lines.inner;
      const T* x = in + (o * in_points * lines.inner + i) * in_parts;
      T* y = out + (o * out_points * lines.inner + i) * out_parts;
      if (line.read(x, in_points, lines.inner * in_parts, in_parts))
        line.write(y, out_points, lines.inner * out_parts, out_parts, scale);
    }
  });
}

template void transform_infinities(const Lines&, const float*, float*, float);
template void transform_infinities(const Lines&, const double*, double*, double);

}  // namespace tessera::ops::fourier
