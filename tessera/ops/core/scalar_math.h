// The elementwise ops on one element, as plainly as possible: the oracle with which compiled code
// is compared. Real numbers are computed in double and rounded by the caller, complex ones in
// complex<double>, integers in their own width (they wrap), bools by logic.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <limits>
#include <type_traits>

namespace tessera::ops::scalar {

using Complex = std::complex<double>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

// Integers wrap: they are computed as unsigned 64-bit numbers and truncated to width.
template <class T>
T add(T x, T y) {
  if constexpr (std::same_as<T, bool>)
    return x || y;
  else if constexpr (Integer<T>)
    return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  else
    return x + y;
}
template <class T>
T subtract(T x, T y) {
  if constexpr (Integer<T>)
    return static_cast<T>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
  else
    return x - y;
}
template <class T>
T multiply(T x, T y) {
  if constexpr (std::same_as<T, bool>)
    return x && y;
  else if constexpr (Integer<T>)
    return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  else if constexpr (std::same_as<T, Complex>)  // without C99's recovery of infinities
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  else
    return x * y;
}
template <class T>
T negate(T x) {
  if constexpr (Integer<T>)
    return subtract(T{0}, x);
  else
    return -x;
}
// Integers divided by zero have all bits set (-1, or the largest unsigned number). The smallest
// integer divided by -1 is itself.
template <class T>
T divide(T x, T y) {
  if constexpr (Integer<T>) {
    if (y == 0) return static_cast<T>(~T{0});
    if constexpr (std::signed_integral<T>)
      if (y == -1) return subtract(T{0}, x);
    return static_cast<T>(x / y);
  } else if constexpr (std::same_as<T, Complex>) {
    if (y == Complex(0)) {
      const double zero = std::copysign(0.0, y.real());
      return {x.real() / zero, x.imag() / zero};
    }
    return x / y;
  } else {
    return x / y;
  }
}
// Returns the remainder of truncated division: it has the dividend's sign. For integers, the
// remainder by zero is the dividend.
template <class T>
T remainder(T x, T y) {
  if constexpr (Integer<T>) {
    if (y == 0) return x;
    if constexpr (std::signed_integral<T>)
      if (y == -1) return 0;
    return static_cast<T>(x % y);
  } else {
    return std::fmod(x, y);
  }
}
// Integers to a negative power are 0, except 1 for 1 and +-1 for -1.
template <class T>
T power(T x, T y) {
  if constexpr (Integer<T>) {
    if constexpr (std::signed_integral<T>) {
      if (y < 0) return x == 1 ? T{1} : x == -1 ? (y % 2 ? T{-1} : T{1}) : T{0};
    }
    T out = 1;
    for (; y != 0; y = static_cast<T>(y >> 1)) {
      if (y & 1) out = multiply(out, x);
      x = multiply(x, x);
    }
    return out;
  } else if constexpr (std::same_as<T, Complex>) {
    if (y == Complex(0)) return 1.0;
    if (x == Complex(0) && y.real() > 0) return 0.0;
    return std::exp(multiply(y, std::log(x)));
  } else {
    return std::pow(x, y);
  }
}

// If either is NaN, so is the result. Complex numbers are ordered by their real parts, then by
// their imaginary parts.
template <class T>
T maximum(T x, T y) {
  if constexpr (std::same_as<T, Complex>) {
    return x.real() > y.real() || (x.real() == y.real() && x.imag() > y.imag()) ? x : y;
  } else {
    if constexpr (std::same_as<T, double>) {
      if (std::isnan(x)) return x;
      if (std::isnan(y)) return y;
      if (x == 0 && y == 0) return std::signbit(x) ? y : x;
    }
    return x > y ? x : y;
  }
}
template <class T>
T minimum(T x, T y) {
  if constexpr (std::same_as<T, Complex>) {
    return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag()) ? x : y;
  } else {
    if constexpr (std::same_as<T, double>) {
      if (std::isnan(x)) return x;
      if (std::isnan(y)) return y;
      if (x == 0 && y == 0) return std::signbit(x) ? x : y;
    }
    return x < y ? x : y;
  }
}

template <class T>
auto absolute(T x) {
  if constexpr (Integer<T>)
    return x < 0 ? subtract(T{0}, x) : x;
  else
    return std::abs(x);
}
template <class T>
T sign(T x) {
  if constexpr (Integer<T>)
    return static_cast<T>((x > 0) - (x < 0));
  else if constexpr (std::same_as<T, Complex>)
    return x == Complex(0) ? x : x / std::abs(x);
  else
    return x > 0 ? 1.0 : x < 0 ? -1.0 : x;  // NaN and the zeros are returned as they are
}

template <class T>
T bitwise_not(T x) {
  if constexpr (std::same_as<T, bool>)
    return !x;
  else
    return static_cast<T>(~x);
}
template <class T>
T popcount(T x) {
  return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
}
template <class T>
T leading_zeros(T x) {
  return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x)));
}
// Shifts by the width or more (or by a negative amount) return 0, or the sign.
template <class T>
bool shifts_out(T amount) {
  return static_cast<std::make_unsigned_t<T>>(amount) >= sizeof(T) * 8;
}
template <class T>
T shift_left(T x, T amount) {
  return shifts_out(amount) ? T{0} : static_cast<T>(static_cast<uint64_t>(x) << amount);
}
template <class T>
T shift_right_logical(T x, T amount) {
  return shifts_out(amount) ? T{0}
                            : static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) >> amount);
}
template <class T>
T shift_right_arithmetic(T x, T amount) {
  using Signed = std::make_signed_t<T>;
  const int64_t wide = static_cast<Signed>(x);
  return static_cast<T>(wide >> (shifts_out(amount) ? 63 : static_cast<int64_t>(amount)));
}

inline Complex reciprocal(Complex z) { return divide(Complex(1), z); }
inline double reciprocal(double x) { return 1 / x; }
inline double cube_root(double x) { return std::cbrt(x); }
inline Complex cube_root(Complex z) { return std::polar(std::cbrt(std::abs(z)), std::arg(z) / 3); }
inline double expm1(double x) { return std::expm1(x); }
inline Complex expm1(Complex z) {
  if (std::isinf(z.real())) return {std::exp(z).real() - 1, std::exp(z).imag()};
  const double s = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, std::exp(z).imag()};
}
inline double log1p(double x) { return std::log1p(x); }
inline Complex log1p(Complex z) {
  if (std::abs(z) > 0.5) return std::log(1.0 + z);
  return {0.5 * std::log1p(z.real() * (2 + z.real()) + z.imag() * z.imag()),
          std::atan2(z.imag(), 1 + z.real())};
}
// Each formula is used on the side of zero on which it cannot overflow.
template <class T>
T logistic(T x) {
  if (std::real(x) >= 0) return reciprocal(1.0 + std::exp(-x));
  const T e = std::exp(x);
  return e / (1.0 + e);
}
inline double atan2(double y, double x) { return std::atan2(y, x); }
Complex atan2(Complex y, Complex x);
double erf_inv(double x);
double lgamma(double x);
double digamma(double x);
}  // namespace tessera::ops::scalar
