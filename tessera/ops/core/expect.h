// What the index of a branch almost always is (LLVM's llvm.expect). The identity on a scalar; a
// branch that takes it by this has one usual way. The others do not count in costs, and are made
// ready and given memory when they are first taken.
#pragma once

#include <optional>

#include "tessera/ir/function.h"

namespace tessera::ops {

struct ExpectParams {
  int64_t value = 0;
};
extern const OpDef& expect_op;

// The way of a branch, an op of `f`, that is expected; none of other ops.
std::optional<size_t> expected_branch(const Function& f, const Op& op);

}  // namespace tessera::ops
