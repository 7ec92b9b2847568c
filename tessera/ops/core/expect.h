// States what the index of a branch almost always is (LLVM's llvm.expect). The op is the identity
// on a scalar; a branch whose index it is has one expected branch. The others do not count in
// costs, and are compiled and given memory when they are first taken.
#pragma once

#include <optional>

#include "tessera/ir/function.h"

namespace tessera::ops {

struct ExpectParams {
  int64_t value = 0;
};
extern const OpDef& expect_op;

// Returns the expected branch of a branch op of `f`; nothing for other ops.
std::optional<size_t> expected_branch(const Function& f, const Op& op);

}  // namespace tessera::ops
