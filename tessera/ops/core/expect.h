// expect: the identity on an integer scalar that almost always has one value (LLVM's llvm.expect).
// A conditional whose index is its result has one expected branch. The other branches do not count
// in costs, are compiled when they are first taken, and have memory only while they run.
#pragma once

#include <optional>

#include "tessera/ir/function.h"

namespace tessera::ops {

struct ExpectParams {
  int64_t value = 0;
};
extern const OpDef& expect_op;

// Returns the position of the expected branch if `op` is a conditional of `f` that has one;
// otherwise nullopt.
std::optional<size_t> expected_branch(const Function& f, const Op& op);

}  // namespace tessera::ops
