// Element types: names, sizes, kinds, and the C++ type of each.
#pragma once

#include <fmt/ostream.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "tessera/base/error.h"

namespace tessera {

enum class DType : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};
inline constexpr int kNumDTypes = 15;

inline constexpr DType bool_ = DType::kBool, int8 = DType::kInt8, int16 = DType::kInt16,
                       int32 = DType::kInt32, int64 = DType::kInt64, uint8 = DType::kUint8,
                       uint16 = DType::kUint16, uint32 = DType::kUint32, uint64 = DType::kUint64,
                       float16 = DType::kFloat16, bfloat16 = DType::kBfloat16,
                       float32 = DType::kFloat32, float64 = DType::kFloat64,
                       complex64 = DType::kComplex64, complex128 = DType::kComplex128;

// IEEE binary16 and bfloat16 as storage: convert to float, compute there, round back to nearest
// even.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value);
  explicit operator float() const;
  friend bool operator==(Float16, Float16) = default;
};
struct Bfloat16 {
  uint16_t bits = 0;
  Bfloat16() = default;
  explicit Bfloat16(float value);
  explicit operator float() const;
  friend bool operator==(Bfloat16, Bfloat16) = default;
};

enum class DTypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex };

// NumPy's name: "float32", "bool", ...
std::string_view dtype_name(DType dtype);
// StableHLO's name: "f32", "i1", "ui8", "complex<f32>", ...
std::string_view mlir_name(DType dtype);
DType dtype_from_name(std::string_view name);       // NumPy's; UserError
DType dtype_from_mlir_name(std::string_view name);  // StableHLO's; UserError
int64_t itemsize(DType dtype);                      // bytes
DTypeKind kind(DType dtype);
inline bool is_floating(DType d) { return kind(d) == DTypeKind::kFloat; }
inline bool is_complex(DType d) { return kind(d) == DTypeKind::kComplex; }
inline bool is_inexact(DType d) { return is_floating(d) || is_complex(d); }
inline bool is_integer(DType d) {
  return kind(d) == DTypeKind::kSigned || kind(d) == DTypeKind::kUnsigned;
}
inline bool is_signed(DType d) { return kind(d) == DTypeKind::kSigned; }
inline bool is_unsigned(DType d) { return kind(d) == DTypeKind::kUnsigned; }
inline bool is_half(DType d) { return d == DType::kFloat16 || d == DType::kBfloat16; }
// complex64 -> float32, complex128 -> float64, others unchanged.
DType real_dtype(DType dtype);
// In what sums of it are kept: float32 for float16 and bfloat16, others unchanged.
inline DType accumulation_dtype(DType d) { return is_half(d) ? DType::kFloat32 : d; }

std::ostream& operator<<(std::ostream& out, DType dtype);

template <class T>
struct DTypeOf;
// The formatter never settles on the continuation marks of this macro.
// clang-format off
#define TESSERA_FOR_EACH_DTYPE(X)                                                      \
  X(bool, kBool) X(int8_t, kInt8) X(int16_t, kInt16) X(int32_t, kInt32)                \
  X(int64_t, kInt64) X(uint8_t, kUint8) X(uint16_t, kUint16) X(uint32_t, kUint32)      \
  X(uint64_t, kUint64) X(::tessera::Float16, kFloat16) X(::tessera::Bfloat16, kBfloat16) \
  X(float, kFloat32) X(double, kFloat64) X(std::complex<float>, kComplex64)            \
  X(std::complex<double>, kComplex128)
// clang-format on
#define TESSERA_DTYPE_OF(T, k)               \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::k; \
  };
TESSERA_FOR_EACH_DTYPE(TESSERA_DTYPE_OF)
#undef TESSERA_DTYPE_OF
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;
template <class T>
inline constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// static_cast between types of elements and wider ones; float16 and bfloat16 by way of float.
template <class To, class From>
To element_cast(From x) {
  if constexpr (is_half_type<From>) {
    return static_cast<To>(static_cast<float>(x));
  } else if constexpr (is_half_type<To>) {
    return To(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

// In what the naive evaluations sum T, so that their sums are nearer than any that they judge.
// Integers wrap: they are added as unsigned numbers.
template <class T>
using NaiveSum = std::conditional_t<
    std::is_integral_v<T>, uint64_t,
    std::conditional_t<is_complex_type<T>, std::complex<long double>,
                       std::conditional_t<std::is_same_v<T, double>, long double, double>>>;

template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>{}) for the C++ element type T of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define TESSERA_CASE(T, k) \
  case DType::k:           \
    return f(TypeTag<T>{});
    TESSERA_FOR_EACH_DTYPE(TESSERA_CASE)
#undef TESSERA_CASE
  }
  TESSERA_CHECK(false, "dtype {}", static_cast<int>(dtype));
  __builtin_unreachable();
}

}  // namespace tessera

template <>
struct fmt::formatter<tessera::DType> : fmt::ostream_formatter {};
