// Counts the floating-point operations of a program, for explain() and for the choice between two
// plans.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::compile {

// Returns the floating-point operations that each device executes for a function of local shapes.
// The body of a loop counts once for each iteration (once if a condition ends the loop). A
// conditional counts as its expected branch or, if there is none, as its most expensive one.
double flops_of(const Function& f);

}  // namespace tessera::compile
