#include "tessera/ffi/c_api/data_types.h"

#include "tessera/base/format.h"

namespace tessera::ffi {

XLA_FFI_DataType to_ffi(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return XLA_FFI_DataType_PRED;
    case DType::kInt8:
      return XLA_FFI_DataType_S8;
    case DType::kInt16:
      return XLA_FFI_DataType_S16;
    case DType::kInt32:
      return XLA_FFI_DataType_S32;
    case DType::kInt64:
      return XLA_FFI_DataType_S64;
    case DType::kUint8:
      return XLA_FFI_DataType_U8;
    case DType::kUint16:
      return XLA_FFI_DataType_U16;
    case DType::kUint32:
      return XLA_FFI_DataType_U32;
    case DType::kUint64:
      return XLA_FFI_DataType_U64;
    case DType::kFloat16:
      return XLA_FFI_DataType_F16;
    case DType::kBfloat16:
      return XLA_FFI_DataType_BF16;
    case DType::kFloat32:
      return XLA_FFI_DataType_F32;
    case DType::kFloat64:
      return XLA_FFI_DataType_F64;
    case DType::kComplex64:
      return XLA_FFI_DataType_C64;
    case DType::kComplex128:
      return XLA_FFI_DataType_C128;
    case DType::kInt2:
      return XLA_FFI_DataType_S2;
    case DType::kInt4:
      return XLA_FFI_DataType_S4;
    case DType::kUint2:
      return XLA_FFI_DataType_U2;
    case DType::kUint4:
      return XLA_FFI_DataType_U4;
    case DType::kFloat8E3M4:
      return XLA_FFI_DataType_F8E3M4;
    case DType::kFloat8E4M3:
      return XLA_FFI_DataType_F8E4M3;
    case DType::kFloat8E4M3B11FNUZ:
      return XLA_FFI_DataType_F8E4M3B11FNUZ;
    case DType::kFloat8E4M3FN:
      return XLA_FFI_DataType_F8E4M3FN;
    case DType::kFloat8E4M3FNUZ:
      return XLA_FFI_DataType_F8E4M3FNUZ;
    case DType::kFloat8E5M2:
      return XLA_FFI_DataType_F8E5M2;
    case DType::kFloat8E5M2FNUZ:
      return XLA_FFI_DataType_F8E5M2FNUZ;
    case DType::kFloat8E8M0FNU:
      return XLA_FFI_DataType_F8E8M0FNU;
    case DType::kFloat4E2M1FN:
      return XLA_FFI_DataType_F4E2M1FN;
    case DType::kFloat6E2M3FN:
    case DType::kFloat6E3M2FN:
      break;
  }
  type_error("ffi_call",
             "expected operands, results and attributes of a dtype that XLA's FFI has, got {}; "
             "convert it before the call",
             dtype_name(dtype));
}

}  // namespace tessera::ffi
