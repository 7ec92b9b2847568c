// visit_dtype: from a dtype to the C++ type of its elements. For source files, which have to tell
// dtypes apart.
#pragma once

#include <complex>

#include "tessera/base/dtype.h"
#include "tessera/base/error.h"

namespace tessera {

// The formatter never settles on the continuation marks of this macro.
// clang-format off
#define TESSERA_FOR_EACH_DTYPE(X)                                                      \
  X(bool, kBool) X(int8_t, kInt8) X(int16_t, kInt16) X(int32_t, kInt32)                \
  X(int64_t, kInt64) X(uint8_t, kUint8) X(uint16_t, kUint16) X(uint32_t, kUint32)      \
  X(uint64_t, kUint64) X(::tessera::Float16, kFloat16) X(::tessera::Bfloat16, kBfloat16) \
  X(float, kFloat32) X(double, kFloat64) X(std::complex<float>, kComplex64)            \
  X(std::complex<double>, kComplex128)
// clang-format on

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
  internal::check_failed("false", __FILE__, __LINE__,
                         "dtype " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace tessera
