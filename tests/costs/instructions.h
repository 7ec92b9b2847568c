// Instructions that this process executes, as Valgrind's tool Callgrind counts them: the work of a
// compiler that does not allocate, the same under every load. scripts/costs runs the program under
// it; TESSERA_CALLGRIND is the name of Callgrind's output file.
#pragma once

namespace tessera::costs {

// Returns whether instructions are counted, because this process runs under Callgrind, and
// Valgrind's headers were there when it was built.
bool counts_instructions();
// Counts from zero from now on.
void start_counting_instructions();
// Returns the instructions since the start, 0 if they are not counted. Throws std::runtime_error if
// Callgrind's file cannot be read.
double instructions_since_start();

}  // namespace tessera::costs
