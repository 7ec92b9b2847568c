// The engine of the devices of PJRT plugins. They have memories of their own, and a plugin compiles
// their programs.
#pragma once

#include "tessera/engine/engine.h"

namespace tessera::engine {

// Returns the engine of all clients: arrays and programs find their client by their devices.
const Engine& client_engine();

}  // namespace tessera::engine
