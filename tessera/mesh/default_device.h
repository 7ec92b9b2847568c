// The device on which an array is if the user chose none.
#pragma once

#include "tessera/mesh/device.h"

namespace tessera {

// Returns the first device of this process.
const Device& default_device();

}  // namespace tessera
