// Conditionals with an expected branch (ops/core/expect.h): that branch becomes part of the
// enclosing function, and what is left is a conditional that corrects its results if another branch
// is taken. So the expected branch fuses with the ops around it, and each large result can be used,
// and its memory reused, before the next one is computed.
//
//   a, b = case(expect(i, 1), {f, g})(x)    f, g: the branches
//
// becomes
//
//   a, b = g(x)
//   a = case(i, {f's first result, identity})(x, a)
//   b = case(i, {f's second result, identity})(x, b)
//
// The identities take no time (runtime/storage_plan.h). What only some results need of f is
// computed for these; small results stay together. Conditionals stay as they are if the expected
// branch has effects, or loops that a condition ends, which may not end if another branch should be
// taken.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

Function take_expected_branches(const Function& function);

}  // namespace tessera::fusion
