// A digest of what a traced function computes. run_identity.cc uses it.
//
// Before: a function of the IR and the arrays that it captured.
// After:  64 hexadecimal digits. Equal ones mean that the functions have the same ops with the same
//         params on values of the same types, rules of custom derivatives included, and captured
//         arrays of the same contents. Meshes and shardings, the lines of source that called the
//         ops, and the numbers that host callbacks have in a process do not count: a run may go on
//         in another process.
#pragma once

#include <string>

#include "tessera/trace/trace.h"

namespace tessera::privacy::internal {

std::string program_digest(const tracing::TracedFunction& traced);

}  // namespace tessera::privacy::internal
