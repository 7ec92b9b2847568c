// Where arrays lie that nobody has placed.
#pragma once

#include "tessera/mesh/device.h"

namespace tessera {

// The first device of this process.
const Device& default_device();

}  // namespace tessera
