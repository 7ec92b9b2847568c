#include "tessera/engine/c_api/api.h"

#include "tessera/ir/format.h"

namespace tessera::engine {
namespace {

FailureKind kind_of(PJRT_Error_Code code) {
  switch (code) {
    case PJRT_Error_Code_INVALID_ARGUMENT:
    case PJRT_Error_Code_UNIMPLEMENTED:
      return FailureKind::kRefused;
    case PJRT_Error_Code_RESOURCE_EXHAUSTED:
      return FailureKind::kOutOfMemory;
    default:
      return FailureKind::kOther;
  }
}

}  // namespace

void check(const PJRT_Api* api, PJRT_Error* error) {
  if (!error) return;
  auto message = TESSERA_PJRT_ARGS(Error_Message);
  message.error = error;
  api->PJRT_Error_Message(&message);
  auto code = TESSERA_PJRT_ARGS(Error_GetCode);
  code.error = error;
  code.code = PJRT_Error_Code_UNKNOWN;
  // If this function fails, too, its error is ignored.
  if (PJRT_Error* none = api->PJRT_Error_GetCode(&code)) {
    auto destroy = TESSERA_PJRT_ARGS(Error_Destroy);
    destroy.error = none;
    api->PJRT_Error_Destroy(&destroy);
  }
  const Failure failure(kind_of(code.code), std::string(message.message, message.message_size));
  auto destroy = TESSERA_PJRT_ARGS(Error_Destroy);
  destroy.error = error;
  api->PJRT_Error_Destroy(&destroy);
  throw failure;
}

void await(const PJRT_Api* api, PJRT_Event* event) {
  auto args = TESSERA_PJRT_ARGS(Event_Await);
  args.event = event;
  check(api, api->PJRT_Event_Await(&args));
}

PJRT_Buffer_Type buffer_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return PJRT_Buffer_Type_PRED;
    case DType::kInt8:
      return PJRT_Buffer_Type_S8;
    case DType::kInt16:
      return PJRT_Buffer_Type_S16;
    case DType::kInt32:
      return PJRT_Buffer_Type_S32;
    case DType::kInt64:
      return PJRT_Buffer_Type_S64;
    case DType::kUint8:
      return PJRT_Buffer_Type_U8;
    case DType::kUint16:
      return PJRT_Buffer_Type_U16;
    case DType::kUint32:
      return PJRT_Buffer_Type_U32;
    case DType::kUint64:
      return PJRT_Buffer_Type_U64;
    case DType::kFloat16:
      return PJRT_Buffer_Type_F16;
    case DType::kBfloat16:
      return PJRT_Buffer_Type_BF16;
    case DType::kFloat32:
      return PJRT_Buffer_Type_F32;
    case DType::kFloat64:
      return PJRT_Buffer_Type_F64;
    case DType::kComplex64:
      return PJRT_Buffer_Type_C64;
    case DType::kComplex128:
      return PJRT_Buffer_Type_C128;
    case DType::kInt2:
      return PJRT_Buffer_Type_S2;
    case DType::kInt4:
      return PJRT_Buffer_Type_S4;
    case DType::kUint2:
      return PJRT_Buffer_Type_U2;
    case DType::kUint4:
      return PJRT_Buffer_Type_U4;
    case DType::kFloat8E3M4:
      return PJRT_Buffer_Type_F8E3M4;
    case DType::kFloat8E4M3:
      return PJRT_Buffer_Type_F8E4M3;
    case DType::kFloat8E4M3B11FNUZ:
      return PJRT_Buffer_Type_F8E4M3B11FNUZ;
    case DType::kFloat8E4M3FN:
      return PJRT_Buffer_Type_F8E4M3FN;
    case DType::kFloat8E4M3FNUZ:
      return PJRT_Buffer_Type_F8E4M3FNUZ;
    case DType::kFloat8E5M2:
      return PJRT_Buffer_Type_F8E5M2;
    case DType::kFloat8E5M2FNUZ:
      return PJRT_Buffer_Type_F8E5M2FNUZ;
    case DType::kFloat8E8M0FNU:
      return PJRT_Buffer_Type_F8E8M0FNU;
    case DType::kFloat4E2M1FN:
      return PJRT_Buffer_Type_F4E2M1FN;
    case DType::kFloat6E2M3FN:
    case DType::kFloat6E3M2FN:
      break;
  }
  return PJRT_Buffer_Type_INVALID;
}

}  // namespace tessera::engine
