// The batches of runs with RandomSource::kSystem: which key draws each step's batch. For
// trainer_step.h.
//
// If nothing that is drawn is for more than one step (batch_selection::has_independent_steps), each
// step draws a key, which is dropped after it. A run that continues from a checkpoint, in whichever
// process, draws new keys, and its batches have the distribution that the accounting assumes.
//
// Otherwise there is a schedule: the groups of a cycle, bins, how long examples wait, the steps
// that an example is allocated to. If a run continued with another schedule, it would use examples
// sooner, or more often, than the accounting assumes. So a run has one key, which stays in the
// memory of its trainer until the last step. The state contains the key's name, a word of its
// stream that reveals nothing about the others; if that key is not known the run cannot continue.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "tessera/privacy/batch_selection/strategies.h"
#include "tessera/privacy/secret_key.h"
#include "tessera/random/key.h"

namespace tessera::privacy::internal {

class SystemBatches {
 public:
  explicit SystemBatches(batch_selection::BatchSelectionStrategy sampler)
      : sampler_(std::move(sampler)) {}

  bool has_schedule() const { return !batch_selection::has_independent_steps(sampler_); }

  // Returns the name of a new run, whose key is kept: two words; zeros without a schedule. All
  // processes of a cluster must call these functions.
  random::Key begin();
  // Returns the step's examples, in increasing order. Throws the UserError of expect_known.
  batch_selection::Batch examples(const random::Key& run, int64_t step);
  // Throws UserError if the key of this run is not kept here.
  void expect_known(const random::Key& run) const;
  // The run has no further step, so its key is dropped.
  void end(const random::Key& run);

 private:
  batch_selection::BatchSelectionStrategy sampler_;
  std::map<uint64_t, SecretKey> keys_;  // by name
  // The run of the last call.
  uint64_t last_ = 0;
  std::optional<batch_selection::Batches> batches_;
};

}  // namespace tessera::privacy::internal
