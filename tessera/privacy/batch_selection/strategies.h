// Samplers decide which examples take part in which step of private training. They are plain values
// with the names and laws of jax_privacy.batch_selection.
//
//   batch_selection::CyclicPoissonSampling sampler{
//       .num_examples = 60000, .sampling_prob = 256.0 / 60000, .iterations = 14062};
//   for (const auto& batch : sampler.batches(random::key(0))) ...  // indices, increasing
//   sampler.batch(random::key(0), 5000)                            // those of one step
//   sampler.description()                                          // for the accountant
//
// A batch is a function of key and step, the same on every machine, so a run can resume from its
// step count. Probabilities are exact: every draw compares as many random bits as are needed. A
// batch may be empty. The examples of a batch are as secret as the data: a key of 64 bits is for
// runs that can be repeated, SamplingKey::of_system() for those that must not be.
//
// Every method throws UserError (kValue) if an option is outside its range, if a step is outside
// [0, iterations), and if the key is traced or an array of keys.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/privacy/batch_selection/batch_range.h"
#include "tessera/privacy/batch_selection/multi_owner.h"
#include "tessera/privacy/batch_selection/sampling_description.h"
#include "tessera/privacy/batch_selection/sampling_key.h"

namespace tessera::privacy::batch_selection {

// Poisson sampling (Abadi et al., arXiv 1607.00133). With a cycle_length above 1 the examples are
// split into as many groups once, and step i samples from group i mod cycle_length (Choquette-Choo
// et al., arXiv 2306.08153). A batch above truncated_batch_size keeps that many examples, chosen at
// random (Chua et al., arXiv 2411.04205).
struct CyclicPoissonSampling {
  int64_t num_examples = 0;
  double sampling_prob = 1;  // of an example in the steps of its group
  int64_t iterations = 0;
  std::optional<int64_t> truncated_batch_size = std::nullopt;
  int64_t cycle_length = 1;
  PartitionType partition = PartitionType::kEqualSplit;
  // Steps (above 0, ascending) from which on sampling_prob is another one, for example {{1000,
  // 0.02}, {2000, 0.04}}.
  std::vector<std::pair<int64_t, double>> sampling_prob_changes = {};

  SamplingDescription description() const;
  Batches batches(const SamplingKey& key, int64_t first_step = 0) const;
  Batch batch(const SamplingKey& key, int64_t step) const;
};

// Each batch has batch_size of the examples, and every choice of them is equally likely (Balle et
// al., arXiv 1807.01647). With `replace` an example may be several times in a batch.
struct FixedBatchSampling {
  int64_t num_examples = 0;
  int64_t batch_size = 0;
  int64_t iterations = 0;
  bool replace = false;

  SamplingDescription description() const;
  Batches batches(const SamplingKey& key, int64_t first_step = 0) const;
  Batch batch(const SamplingKey& key, int64_t step) const;
};

// Each example draws one of cycle_length bins, and is in all batches of that bin: step i has the
// examples of bin i mod cycle_length (Chua et al., arXiv 2412.16802; Choquette-Choo et al., arXiv
// 2410.06266).
struct BallsInBinsSampling {
  int64_t num_examples = 0;
  int64_t iterations = 0;
  int64_t cycle_length = 1;

  SamplingDescription description() const;
  Batches batches(const SamplingKey& key, int64_t first_step = 0) const;
  Batch batch(const SamplingKey& key, int64_t step) const;
};

// Poisson sampling from the examples that were not sampled in the min_sep - 1 steps before (arXiv
// 2602.09338). The mean batch is num_examples / (min_sep - 1 + 1 / sampling_prob). With warm_start
// the first steps have the same law as all others; otherwise all examples may be sampled in the
// first step. Examples that truncation drops wait as if they had been used, so that examples remain
// independent.
struct BMinSepSampling {
  int64_t num_examples = 0;
  double sampling_prob = 1;
  int64_t iterations = 0;
  int64_t min_sep = 1;
  bool warm_start = true;
  std::optional<int64_t> truncated_batch_size = std::nullopt;

  SamplingDescription description() const;
  Batches batches(const SamplingKey& key, int64_t first_step = 0) const;
  Batch batch(const SamplingKey& key, int64_t step) const;
};

// Each example is in exactly steps_per_example of the steps. Every choice of these is equally
// likely, and examples are independent (Feldman and Shenfeld, "Privacy amplification by random
// allocation", arXiv 2502.08202). The mean batch is num_examples * steps_per_example / iterations.
struct RandomAllocationSampling {
  int64_t num_examples = 0;
  int64_t iterations = 0;
  int64_t steps_per_example = 1;

  SamplingDescription description() const;
  Batches batches(const SamplingKey& key, int64_t first_step = 0) const;
  Batch batch(const SamplingKey& key, int64_t step) const;
};

using BatchSelectionStrategy =
    std::variant<CyclicPoissonSampling, FixedBatchSampling, BallsInBinsSampling, BMinSepSampling,
                 RandomAllocationSampling, MultiOwnerMinSepSampling>;

SamplingDescription description(const BatchSelectionStrategy& strategy);
Batches batches(const BatchSelectionStrategy& strategy, const SamplingKey& key,
                int64_t first_step = 0);

// Returns whether each step's batch may be drawn with a key of its own, because nothing that is
// drawn concerns more than one step: true for Poisson sampling without a cycle or separation, for
// batches of a fixed size, and for MultiOwnerMinSepSampling, which draws nothing. The others have a
// schedule (groups, bins, waiting times), and the accounting assumes one schedule for the whole
// run.
bool has_independent_steps(const BatchSelectionStrategy& strategy);

}  // namespace tessera::privacy::batch_selection
