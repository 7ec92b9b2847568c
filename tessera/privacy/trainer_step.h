// The parts of a step of privacy::Trainer (trainer.h) that do not depend on types: which batch, of
// which size, and its report.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/io/file_path.h"
#include "tessera/optim/transformation.h"
#include "tessera/privacy/batch_selection/batch_range.h"
#include "tessera/privacy/plan.h"
#include "tessera/privacy/system_batches.h"

namespace tessera::privacy {

struct TrainerOptions {
  // See ClipOptions: whether the loss gets an example as a batch of one; examples at a time; how a
  // mesh shards the examples.
  bool keep_batch_dim = true;
  std::optional<int64_t> microbatch_size = std::nullopt;
  SpmdAxisName spmd_axis_name = {};
  Indivisible indivisible = Indivisible::kHoist;
  // Batches are padded to multiples of it, not below the mean one, since each size has a program of
  // its own. Absent: two standard deviations of a Poisson batch, for three or four programs; with a
  // microbatch_size a multiple of that.
  std::optional<int64_t> padding_multiple = std::nullopt;
  // In place of a microbatch_size: chooses the largest with which the temporaries of a step
  // (Lowered::cost().arena_bytes) are no more than this.
  std::optional<int64_t> memory_budget_bytes = std::nullopt;
  // In place of both: a budget of half of the memory that is available when a size of batch first
  // occurs, so a run that continues on another machine may add up in another order. For devices of
  // a plugin give memory_budget_bytes.
  bool automatic_microbatch_size = false;
  // If set, a step does not compare the contents of the data with those that the state has begun
  // with: for data that are made anew at each step (random augmentations of the same examples). It
  // gives up that a run which continues with the data of other examples is refused.
  bool unchecked_data_contents = false;
  // The loss may capture arrays as long as all the data: they are no data, and every example sees
  // all of them. Otherwise such an array is an error.
  bool shared_captures = false;
};

// What a step saw: loss and norms before clipping, by example. These are about the examples
// themselves, without noise, and not covered by the guarantee: they are for people who may see the
// data.
struct StepReport {
  int64_t step = 0;        // the number of steps that are done, including this one
  int64_t examples = 0;    // 0: an empty batch, which is a step of noise alone
  int64_t non_finite = 0;  // of the examples; they are left out of what follows
  double loss = 0;         // means; NaN without examples
  double mean_norm = 0, max_norm = 0;
  double clipped = 0;    // the share whose norm was above the clip norm
  double clip_norm = 0;  // of this step
};

// How often the batch of a step is padded to a size.
struct BatchSize {
  int64_t size = 0;
  double probability = 0;  // of a step, averaged over the steps of the plan
};

namespace internal {

// The number of rows of a state's history: one for each step, at most this. In longer runs each row
// is the last step of several, so that a state has the same shapes under every plan.
constexpr int64_t kHistoryRows = 512;
constexpr int64_t kHistoryColumns = 8;  // the members of StepReport, in their order
int64_t history_stride(int64_t steps);

// The examples of a step, padded.
struct StepBatch {
  Array indices;  // int32 [size]; for padding the index is that of the last example
  Array places;   // int32 [size]: the positions in the rows that a source returns
  Array padding;  // bool [size]
};

class StepBatches {
 public:
  StepBatches(const Plan& plan, const TrainerOptions& options);

  // Returns the state's key of batches when a run begins: the given one, or with
  // RandomSource::kSystem the name of one that is kept here (system_batches.h).
  random::Key begin(const random::Key& key);
  // Returns the step's examples, in increasing order.
  batch_selection::Batch examples(const random::Key& key, int64_t step);
  // Throws UserError if a state with this key cannot continue here.
  void expect_known(const random::Key& key) const;
  // The run with this key is finished.
  void end(const random::Key& key);
  // Returns the size to which a batch of so many examples is padded.
  int64_t padded_size(int64_t examples) const;
  StepBatch padded(const batch_selection::Batch& examples, int64_t microbatch, int64_t size) const;

  // Returns the indices that a source is called with: the examples, then 0 for padding.
  static std::vector<int64_t> source_indices(const batch_selection::Batch& examples, int64_t size);
  // Returns the padded sizes of the plan's batches, ascending, except those that no step of the
  // plan has with a probability of more than 1e-6.
  std::vector<BatchSize> sizes(const Plan& plan) const;

  // Returns the microbatch for a size of batch (0: all of it), computed once by `arena_bytes` of a
  // step.
  int64_t microbatch(int64_t size, const std::function<int64_t(int64_t microbatch)>& arena_bytes);

 private:
  batch_selection::BatchSelectionStrategy sampler_;
  std::optional<SystemBatches> system_;  // with RandomSource::kSystem
  TrainerOptions options_;
  int64_t multiple_, least_;
  std::vector<uint32_t> key_;  // of batches_
  std::optional<batch_selection::Batches> batches_;
  std::map<int64_t, int64_t> microbatches_;
};

// The factors of a step under a plan with schedules: the sum is multiplied by `before`, then noise
// is added, then it is multiplied by `after`. The clip norm of the step is `clip` times the plan's,
// and its expected batch size is the plan's over `batch_factor`.
struct StepFactors {
  Array before, after, clip, batch_factor;  // float32
};
bool is_scheduled(const Plan& plan);
StepFactors factors_of(const Plan& plan, int64_t step);

// Throws UserError unless every leaf has an example for each that the sampler draws from.
void expect_examples(const Plan& plan, const std::vector<Array>& leaves);

// The inputs of a step's program besides the state and the data.
struct StepInput {
  StepBatch batch;
  StepFactors factors;
  Array program, contents;  // uint32 [8]: run_identity.h
};

// Returns the number of steps that are done. Throws UserError unless the plan has one left.
int64_t expect_next_step(const Plan& plan, const Array& step);

// Returns the options with clip norms that are multiplied by the factor, an Array.
ClipOptions with_clip_factor(ClipOptions options, const Array& factor);

// Throws UserError if the plan has subtree_norms or an adaptive clip norm, which are for gradients
// that are not transformed.
void expect_plan_for_transforms(const Plan& plan);
// Throws UserError if an array is on devices of a plugin, whose memory is not known here.
void expect_known_memory(const TrainerOptions& options, const std::vector<Array>& leaves);

// Writes the leaves as a safetensors file, with their paths as names; returns their number.
int64_t write_parameters(const FilePath& path, const optim::LeafList& parameters);

// Used inside the step's program. Returns the rows, [size, ...] of any dtype, with 0 in those that
// are padding.
Array clear_rows(const Array& rows, const Array& padding);
// Returns [kHistoryColumns] of float32.
Array metrics(const Array& step, const Array& values, const Array& norms, const Array& padding,
              const Array& clip_norm);
Array with_row(const Array& history, const Array& row, const Array& step, int64_t stride);
Array empty_history();
StepReport report_of(const Array& row);

}  // namespace internal

// Returns one line for people: "loss 0.4312, norm 2.31 (at most 9.80; 87% above 1), 251 examples".
std::string to_string(const StepReport& report);

}  // namespace tessera::privacy
