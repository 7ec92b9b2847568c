// callback_params: makes the params of a call of a host function (host_callback.h). It is for code
// that adds such a call to a function itself, without a user's callable.
#pragma once

#include <vector>

#include "tessera/ir/function.h"

namespace tessera::ops {

// Returns the params of a pure_callback_op or an io_callback_op that calls host function number
// `function` and has results of these types.
ir::OpParams callback_params(int64_t function, const std::vector<ir::Type>& results);

}  // namespace tessera::ops
