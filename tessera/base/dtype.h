// The element types (dtypes): names, sizes, kinds, and the C++ type of each.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

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
  // The narrow dtypes: an element takes one byte in memory, whatever its width (base/narrow.h).
  kInt2,
  kInt4,
  kUint2,
  kUint4,
  kFloat8E3M4,
  kFloat8E4M3,
  kFloat8E4M3B11FNUZ,
  kFloat8E4M3FN,
  kFloat8E4M3FNUZ,
  kFloat8E5M2,
  kFloat8E5M2FNUZ,
  kFloat8E8M0FNU,
  kFloat4E2M1FN,
  kFloat6E2M3FN,
  kFloat6E3M2FN,
};
// kNumDTypes counts the dtypes in which arithmetic is done, which come first; kNumAllDTypes also
// counts the narrow ones.
inline constexpr int kNumDTypes = 15, kNumAllDTypes = 30;

inline constexpr DType bool_ = DType::kBool, int8 = DType::kInt8, int16 = DType::kInt16,
                       int32 = DType::kInt32, int64 = DType::kInt64, uint8 = DType::kUint8,
                       uint16 = DType::kUint16, uint32 = DType::kUint32, uint64 = DType::kUint64,
                       float16 = DType::kFloat16, bfloat16 = DType::kBfloat16,
                       float32 = DType::kFloat32, float64 = DType::kFloat64,
                       complex64 = DType::kComplex64, complex128 = DType::kComplex128;
inline constexpr DType int2 = DType::kInt2, int4 = DType::kInt4, uint2 = DType::kUint2,
                       uint4 = DType::kUint4, float8_e3m4 = DType::kFloat8E3M4,
                       float8_e4m3 = DType::kFloat8E4M3,
                       float8_e4m3b11fnuz = DType::kFloat8E4M3B11FNUZ,
                       float8_e4m3fn = DType::kFloat8E4M3FN,
                       float8_e4m3fnuz = DType::kFloat8E4M3FNUZ, float8_e5m2 = DType::kFloat8E5M2,
                       float8_e5m2fnuz = DType::kFloat8E5M2FNUZ,
                       float8_e8m0fnu = DType::kFloat8E8M0FNU, float4_e2m1fn = DType::kFloat4E2M1FN,
                       float6_e2m3fn = DType::kFloat6E2M3FN, float6_e3m2fn = DType::kFloat6E3M2FN;

// IEEE binary16 and bfloat16 as storage. Arithmetic converts to float, computes there and rounds to
// the nearest, ties to even.
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

// Returns NumPy's name: "float32", "bool", ...
std::string_view dtype_name(DType dtype);
// Returns StableHLO's name: "f32", "i1", "ui8", "complex<f32>", ...
std::string_view mlir_name(DType dtype);
// Returns the dtype of NumPy's name, or throws UserError.
DType dtype_from_name(std::string_view name);
// Returns the dtype of StableHLO's name, or throws UserError.
DType dtype_from_mlir_name(std::string_view name);
int64_t itemsize(DType dtype);  // Returns the bytes of an element.
// Returns the bits of an element: 4 for int4, 1 for bool.
int bit_width(DType dtype);
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
// Returns whether the dtype is only stored and moved. It is computed in wide_dtype().
inline bool is_narrow(DType d) { return static_cast<int>(d) >= kNumDTypes; }
// Returns int8 or uint8 for narrower integers, float32 for narrower floats, and other dtypes
// unchanged.
DType wide_dtype(DType dtype);
// Returns float32 for complex64, float64 for complex128, and other dtypes unchanged.
DType real_dtype(DType dtype);
// Returns the dtype in which sums are kept: float32 for float16 and bfloat16; others are unchanged.
inline DType accumulation_dtype(DType d) { return is_half(d) ? DType::kFloat32 : d; }

std::ostream& operator<<(std::ostream& out, DType dtype);

template <class T>
struct DTypeOf;
template <DType dtype>
struct DTypeIs {
  static constexpr DType value = dtype;
};
template <>
struct DTypeOf<bool> : DTypeIs<bool_> {};
template <>
struct DTypeOf<int8_t> : DTypeIs<int8> {};
template <>
struct DTypeOf<int16_t> : DTypeIs<int16> {};
template <>
struct DTypeOf<int32_t> : DTypeIs<int32> {};
template <>
struct DTypeOf<int64_t> : DTypeIs<int64> {};
template <>
struct DTypeOf<uint8_t> : DTypeIs<uint8> {};
template <>
struct DTypeOf<uint16_t> : DTypeIs<uint16> {};
template <>
struct DTypeOf<uint32_t> : DTypeIs<uint32> {};
template <>
struct DTypeOf<uint64_t> : DTypeIs<uint64> {};
template <>
struct DTypeOf<Float16> : DTypeIs<float16> {};
template <>
struct DTypeOf<Bfloat16> : DTypeIs<bfloat16> {};
template <>
struct DTypeOf<float> : DTypeIs<float32> {};
template <>
struct DTypeOf<double> : DTypeIs<float64> {};
// Matches std::complex. A program includes its header only if it has complex numbers of its own.
template <template <class> class Complex>
requires requires(const Complex<float>& z) { Complex<float>(z.real(), z.imag()); }
struct DTypeOf<Complex<float>> : DTypeIs<complex64> {};
template <template <class> class Complex>
requires requires(const Complex<double>& z) { Complex<double>(z.real(), z.imag()); }
struct DTypeOf<Complex<double>> : DTypeIs<complex128> {};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace tessera
