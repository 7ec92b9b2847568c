// Branches with a usual way (ops/core/expect.h): that way becomes part of the function around it, and
// what is left is a branch that puts right what it computed, where another way is taken. So the
// usual way fuses with what is around it, and each large result can be used, and its memory used
// again, before the next one is computed.
//
//   a, b = case(expect(i, 1), {f, g})(x)    f, g: the ways
//
// becomes
//
//   a, b = g(x)
//   a = case(i, {f's first result, identity})(x, a)
//   b = case(i, {f's second result, identity})(x, b)
//
// where the identities take no time (runtime/storage_plan.h). What only some results need of f is
// computed for these; small results stay together. Left as they are: ways with effects, and with
// loops that a condition ends, which may not end where the way was not meant to be taken.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::fusion {

Function take_expected_branches(const Function& function);

}  // namespace tessera::fusion
