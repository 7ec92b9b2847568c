// The engine of the devices of PJRT plugins. These devices have memories of their own, and a plugin
// compiles their programs.
#pragma once

#include "tessera/engine/engine.h"

namespace tessera::engine {

// Returns the engine of all clients. It finds the client of an array or a program by its devices.
const Engine& client_engine();

}  // namespace tessera::engine
