// A check for places where an io_callback would be called more often than the program says: in a
// branch that some examples of a vmap take and others do not, in a loop that some examples leave
// before others, and in a checkpoint, which computes its values again. JAX throws errors there as
// well.
#pragma once

#include <string_view>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::control {

// Throws UserError in the name of `op` if f or a function within it has an io_callback: "expected
// `function` without io_callback, since `reason`".
void expect_no_io(std::string_view op, const Function& f, std::string_view function,
                  std::string_view reason);

}  // namespace tessera::control
