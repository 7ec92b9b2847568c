// What a program computes, for explain() and for the choice between two plans.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::compile {

// Floating-point operations of a function of local shapes, on each device. A loop counts as often as it
// runs (one trip where a condition decides), of branches the most expensive one, or the usual one.
double flops_of(const Function& f);

}  // namespace tessera::compile
