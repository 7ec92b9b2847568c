#include "tessera/privacy/accounting/fft.h"

#include "tessera/base/error.h"
#include "tessera/base/format.h"

namespace tessera::privacy::accounting::internal {

size_t fast_fft_size(size_t n) {
  for (size_t size = n + n % 2;; size += 2) {
    size_t rest = size;
    for (const size_t prime : {2, 3, 5})
      while (rest % prime == 0 && rest > 1) rest /= prime;
    if (rest == 1) return size;
  }
}

RealFft::RealFft(size_t n) : n_(n), pass_(1, static_cast<int64_t>(n)) {
  TESSERA_CHECK(n > 0 && n % 2 == 0, "a transform of {} numbers", n);
}

// The transforms represent a complex number by two neighbouring real ones, as std::complex does.
std::vector<std::complex<double>> RealFft::forward(const std::vector<double>& values) const {
  TESSERA_CHECK(values.size() == n_, "{} numbers to a transform of {}", values.size(), n_);
  std::vector<std::complex<double>> out(n_ / 2 + 1);
  ops::fourier::Noticed ignored;
  pass_.forward(values.data(), reinterpret_cast<double*>(out.data()), ignored);
  return out;
}

std::vector<double> RealFft::inverse(const std::vector<std::complex<double>>& coefficients) const {
  TESSERA_CHECK(coefficients.size() == n_ / 2 + 1, "{} coefficients to a transform of {}",
                coefficients.size(), n_);
  std::vector<double> out(n_);
  ops::fourier::Noticed ignored;
  pass_.inverse(reinterpret_cast<const double*>(coefficients.data()), out.data(),
                1 / static_cast<double>(n_), ignored);
  return out;
}

}  // namespace tessera::privacy::accounting::internal
