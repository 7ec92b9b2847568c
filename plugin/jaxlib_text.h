// The program of a device as jaxlib reads it, which turns its text into HLO: for
// jax.stages.Compiled.as_text, and in old versions for shardings and layouts.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::plugin {

// Returns the same program without the ops that jaxlib has no HLO for. A function of CHLO becomes a
// custom call of its name. An exchange of several arrays (all_to_all) becomes one for each of them.
// Constraints of shardings, which a program for one device still has, are left out. Calls that JAX
// asks XLA to inline early are inlined.
ir::Function without_foreign_ops(const ir::Function& function);

}  // namespace tessera::plugin
