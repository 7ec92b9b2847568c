// Takes expected branches (ops/core/expect.h): the expected branch of a conditional becomes part of
// the enclosing function, and a conditional remains that corrects its results if another branch is
// taken. So the expected branch fuses with the ops around it, and each large result can be used,
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
// The identities take no time (runtime/storage_plan.h). If only some results need a part of f, it
// is computed for these; small results stay together. A conditional stays as it is if the expected
// branch has effects, or a loop that a condition ends, because such a loop may not end if another
// branch should be taken.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

Function take_expected_branches(const Function& function);

}  // namespace tessera::fusion
