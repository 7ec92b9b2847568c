// Small matrices of a batch in the lanes of vectors: element e of all members is one vector, so
// that operations on elements are operations on vectors, whatever the form of the matrices. For
// source files whose functions are inlined into one function for each instruction set: those of
// small_eigenvalues.h, small_lu.h, small_qr.h and small_solve.h. The instruction sets have fused
// multiply-add, and the order of the operations does not depend on the number of lanes: neither do
// the bits.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tessera/base/instructions.h"

namespace tessera::ops::factor {

// No vector is passed between functions, because all is in line. The end of the source file, where
// templates are instantiated, must be included.
#pragma GCC diagnostic ignored "-Wpsabi"

template <class T, int lanes>
struct MemberLanes {
  using Int = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  // Comparisons of vectors of T have masks of type Ints: -1 where true, 0 elsewhere.
  typedef T Vector __attribute__((vector_size(sizeof(T) * lanes)));
  typedef Int Ints __attribute__((vector_size(sizeof(T) * lanes)));

  // Returns a * b + c, rounded once. The compiler would not always make one instruction of it.
  [[gnu::always_inline]] static Vector fused(const Vector& a, const Vector& b, const Vector& c) {
#if defined(__x86_64__) && !defined(__clang__)
    constexpr bool kSingle = std::is_same_v<T, float>;
    constexpr int kRounding = _MM_FROUND_CUR_DIRECTION;
    if constexpr (kSingle && lanes == 8) {
      return __builtin_ia32_vfmaddps256(a, b, c);
    } else if constexpr (kSingle && lanes == 16) {
      return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, kRounding);
    } else if constexpr (lanes == 4) {
      return __builtin_ia32_vfmaddpd256(a, b, c);
    } else {
      return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, kRounding);
    }
#else
    Vector out;
    for (int i = 0; i < lanes; ++i) out[i] = std::fma(a[i], b[i], c[i]);
    return out;
#endif
  }
  [[gnu::always_inline]] static Vector broadcast(T x) {
    const Vector zero = {};
    return x - zero;
  }
  [[gnu::always_inline]] static Ints broadcast_int(int64_t x) {
    return static_cast<Int>(x) - Ints{};
  }
  [[gnu::always_inline]] static Vector magnitude(const Vector& x) {
    return (Vector)((Ints)x & broadcast_int(std::numeric_limits<Int>::max()));
  }
  [[gnu::always_inline]] static bool any(const Ints& mask) {
    constexpr int words = sizeof(Ints) / 8;
    int64_t parts[words], all = 0;
    std::memcpy(parts, &mask, sizeof(mask));
#pragma GCC unroll 8
    for (int i = 0; i < words; ++i) all |= parts[i];
    return all != 0;
  }
  [[gnu::always_inline]] static Vector load(const T* p) {
    Vector x;
    std::memcpy(&x, p, sizeof(x));
    return x;
  }
  [[gnu::always_inline]] static void store(T* p, const Vector& x) { std::memcpy(p, &x, sizeof(x)); }

  // Reads `count` numbers into the first lanes; the others are 0.
  [[gnu::always_inline]] static Vector load_some(const T* p, int64_t count) {
    Vector x{};
    std::memcpy(&x, p, static_cast<size_t>(count) * sizeof(T));
    return x;
  }
  [[gnu::always_inline]] static void store_some(T* p, const Vector& x, int64_t count) {
    std::memcpy(p, &x, static_cast<size_t>(count) * sizeof(T));
  }
  [[gnu::always_inline]] static Vector conjugate(const Vector& x) { return x; }

  [[gnu::always_inline]] static Vector square_root(const Vector& x) {
#if defined(__x86_64__) && !defined(__clang__)
    constexpr bool kSingle = std::is_same_v<T, float>;
    constexpr int kRounding = _MM_FROUND_CUR_DIRECTION;
    if constexpr (kSingle && lanes == 8) {
      return __builtin_ia32_sqrtps256(x);
    } else if constexpr (kSingle && lanes == 16) {
      return __builtin_ia32_sqrtps512_mask(x, x, -1, kRounding);
    } else if constexpr (lanes == 4) {
      return __builtin_ia32_sqrtpd256(x);
    } else {
      return __builtin_ia32_sqrtpd512_mask(x, x, -1, kRounding);
    }
#else
    Vector out;
    for (int i = 0; i < lanes; ++i) out[i] = std::sqrt(x[i]);
    return out;
#endif
  }
  // Returns the powers of two, as bits, that make numbers of these magnitudes at least 1 and less
  // than 2. They and their reciprocals are normal numbers: then the largest numbers are less than
  // 4, and denormal ones not less than the precision of T.
  [[gnu::always_inline]] static Ints scales_of(const Ints& magnitudes) {
    constexpr int kDigits = std::numeric_limits<T>::digits - 1;
    constexpr Int kOne = Int{1} << kDigits,
                  kMostExponent = 2 * std::numeric_limits<T>::max_exponent;
    const Ints exponents = magnitudes & broadcast_int((kMostExponent - 1) * kOne);
    const Ints least = broadcast_int(kOne), most = broadcast_int((kMostExponent - 3) * kOne),
               scales = broadcast_int((kMostExponent - 2) * kOne) - exponents;
    const Ints above = scales < least ? least : scales;
    return above > most ? most : above;
  }
  [[gnu::always_inline]] static Vector reciprocal_power(const Ints& power) {
    constexpr int kDigits = std::numeric_limits<T>::digits - 1;
    constexpr Int kTwice = Int{2 * std::numeric_limits<T>::max_exponent - 2} << kDigits;
    return (Vector)(broadcast_int(kTwice) - power);
  }

  // Transposes the square of lanes x lanes elements: in each step, the elements of the vectors i
  // and i + lanes / 2 alternate in the vectors 2 i and 2 i + 1.
  [[gnu::always_inline]] static void transpose(Vector (&x)[lanes]) {
    transpose(x, std::make_integer_sequence<int, lanes>());
  }
  template <int... I>
  [[gnu::always_inline]] static void transpose(Vector (&x)[lanes],
                                               std::integer_sequence<int, I...>) {
    constexpr int half = lanes / 2;
    Vector y[lanes];
#pragma GCC unroll 4
    for (int step = 1; step < lanes; step *= 2) {
#pragma GCC unroll 16
      for (int i = 0; i < half; ++i) {
        y[2 * i] = __builtin_shufflevector(x[i], x[i + half], (I / 2 + I % 2 * lanes)...);
        y[2 * i + 1] =
            __builtin_shufflevector(x[i], x[i + half], (half + I / 2 + I % 2 * lanes)...);
      }
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) x[i] = y[i];
    }
  }

  // Reads `count` elements of each of `lanes` members, which are contiguous; `end` is the end of
  // all of the batch. If only `valid` members are left, the last one fills the other lanes.
  [[gnu::always_inline]] static void load_members(const T* from, const T* end, int64_t valid,
                                                  int64_t count, Vector* to) {
    const int64_t last = std::min<int64_t>(lanes, valid) - 1;
    for (int64_t at = 0; at < count; at += lanes) {
      // The last vectors overlap those before them.
      const int64_t first = count < lanes ? 0 : std::min(at, count - lanes);
      Vector x[lanes];
      if (last == lanes - 1 && (count >= lanes || from + last * count + lanes <= end)) {
#pragma GCC unroll 16
        for (int lane = 0; lane < lanes; ++lane) x[lane] = load(from + lane * count + first);
      } else {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const T* p = from + std::min(lane, last) * count + first;
          Vector one{};
          std::memcpy(&one, p, static_cast<size_t>(std::min<int64_t>(lanes, count)) * sizeof(T));
          x[lane] = one;
        }
      }
      transpose(x);
      if (count >= lanes) {
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) to[first + i] = x[i];
      } else {
        for (int64_t i = 0; i < count; ++i) to[i] = x[i];
      }
    }
  }
  // Writes `count` elements of each of the first `valid` members.
  [[gnu::always_inline]] static void store_members(const Vector* from, int64_t valid, int64_t count,
                                                   T* to) {
    valid = std::min<int64_t>(lanes, valid);
    for (int64_t at = 0; at < count; at += lanes) {
      const int64_t first = count < lanes ? 0 : std::min(at, count - lanes);
      Vector x[lanes];
      if (count >= lanes) {
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) x[i] = from[first + i];
      } else {
        for (int64_t i = 0; i < lanes; ++i) x[i] = from[std::min(i, count - 1)];
      }
      transpose(x);
      if (valid == lanes && count >= lanes) {
#pragma GCC unroll 16
        for (int lane = 0; lane < lanes; ++lane) store(to + lane * count + first, x[lane]);
      } else {
        for (int64_t lane = 0; lane < valid; ++lane)
          std::memcpy(to + lane * count + first, &x[lane],
                      static_cast<size_t>(std::min<int64_t>(lanes, count)) * sizeof(T));
      }
    }
  }
};

// Return whether the CPU has the instructions of functions marked with the target "avx2,fma", with
// vectors of 32 bytes; "avx512f,avx512vl,avx512dq,fma", with 64.
inline bool has_member_lanes() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}
inline bool has_wide_member_lanes() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq");
  return has && has_member_lanes();
#else
  return false;
#endif
}

#if defined(__x86_64__)
template <class T, class Compute>
[[gnu::target("avx2,fma")]] void in_narrow_member_lanes(const Compute& compute) {
  compute(std::integral_constant<int, 32 / sizeof(T)>());
}
template <class T, class Compute>
TESSERA_IN_512_BITS("avx512f,avx512vl,avx512dq,fma")
void in_wide_member_lanes(const Compute& compute) {
  compute(std::integral_constant<int, 64 / sizeof(T)>());
}
#endif

// Calls compute(lanes), a lambda that is always inlined, with the lanes of a vector of T as a
// constant: vectors of 64 bytes if `wide` and if the CPU has them, otherwise of 32.
// has_member_lanes() must be true.
template <class T, class Compute>
void in_member_lanes([[maybe_unused]] bool wide, [[maybe_unused]] const Compute& compute) {
#if defined(__x86_64__)
  if (wide && has_wide_member_lanes())
    in_wide_member_lanes<T>(compute);
  else
    in_narrow_member_lanes<T>(compute);
#endif
}

// Returns whether vectors of 64 bytes are faster for so many members. Lanes without a member take
// time too: one 32 x 32 matrix of a QR factorisation takes 0.7 of the time with 32 bytes.
template <class T>
bool fills_wide_lanes(int64_t members) {
  return members > static_cast<int64_t>(32 / sizeof(T));
}

}  // namespace tessera::ops::factor
