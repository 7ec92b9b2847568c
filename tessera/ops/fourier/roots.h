// Roots of unity, correctly rounded but for the last bit.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace tessera::ops::fourier {

// exp(-2 pi i k / n) of any k: the product of two from tables of about sqrt(n) entries, in long
// double.
class Roots {
 public:
  explicit Roots(int64_t n);
  std::complex<double> operator()(int64_t k) const;

 private:
  int64_t n_, low_;
  std::vector<std::complex<long double>> fine_, coarse_;
};

}  // namespace tessera::ops::fourier
