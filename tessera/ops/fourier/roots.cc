#include "tessera/ops/fourier/roots.h"

#include <cmath>

namespace tessera::ops::fourier {
namespace {

std::complex<long double> root(int64_t k, int64_t n) {
  const long double turn = 2 * 3.14159265358979323846264338327950288L;
  const long double angle = turn * static_cast<long double>(k) / static_cast<long double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

}  // namespace

Roots::Roots(int64_t n) : n_(n), low_(static_cast<int64_t>(std::sqrt(static_cast<double>(n))) + 1) {
  for (int64_t k = 0; k < low_; ++k) fine_.push_back(root(k, n));
  for (int64_t k = 0; k < n; k += low_) coarse_.push_back(root(k, n));
}

std::complex<double> Roots::operator()(int64_t k) const {
  k %= n_;
  if (4 * k % n_ == 0) {  // quarter turns have no rounding errors
    constexpr std::complex<double> kQuarters[] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
    return kQuarters[4 * k / n_];
  }
  const std::complex<long double>&a = coarse_[k / low_], &b = fine_[k % low_];
  return {static_cast<double>(a.real() * b.real() - a.imag() * b.imag()),
          static_cast<double>(a.real() * b.imag() + a.imag() * b.real())};
}

}  // namespace tessera::ops::fourier
