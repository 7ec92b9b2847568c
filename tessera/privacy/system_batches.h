// The batches of runs whose plan says RandomSource::kSystem: which key each step's batch is drawn
// with. For trainer_step.h.
//
// Where nothing that is drawn is for more than one step (batch_selection::has_independent_steps),
// each step draws a key, which is gone after it: a run that goes on from a checkpoint, in whichever
// process, draws further keys, and its batches have the law that the accounting assumes.
//
// Else there is a schedule: the groups of a cycle, bins, who waits for how long, which steps an
// example is allocated to. A run that went on with another one would use examples sooner, or more
// often, than is accounted for. So a run has one key, which is kept in the memory of its trainer
// until the last step. The state has the key's name, a word of its stream that tells nothing of the
// others; where that key is not known the run cannot go on.
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
  // processes of a cluster call these functions.
  random::Key begin();
  // The step's examples, in increasing order. UserError as of expect_known.
  batch_selection::Batch examples(const random::Key& run, int64_t step);
  // UserError if the key of this run is not kept here.
  void expect_known(const random::Key& run) const;
  // The run has no further step: its key goes.
  void end(const random::Key& run);

 private:
  batch_selection::BatchSelectionStrategy sampler_;
  std::map<uint64_t, SecretKey> keys_;  // by name
  // Of the run that was asked for last.
  uint64_t last_ = 0;
  std::optional<batch_selection::Batches> batches_;
};

}  // namespace tessera::privacy::internal
