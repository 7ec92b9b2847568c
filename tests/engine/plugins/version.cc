// A plugin of another version of the C API: TESSERA_MAJOR.TESSERA_MINOR, with a table of
// TESSERA_SIZE bytes.
#include "xla/pjrt/c/pjrt_c_api.h"

extern "C" const PJRT_Api* GetPjrtApi() {
  static PJRT_Api api{};
  api.struct_size = TESSERA_SIZE;
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = TESSERA_MAJOR;
  api.pjrt_api_version.minor_version = TESSERA_MINOR;
  return &api;
}
