// Whether a program fits the machine. It is asked once, after a program is compiled: a program that
// needs more memory than there is would end the process while it runs, when the system finds that
// it has promised memory which it does not have.
#pragma once

#include <cstdint>

#include "tessera/compile/pipeline.h"

namespace tessera::compile {

// Throws a UserError if a run of the program on devices of this machine needs more than
// `memory_bytes`. It names the largest values of the program and where they are computed. What is
// needed is the temporaries (`arena_bytes`), and the arguments or the results, whichever are
// larger: results may be in the memory of donated arguments. A program of several processes counts
// its temporaries alone.
void check_memory(const Stages& stages, int64_t arena_bytes, int64_t memory_bytes);

}  // namespace tessera::compile
