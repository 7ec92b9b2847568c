// Discrete Fourier transforms of real sequences in double precision, by the library's own FFT
// (ops/fourier). The source files of accounting/ use them for compositions.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "tessera/ops/fourier/passes.h"

namespace tessera::privacy::accounting::internal {

// Returns the least even size not below n whose prime factors are 2, 3 and 5.
size_t fast_fft_size(size_t n);

// Returns a * b, without std::complex's handling of infinities.
inline std::complex<double> product(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Transforms of real sequences of one even length n. Large ones run on all threads; the result does
// not depend on their number.
class RealFft {
 public:
  explicit RealFft(size_t n);

  // Returns the coefficients 0 to n/2 of a sequence; the others are their conjugates.
  std::vector<std::complex<double>> forward(const std::vector<double>& values) const;
  // Returns the sequence with these coefficients. The imaginary parts of the first and the last one
  // are ignored.
  std::vector<double> inverse(const std::vector<std::complex<double>>& coefficients) const;

 private:
  size_t n_;
  ops::fourier::RealPass<double> pass_;
};

}  // namespace tessera::privacy::accounting::internal
