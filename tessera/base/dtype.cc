#include "tessera/base/dtype.h"

#include <array>
#include <bit>
#include <ostream>

#include "tessera/base/bfloat16_bits.h"
#include "tessera/base/format.h"

namespace tessera {
namespace {

struct Info {
  std::string_view name, mlir;
  int64_t bytes;
  DTypeKind kind;
  int bits = 0;  // if fewer than those of the bytes
};
constexpr std::array<Info, kNumAllDTypes> kInfo = {{
    {"bool", "i1", 1, DTypeKind::kBool, 1},
    {"int8", "i8", 1, DTypeKind::kSigned},
    {"int16", "i16", 2, DTypeKind::kSigned},
    {"int32", "i32", 4, DTypeKind::kSigned},
    {"int64", "i64", 8, DTypeKind::kSigned},
    {"uint8", "ui8", 1, DTypeKind::kUnsigned},
    {"uint16", "ui16", 2, DTypeKind::kUnsigned},
    {"uint32", "ui32", 4, DTypeKind::kUnsigned},
    {"uint64", "ui64", 8, DTypeKind::kUnsigned},
    {"float16", "f16", 2, DTypeKind::kFloat},
    {"bfloat16", "bf16", 2, DTypeKind::kFloat},
    {"float32", "f32", 4, DTypeKind::kFloat},
    {"float64", "f64", 8, DTypeKind::kFloat},
    {"complex64", "complex<f32>", 8, DTypeKind::kComplex},
    {"complex128", "complex<f64>", 16, DTypeKind::kComplex},
    {"int2", "i2", 1, DTypeKind::kSigned, 2},
    {"int4", "i4", 1, DTypeKind::kSigned, 4},
    {"uint2", "ui2", 1, DTypeKind::kUnsigned, 2},
    {"uint4", "ui4", 1, DTypeKind::kUnsigned, 4},
    {"float8_e3m4", "f8E3M4", 1, DTypeKind::kFloat},
    {"float8_e4m3", "f8E4M3", 1, DTypeKind::kFloat},
    {"float8_e4m3b11fnuz", "f8E4M3B11FNUZ", 1, DTypeKind::kFloat},
    {"float8_e4m3fn", "f8E4M3FN", 1, DTypeKind::kFloat},
    {"float8_e4m3fnuz", "f8E4M3FNUZ", 1, DTypeKind::kFloat},
    {"float8_e5m2", "f8E5M2", 1, DTypeKind::kFloat},
    {"float8_e5m2fnuz", "f8E5M2FNUZ", 1, DTypeKind::kFloat},
    {"float8_e8m0fnu", "f8E8M0FNU", 1, DTypeKind::kFloat},
    {"float4_e2m1fn", "f4E2M1FN", 1, DTypeKind::kFloat, 4},
    {"float6_e2m3fn", "f6E2M3FN", 1, DTypeKind::kFloat, 6},
    {"float6_e3m2fn", "f6E3M2FN", 1, DTypeKind::kFloat, 6},
}};
const Info& info(DType dtype) { return kInfo[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }
std::string_view mlir_name(DType dtype) { return info(dtype).mlir; }
int64_t itemsize(DType dtype) { return info(dtype).bytes; }
int bit_width(DType dtype) {
  return info(dtype).bits ? info(dtype).bits : static_cast<int>(8 * info(dtype).bytes);
}
DTypeKind kind(DType dtype) { return info(dtype).kind; }

DType wide_dtype(DType dtype) {
  if (!is_narrow(dtype)) return dtype;
  return is_floating(dtype) ? float32 : is_signed(dtype) ? int8 : uint8;
}

DType real_dtype(DType dtype) {
  if (dtype == complex64) return float32;
  if (dtype == complex128) return float64;
  return dtype;
}

DType dtype_from_name(std::string_view name) {
  for (int i = 0; i < kNumAllDTypes; ++i)
    if (kInfo[i].name == name) return static_cast<DType>(i);
  type_error(
      "dtype",
      "expected one of bool, int2..int64, uint2..uint64, float8_e4m3fn and its kin, float16, "
      "bfloat16, float32, float64, complex64, complex128, got '{}'",
      name);
}

DType dtype_from_mlir_name(std::string_view name) {
  for (int i = 0; i < kNumAllDTypes; ++i)
    if (kInfo[i].mlir == name) return static_cast<DType>(i);
  type_error("dtype", "expected an element type such as f32, i32, ui8 or i1, got '{}'", name);
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype_name(dtype); }

Bfloat16::Bfloat16(float value) : bits(nearest_bfloat16(value).bits) {}
Bfloat16::operator float() const { return widened(*this); }

Float16::Float16(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value), sign = (u >> 16) & 0x8000,
                 magnitude = u & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    bits = static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  } else if (magnitude >= 0x477ff000) {  // rounds to at least 65520: infinity
    bits = static_cast<uint16_t>(sign | 0x7c00);
  } else if (magnitude < 0x38800000) {  // subnormal or zero: let the float adder round at 2^-24
    const float f = std::bit_cast<float>(magnitude) + 0.5f;  // the last bit of 0.5 is 2^-24
    bits =
        static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(f) - std::bit_cast<uint32_t>(0.5f)));
  } else {
    const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
  }
}
Float16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | ((rest & 0x3ff) << 13));
  if (rest < 0x400) {
    const float f = static_cast<float>(rest) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(f));
  }
  return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000));
}

}  // namespace tessera
