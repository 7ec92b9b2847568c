// The C API between JAX and a plugin (OpenXLA's PJRT), and what its handles are here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "xla/pjrt/c/pjrt_c_api.h"
