// visit_dtype: calls a function with the C++ type of a dtype's elements. Also the conversions of
// these types. Only source files that distinguish dtypes include it.
#pragma once

#include <complex>
#include <string>
#include <type_traits>

#include "tessera/base/dtype.h"
#include "tessera/base/error.h"

namespace tessera {

// The formatter would move the backslashes of this macro in each run.
// clang-format off
#define TESSERA_FOR_EACH_DTYPE(X)                                                      \
  X(bool, kBool) X(int8_t, kInt8) X(int16_t, kInt16) X(int32_t, kInt32)                \
  X(int64_t, kInt64) X(uint8_t, kUint8) X(uint16_t, kUint16) X(uint32_t, kUint32)      \
  X(uint64_t, kUint64) X(::tessera::Float16, kFloat16) X(::tessera::Bfloat16, kBfloat16) \
  X(float, kFloat32) X(double, kFloat64) X(std::complex<float>, kComplex64)            \
  X(std::complex<double>, kComplex128)
// clang-format on

template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;
template <class T>
inline constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// Converts between element types and wider types; float16 and bfloat16 are converted through float.
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

// The type in which naive evaluations add up elements of type T, so that their sums are more
// precise than those that they check. Integers wrap: they are added as unsigned numbers.
template <class T>
using NaiveSum = std::conditional_t<
    std::is_integral_v<T>, uint64_t,
    std::conditional_t<is_complex_type<T>, std::complex<long double>,
                       std::conditional_t<std::is_same_v<T, double>, long double, double>>>;

template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>{}) for the C++ element type T of `dtype`. `dtype` is not narrow: narrow ones
// have no C++ type, and base/narrow.h converts them to wide ones.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define TESSERA_CASE(T, k) \
  case DType::k:           \
    return f(TypeTag<T>{});
    TESSERA_FOR_EACH_DTYPE(TESSERA_CASE)
#undef TESSERA_CASE
    default:
      break;
  }
  internal::check_failed("false", __FILE__, __LINE__,
                         "dtype " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace tessera
