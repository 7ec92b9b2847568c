// Fourier transforms of real sequences, by a package. For the source files of accounting/.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace tessera::privacy::accounting::internal {

// The least even size not below n whose prime factors are 2, 3 and 5.
size_t fast_fft_size(size_t n);

// Without std::complex's care for infinities.
inline std::complex<double> product(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Transforms of real sequences of one even length n.
class RealFft {
 public:
  explicit RealFft(size_t n);
  ~RealFft();
  RealFft(const RealFft&) = delete;
  RealFft& operator=(const RealFft&) = delete;

  // The coefficients 0 to n/2 of a sequence; the others are their conjugates.
  std::vector<std::complex<double>> forward(const std::vector<double>& values) const;
  // The sequence of such coefficients.
  std::vector<double> inverse(const std::vector<std::complex<double>>& coefficients) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tessera::privacy::accounting::internal
