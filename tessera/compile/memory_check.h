// Checks whether a program fits the machine's memory, once, after it is compiled. The system grants
// more memory than the machine has, and ends a process that then uses it.
#pragma once

#include <cstdint>

#include "tessera/compile/pipeline.h"

namespace tessera::compile {

// Throws a UserError if a run of the program on devices of this machine needs more than
// `memory_bytes`. The error names the largest values of the program and where they are computed. A
// run needs the temporaries (`arena_bytes`), and the larger one of the arguments and the results,
// because results may take the memory of donated arguments. For a program of several processes only
// its temporaries count.
void check_memory(const Stages& stages, int64_t arena_bytes, int64_t memory_bytes);

}  // namespace tessera::compile
