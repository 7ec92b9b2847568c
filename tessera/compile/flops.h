// The number of operations of a program, for explain() and for the choice between two plans.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::compile {

// Returns the floating-point operations of a function of local shapes, on each device. A loop
// counts as often as it runs (one trip if a condition decides); of the branches of a conditional
// the most expensive one counts, or the expected one.
double flops_of(const Function& f);

}  // namespace tessera::compile
