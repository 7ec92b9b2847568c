// The batches of runs with RandomSource::kSystem, and the keys that draw them. trainer_step.h uses
// it.
//
// If every draw concerns one step only (batch_selection::has_independent_steps), each step draws a
// key, which is dropped afterwards. A run that continues from a checkpoint, in whichever process,
// draws new keys, and its batches have the distribution that the accounting assumes.
//
// Otherwise there is a schedule: the groups of a cycle, the bins, the waiting times of examples, or
// the steps to which an example is allocated. If a run continued with another schedule, it would
// use examples sooner, or more often, than the accounting assumes. So a run has one key, which
// stays in the memory of its trainer until the last step. The state contains the name of the key: a
// word of its stream, which reveals nothing about the other words. If the trainer does not have
// this key, the run cannot continue.
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

  // Draws and keeps the key of a new run. Returns its name, two words, which are zeros if there is
  // no schedule. All processes of a cluster must call these functions.
  random::Key begin();
  // Returns the step's examples, in increasing order. Throws the UserError of expect_known.
  batch_selection::Batch examples(const random::Key& run, int64_t step);
  // Throws UserError if this object does not have the key of the run.
  void expect_known(const random::Key& run) const;
  // Drops the key of a run that has no further step.
  void end(const random::Key& run);

 private:
  batch_selection::BatchSelectionStrategy sampler_;
  std::map<uint64_t, SecretKey> keys_;  // by their names
  // The name of the run of the last call.
  uint64_t last_ = 0;
  std::optional<batch_selection::Batches> batches_;
};

}  // namespace tessera::privacy::internal
