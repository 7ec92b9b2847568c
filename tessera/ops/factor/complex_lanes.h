// Complex numbers in the lanes of vectors: a vector of real parts and one of imaginary parts. It
// has the interface of MemberLanes (member_lanes.h) that substitution needs.
#pragma once

#include <complex>

#include "tessera/ops/factor/member_lanes.h"

namespace tessera::ops::factor {

template <class T>
struct RealPart {
  using Type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using Type = T;
};

template <class T, int lanes>
struct MemberLanes<std::complex<T>, lanes> {
  using Parts = MemberLanes<T, lanes>;
  using Part = typename Parts::Vector;
  struct Vector {
    Part re, im;

    [[gnu::always_inline]] Vector operator-() const { return {-re, -im}; }
    // Smith's algorithm (CACM 1962): divides by the larger part first. A division by zero divides
    // each part by the real part, a signed zero.
    [[gnu::always_inline]] Vector& operator/=(const Vector& y) {
      const Part x_re = re, x_im = im, zero = {};
      const auto re_larger = Parts::magnitude(y.re) >= Parts::magnitude(y.im);
      const Part large = re_larger ? y.re : y.im, small = re_larger ? y.im : y.re;
      const Part quotient = small / large, ratio = large == zero ? zero : quotient;
      const Part scale = Parts::fused(small, ratio, large);
      const Part first_re = re_larger ? x_re : x_im, second_re = re_larger ? x_im : x_re;
      const Part first_im = re_larger ? x_im : -x_re, second_im = re_larger ? -x_re : x_im;
      re = Parts::fused(second_re, ratio, first_re) / scale;
      im = Parts::fused(second_im, ratio, first_im) / scale;
      return *this;
    }
  };

  // Returns a * b + c. Each part is two products, added one after the other, with one rounding
  // each.
  [[gnu::always_inline]] static Vector fused(const Vector& a, const Vector& b, const Vector& c) {
    return {Parts::fused(-a.im, b.im, Parts::fused(a.re, b.re, c.re)),
            Parts::fused(a.im, b.re, Parts::fused(a.re, b.im, c.im))};
  }
  [[gnu::always_inline]] static Vector broadcast(const std::complex<T>& x) {
    return {Parts::broadcast(x.real()), Parts::broadcast(x.imag())};
  }
  [[gnu::always_inline]] static Vector conjugate(const Vector& x) { return {x.re, -x.im}; }

  [[gnu::always_inline]] static Vector load(const std::complex<T>* p) {
    return load_some(p, lanes);
  }
  [[gnu::always_inline]] static void store(std::complex<T>* p, const Vector& x) {
    store_some(p, x, lanes);
  }
  // Reads `count` numbers into the first lanes; the others are 0.
  [[gnu::always_inline]] static Vector load_some(const std::complex<T>* p, int64_t count) {
    T numbers[2 * lanes] = {};
    std::memcpy(numbers, p, static_cast<size_t>(count) * sizeof(*p));
    return separated(Parts::load(numbers), Parts::load(numbers + lanes),
                     std::make_integer_sequence<int, lanes>());
  }
  [[gnu::always_inline]] static void store_some(std::complex<T>* p, const Vector& x,
                                                int64_t count) {
    T numbers[2 * lanes];
    joined(x, numbers, std::make_integer_sequence<int, lanes>());
    std::memcpy(static_cast<void*>(p), numbers, static_cast<size_t>(count) * sizeof(*p));
  }

  [[gnu::always_inline]] static void load_members(const std::complex<T>* from,
                                                  const std::complex<T>* end, int64_t valid,
                                                  int64_t count, Vector* to) {
    Parts::load_members(reinterpret_cast<const T*>(from), reinterpret_cast<const T*>(end), valid,
                        2 * count, reinterpret_cast<Part*>(to));
  }
  [[gnu::always_inline]] static void store_members(const Vector* from, int64_t valid, int64_t count,
                                                   std::complex<T>* to) {
    Parts::store_members(reinterpret_cast<const Part*>(from), valid, 2 * count,
                         reinterpret_cast<T*>(to));
  }

 private:
  template <int... I>
  [[gnu::always_inline]] static Vector separated(const Part& a, const Part& b,
                                                 std::integer_sequence<int, I...>) {
    return {__builtin_shufflevector(a, b, (2 * I)...),
            __builtin_shufflevector(a, b, (2 * I + 1)...)};
  }
  template <int... I>
  [[gnu::always_inline]] static void joined(const Vector& x, T* to,
                                            std::integer_sequence<int, I...>) {
    constexpr int half = lanes / 2;
    Parts::store(to, __builtin_shufflevector(x.re, x.im, (I / 2 + I % 2 * lanes)...));
    Parts::store(to + lanes,
                 __builtin_shufflevector(x.re, x.im, (half + I / 2 + I % 2 * lanes)...));
  }
};

}  // namespace tessera::ops::factor
