#include "tessera/privacy/accounting/fft.h"

#include <cmath>
#include <kissfft/kissfft.hh>

namespace tessera::privacy::accounting::internal {

namespace {

using Complex = std::complex<double>;

}  // namespace

size_t fast_fft_size(size_t n) {
  for (size_t size = n + n % 2;; size += 2) {
    size_t rest = size;
    for (const size_t prime : {2, 3, 5})
      while (rest % prime == 0 && rest > 1) rest /= prime;
    if (rest == 1) return size;
  }
}

// Even and odd values are the real and imaginary parts of one transform of half the length.
struct RealFft::Plan {
  size_t half;
  kissfft<double> transform;   // forward; backwards the coefficients are conjugated on both sides
  std::vector<Complex> roots;  // exp(-2 pi i k / n) for k from 0 to n/2
};

RealFft::RealFft(size_t n) : plan_(new Plan{n / 2, kissfft<double>(n / 2, false), {}}) {
  for (size_t k = 0; k <= n / 2; ++k)
    plan_->roots.push_back(
        std::polar(1.0, -2 * M_PI * static_cast<double>(k) / static_cast<double>(n)));
}
RealFft::~RealFft() = default;

std::vector<Complex> RealFft::forward(const std::vector<double>& values) const {
  const size_t half = plan_->half;
  std::vector<Complex> packed(half), transformed(half), out(half + 1);
  for (size_t i = 0; i < half; ++i) packed[i] = {values[2 * i], values[2 * i + 1]};
  plan_->transform.transform(packed.data(), transformed.data());
  for (size_t k = 0; k <= half; ++k) {
    const Complex a = transformed[k % half], b = std::conj(transformed[(half - k) % half]);
    const Complex odd = product(plan_->roots[k], a - b);
    out[k] = 0.5 * (a + b + Complex(odd.imag(), -odd.real()));
  }
  return out;
}

std::vector<double> RealFft::inverse(const std::vector<Complex>& coefficients) const {
  const size_t half = plan_->half;
  std::vector<Complex> packed(half), transformed(half);
  for (size_t k = 0; k < half; ++k) {
    const Complex a = coefficients[k], b = std::conj(coefficients[half - k]);
    const Complex odd = product(std::conj(plan_->roots[k]), a - b);
    packed[k] = std::conj(a + b + Complex(-odd.imag(), odd.real()));
  }
  plan_->transform.transform(packed.data(), transformed.data());
  const double scale = 0.5 / static_cast<double>(half);
  std::vector<double> out(2 * half);
  for (size_t i = 0; i < half; ++i) {
    out[2 * i] = transformed[i].real() * scale;
    out[2 * i + 1] = -transformed[i].imag() * scale;
  }
  return out;
}

}  // namespace tessera::privacy::accounting::internal
