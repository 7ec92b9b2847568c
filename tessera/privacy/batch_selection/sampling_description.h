// What a sampler is, for accounting: the law of the batches, in numbers. Every sampler of
// strategies.h gives its own, so what is sampled is what is accounted for.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::batch_selection {

// How examples are dealt into the groups of a cycle.
enum class PartitionType : uint8_t {
  kIndependent,  // each draws a group of its own
  kEqualSplit,   // shuffled, then split into groups of one size; what is left over is never used
};

enum class SamplingMethod : uint8_t {
  kPoisson,           // each example of the group whose turn it is, with probability sampling_prob
  kFixedBatchSize,    // batch_size of all examples
  kBallsInBins,       // all examples of the group whose turn it is
  kBMinSep,           // with probability sampling_prob, unless in the min_sep - 1 steps before
  kRandomAllocation,  // each example in steps_per_example of the steps
  kMultiOwnerMinSep,  // batches known beforehand: a user in steps_per_example of them at most
};
// "poisson", "fixed_batch_size", ...
const char* name(SamplingMethod method);

struct SamplingDescription {
  SamplingMethod method = SamplingMethod::kPoisson;
  int64_t num_examples = 0;  // users, where users are sampled
  int64_t iterations = 0;
  double sampling_prob = 1;  // poisson, b-min-sep
  int64_t cycle_length = 1;  // poisson, balls-in-bins
  int64_t min_sep = 1;       // steps between two uses of an example, at least
  std::optional<int64_t> truncated_batch_size;
  PartitionType partition = PartitionType::kIndependent;
  int64_t batch_size = 0;         // fixed_batch_size, multi_owner_min_sep
  bool replace = false;           // fixed_batch_size: the same example several times in a batch
  bool warm_start = false;        // b-min-sep: as if it had run forever
  int64_t steps_per_example = 0;  // random_allocation; multi_owner_min_sep: of a user
  int64_t examples_per_user = 1;  // with which bound_contributions() was called
  uint64_t order_hash = 0;        // multi_owner_min_sep: of the batches
  // poisson: from these steps on (above 0, ascending) another sampling_prob.
  std::vector<std::pair<int64_t, double>> sampling_prob_changes;

  friend bool operator==(const SamplingDescription&, const SamplingDescription&) = default;
};

// Examples of one group of the cycle; those of a random size counted by its mean, rounded down.
int64_t group_size(const SamplingDescription& d);
// With the sampling_prob that holds at a step, for all steps.
SamplingDescription at_step(SamplingDescription d, int64_t step);
// In how many steps an example is used, at most.
int64_t max_participations(const SamplingDescription& d);
// The mean size of a batch, after truncation; of b-min-sep in the long run. Where sampling_prob
// changes, of the first one.
double expected_batch_size(const SamplingDescription& d);

// Whether neighbouring datasets are sampled alike: whether the examples that both have are selected
// by the same law. Where the number of examples enters it (equal groups, fixed or truncated
// batches), adding or removing one changes it. Truncated batches of independent groups fit none.
bool supports(const SamplingDescription& d, NeighboringRelation relation);
// UserError naming `op`, with the remedy, unless supports(d, relation).
void check_supports(const char* op, const SamplingDescription& d, NeighboringRelation relation);

}  // namespace tessera::privacy::batch_selection
