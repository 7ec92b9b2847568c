// The C API between JAX and a plugin (OpenXLA's PJRT), and the types of the plugin's handles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "xla/pjrt/c/pjrt_c_api.h"
