// The description of a sampler for accounting: the law of its batches, in numbers. Every sampler of
// strategies.h returns its own, so what is sampled is what is accounted for.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::batch_selection {

// How examples are assigned to the groups of a cycle.
enum class PartitionType : uint8_t {
  kIndependent,  // each draws a group of its own
  // shuffled, then split into groups of one size; the remaining examples are never used
  kEqualSplit,
};

enum class SamplingMethod : uint8_t {
  kPoisson,         // each example of the step's group, with probability sampling_prob
  kFixedBatchSize,  // batch_size of all examples
  kBallsInBins,     // all examples of the step's group
  // With probability sampling_prob, unless it was in one of the min_sep - 1 steps before.
  kBMinSep,
  kRandomAllocation,  // each example in steps_per_example of the steps
  kMultiOwnerMinSep,  // batches known beforehand: a user in steps_per_example of them at most
};
// Returns "poisson", "fixed_batch_size", ...
const char* name(SamplingMethod method);

struct SamplingDescription {
  SamplingMethod method = SamplingMethod::kPoisson;
  int64_t num_examples = 0;  // users, where users are sampled
  int64_t iterations = 0;
  double sampling_prob = 1;  // poisson, b-min-sep
  int64_t cycle_length = 1;  // poisson, balls-in-bins
  int64_t min_sep = 1;       // the least number of steps between two uses of an example
  std::optional<int64_t> truncated_batch_size;
  PartitionType partition = PartitionType::kIndependent;
  int64_t batch_size = 0;         // fixed_batch_size, multi_owner_min_sep
  bool replace = false;           // fixed_batch_size: the same example several times in a batch
  bool warm_start = false;        // b-min-sep: as if it had run forever
  int64_t steps_per_example = 0;  // random_allocation; multi_owner_min_sep: of a user
  int64_t examples_per_user = 1;  // the examples_per_user of bound_contributions()
  uint64_t order_hash = 0;        // multi_owner_min_sep: of the batches
  // poisson: from each of these steps on (above 0, ascending) another sampling_prob.
  std::vector<std::pair<int64_t, double>> sampling_prob_changes;

  friend bool operator==(const SamplingDescription&, const SamplingDescription&) = default;
};

// Returns the number of examples in a group of the cycle; if it is random, its mean, rounded down.
int64_t group_size(const SamplingDescription& d);
// Returns the description with the sampling_prob of a step for all steps.
SamplingDescription at_step(SamplingDescription d, int64_t step);
// Returns in how many steps an example is used, at most.
int64_t max_participations(const SamplingDescription& d);
// Returns the mean size of a batch, after truncation; for b-min-sep that in the long run. If
// sampling_prob changes, it is that of the first one.
double expected_batch_size(const SamplingDescription& d);

// Returns whether neighbouring datasets are sampled by the same law: whether the law of selecting
// their common examples is the same. If it depends on the number of examples (equal groups, fixed
// or truncated batches), adding or removing one changes it. Truncated batches of independent groups
// support no relation.
bool supports(const SamplingDescription& d, NeighboringRelation relation);
// Throws UserError naming `op`, with the remedy, unless supports(d, relation).
void check_supports(const char* op, const SamplingDescription& d, NeighboringRelation relation);

}  // namespace tessera::privacy::batch_selection
