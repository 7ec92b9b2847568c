// CommBudget: what a program may communicate. A program over its budget is an error when it is
// compiled, which names the op that communicates, where it was called, and why.
//
//   const CommBudget budget{.bytes_per_device = 4 << 20, .forbid = {"all_gather"}};
//   auto step = jit(train_step, {.comm_budget = budget});
//   expect_within(budget, jit(f).lower(x).collectives());      // in tests
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/spmd/partition.h"

namespace tessera {

struct CommBudget {
  // Sent by one device in one run, all collectives together. Loops of unknown length count once.
  std::optional<int64_t> bytes_per_device = std::nullopt;
  // Collectives that may not occur, by StableHLO's names: all_gather, all_reduce, reduce_scatter,
  // all_to_all, collective_permute, collective_broadcast.
  std::vector<std::string> forbid = {};
};

// UserError where the collectives break the budget, naming the first forbidden one or, of too many
// bytes, the largest. UserError for a name in `forbid` that no collective has.
void expect_within(const CommBudget& budget, std::span<const Collective> collectives);

}  // namespace tessera
