// Conversion of dtypes to the numbers of XLA's FFI, which are those of xla::PrimitiveType.
#pragma once

#include "tessera/base/dtype.h"
#include "xla/ffi/api/c_api.h"

namespace tessera::ffi {

XLA_FFI_DataType to_ffi(DType dtype);

}  // namespace tessera::ffi
