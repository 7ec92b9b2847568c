// Makes a random program from a seed. The same seed makes the same program on every machine.
#pragma once

#include "program.h"

namespace tessera::generate {

Case make_case(uint32_t seed);

}  // namespace tessera::generate
