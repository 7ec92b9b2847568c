// Runs a program through the public functions of tessera.h: eagerly, or under the current trace.
#pragma once

#include "ops.h"

namespace tessera::generate {

Arrays run(const Case& c, const Arrays& args);

// Returns a real scalar that depends on all float and complex values of `results`.
Array loss_of(const Arrays& results);
// Returns the same for literals, in double.
double loss_of(const Literals& results);

// split() separates the arguments to differentiate by from the others; joined() combines them
// again.
struct Split {
  Arrays inexact, rest;
};
Split split(const Arrays& args);
Arrays joined(const Arrays& inexact, const Arrays& rest, const std::vector<bool>& is_inexact);
std::vector<bool> inexact_inputs(const Case& c);

}  // namespace tessera::generate
