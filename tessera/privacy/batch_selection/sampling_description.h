// The description of a sampler for accounting: the law of its batches, in numbers. Every sampler of
// strategies.h returns its own, so the accounting is for the batches that are sampled.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::batch_selection {

// How examples are assigned to the groups of a cycle.
enum class PartitionType : uint8_t {
  kIndependent,  // each example draws a group of its own
  // shuffled, then split into groups of one size; the remaining examples are never used
  kEqualSplit,
};

enum class SamplingMethod : uint8_t {
  kPoisson,         // a batch has each example of the step's group with sampling_prob
  kFixedBatchSize,  // a batch has batch_size of all examples
  kBallsInBins,     // a batch has all examples of the step's group
  // A batch has each example with probability sampling_prob, except examples that were in one of
  // the min_sep - 1 batches before.
  kBMinSep,
  kRandomAllocation,  // each example is in steps_per_example of the batches
  kMultiOwnerMinSep,  // public batches, at most steps_per_example of which have a user
};
// Returns "poisson", "fixed_batch_size", ...
const char* name(SamplingMethod method);

struct SamplingDescription {
  SamplingMethod method = SamplingMethod::kPoisson;
  int64_t num_examples = 0;  // the number of users if users are sampled
  int64_t iterations = 0;
  double sampling_prob = 1;  // for kPoisson, kBMinSep
  int64_t cycle_length = 1;  // for kPoisson, kBallsInBins
  int64_t min_sep = 1;       // the least number of steps between two uses of an example
  std::optional<int64_t> truncated_batch_size;
  PartitionType partition = PartitionType::kIndependent;
  int64_t batch_size = 0;         // for kFixedBatchSize, kMultiOwnerMinSep
  bool replace = false;           // for kFixedBatchSize: whether a batch may repeat an example
  bool warm_start = false;        // for kBMinSep: whether sampling began long before
  int64_t steps_per_example = 0;  // for kRandomAllocation; for kMultiOwnerMinSep: of a user
  int64_t examples_per_user = 1;  // the examples_per_user of bound_contributions()
  uint64_t order_hash = 0;        // for kMultiOwnerMinSep: of the batches
  // For kPoisson: steps (above 0, ascending) from which on sampling_prob is another one.
  std::vector<std::pair<int64_t, double>> sampling_prob_changes;

  friend bool operator==(const SamplingDescription&, const SamplingDescription&) = default;
};

// Returns the number of examples in a group of the cycle or, if it is random, its mean, rounded
// down.
int64_t group_size(const SamplingDescription& d);
// Returns the description in which all steps have the sampling_prob of this step.
SamplingDescription at_step(SamplingDescription d, int64_t step);
// Returns the largest number of steps in which an example is used.
int64_t max_participations(const SamplingDescription& d);
// Returns the mean size of a batch, after truncation; for kBMinSep, the mean in the long run. If
// sampling_prob changes, the first one is used.
double expected_batch_size(const SamplingDescription& d);

// Returns whether the law of selecting common examples is the same for neighbouring datasets. If it
// depends on the number of examples (equal groups, fixed or truncated batches), adding or removing
// one changes it. Truncated batches of independent groups support no relation.
bool supports(const SamplingDescription& d, NeighboringRelation relation);
// Throws UserError naming `op`, with the remedy, unless supports(d, relation).
void check_supports(const char* op, const SamplingDescription& d, NeighboringRelation relation);

}  // namespace tessera::privacy::batch_selection
