// Roots of unity, correctly rounded except for the last bit.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace tessera::ops::fourier {

// Returns exp(-2 pi i k / n) for any k: the product of an entry of each of two tables, which have
// about sqrt(n) entries, in long double.
class Roots {
 public:
  explicit Roots(int64_t n);
  std::complex<double> operator()(int64_t k) const;

 private:
  int64_t n_, low_;
  std::vector<std::complex<long double>> fine_, coarse_;
};

}  // namespace tessera::ops::fourier
