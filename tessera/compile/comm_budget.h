// CommBudget: limits of a program's communication. Compiling a program over its budget is an error
// that names the op that communicates, where it was called, and why.
//
//   const CommBudget budget{.bytes_per_device = 4 << 20, .forbid = {"all_gather"}};
//   auto step = jit(train_step, {.comm_budget = budget});
//   expect_within(budget, jit(f).lower(x).collectives());      // in tests
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/spmd/collective.h"

namespace tessera {

struct CommBudget {
  // The most bytes that one device may send in one run, for all collectives together. The body of a
  // loop of unknown length is counted once.
  std::optional<int64_t> bytes_per_device = std::nullopt;
  // Collectives that are forbidden, by StableHLO's names: all_gather, all_reduce, reduce_scatter,
  // all_to_all, collective_permute, collective_broadcast.
  std::vector<std::string> forbid = {};
};

// Throws UserError if the collectives exceed the budget. The error names the first forbidden
// collective or, if there are too many bytes, the largest. Also throws UserError if `forbid` has a
// name that is no collective's.
void expect_within(const CommBudget& budget, std::span<const Collective> collectives);

}  // namespace tessera
