// Applies the body of a fold, a pointwise function of scalars, to arrays of one shape element by
// element.
#pragma once

#include <span>
#include <vector>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// Returns the body's results for these arguments.
std::vector<Array> apply_body(const Function& body, std::span<const Array> args);

// Returns the body's results and their tangents; undefined tangents are zero. Throws UserError in
// the name of `op` if the body has an operation that is not pointwise or has no derivative.
JvpResult jvp_body(std::string_view op, const Function& body, std::span<const Array> args,
                   std::span<const Array> tangents);

}  // namespace tessera::ops
