// The engine of emulated devices. These devices share the memory and the threads of this process,
// and run schedules of machine code (runtime/program.h).
#pragma once

#include "tessera/engine/engine.h"

namespace tessera::engine {

const Engine& native_engine();

}  // namespace tessera::engine
