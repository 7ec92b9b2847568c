// Calls a program through the public functions of tessera.h: at once, or under whatever trace is
// current.
#pragma once

#include "ops.h"

namespace tessera::generate {

Arrays run(const Case& c, const Arrays& args);

// A real scalar of all float and complex values of `results`.
Array loss_of(const Arrays& results);
// The same of literals, in double.
double loss_of(const Literals& results);

// Arguments apart: those to differentiate by, and the others; and together again.
struct Split {
  Arrays inexact, rest;
};
Split split(const Arrays& args);
Arrays joined(const Arrays& inexact, const Arrays& rest, const std::vector<bool>& is_inexact);
std::vector<bool> inexact_inputs(const Case& c);

}  // namespace tessera::generate
