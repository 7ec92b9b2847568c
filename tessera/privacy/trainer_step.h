// What a step of privacy::Trainer (trainer.h) is made of that does not depend on types: which
// batch, of which size, and what is told about it. For trainer.h.
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
  // As ClipOptions: the loss sees an example as a batch of one; examples at a time; how a mesh cuts
  // the examples.
  bool keep_batch_dim = true;
  std::optional<int64_t> microbatch_size = std::nullopt;
  SpmdAxisName spmd_axis_name = {};
  Indivisible indivisible = Indivisible::kHoist;
  // Batches are padded to multiples of it, not below the mean one: a program is compiled for each
  // size. Absent: two standard deviations of a Poisson batch, for three programs or four; with a
  // microbatch_size a multiple of it.
  std::optional<int64_t> padding_multiple = std::nullopt;
  // In place of a microbatch_size: the largest with which the temporaries of a step
  // (Lowered::cost().arena_bytes) are no more than this.
  std::optional<int64_t> memory_budget_bytes = std::nullopt;
  // In place of both: a budget of half of the memory that is available when a size of batch is first
  // met, so a run that goes on on another machine may add up in another order. On devices of a plugin
  // say memory_budget_bytes.
  bool automatic_microbatch_size = false;
  // A step then does not compare the contents of the data with those that the state has begun with:
  // for data that are made anew at each step (random augmentations of the same examples). What is
  // given up: that a run which goes on with the data of other examples is refused.
  bool unchecked_data_contents = false;
  // The loss may capture arrays as long as all the data: they are no data, and every example sees all
  // of them. Without this such an array is an error.
  bool shared_captures = false;
};

// What a step saw: loss and norms before clipping, by example. These are of the examples themselves,
// without noise, and not covered by the guarantee: for those who may see the data.
struct StepReport {
  int64_t step = 0;        // how many are done, this one included
  int64_t examples = 0;    // 0: an empty batch, which is a step of noise alone
  int64_t non_finite = 0;  // of them; they are left out of what follows
  double loss = 0;         // means; NaN without examples
  double mean_norm = 0, max_norm = 0;
  double clipped = 0;    // the share whose norm was above the clip norm
  double clip_norm = 0;  // of this step
};

// How often steps take batches that are padded to a size.
struct BatchSize {
  int64_t size = 0;
  double probability = 0;  // of a step, averaged over the steps of the plan
};

namespace internal {

// Rows of a state's history: as many as there are steps, at most this. Of longer runs each row is
// the last step of several, so that a state has the same shapes under every plan.
constexpr int64_t kHistoryRows = 512;
constexpr int64_t kHistoryColumns = 8;  // the members of StepReport, in their order
int64_t history_stride(int64_t steps);

// Which examples a step takes, padded.
struct StepBatch {
  Array indices;  // int32 [size]; padding reads the last example
  Array places;   // int32 [size]: the same in the rows that a source gives
  Array padding;  // bool [size]
};

class StepBatches {
 public:
  StepBatches(const TrainingPlan& plan, const TrainerOptions& options);

  // The state's key of batches when a run begins: the given one, or of RandomSource::kSystem the
  // name of one that is kept here (system_batches.h).
  random::Key begin(const random::Key& key);
  // The step's examples, in increasing order.
  batch_selection::Batch examples(const random::Key& key, int64_t step);
  // UserError if a state of this key cannot go on here.
  void expect_known(const random::Key& key) const;
  // The run with this key is over.
  void end(const random::Key& key);
  // What a batch of so many examples is padded to.
  int64_t padded_size(int64_t examples) const;
  StepBatch padded(const batch_selection::Batch& examples, int64_t microbatch, int64_t size) const;

  // What a source is asked for: the examples, then 0 for padding.
  static std::vector<int64_t> source_indices(const batch_selection::Batch& examples, int64_t size);
  // The padded sizes of the plan's batches, ascending, but for those that no step of the plan takes
  // with a probability of more than 1e-6.
  std::vector<BatchSize> sizes(const TrainingPlan& plan) const;

  // The microbatch of a size of batch (0: all of it), computed once by `arena_bytes` of a step.
  int64_t microbatch(int64_t size, const std::function<int64_t(int64_t microbatch)>& arena_bytes);

 private:
  batch_selection::BatchSelectionStrategy sampler_;
  std::optional<SystemBatches> system_;  // of RandomSource::kSystem
  TrainerOptions options_;
  int64_t multiple_, least_;
  std::vector<uint32_t> key_;  // of batches_
  std::optional<batch_selection::Batches> batches_;
  std::map<int64_t, int64_t> microbatches_;
};

// Of a plan with schedules: the sum is multiplied by `before`, then noised, then multiplied by
// `after`. The clip norm of the step is `clip` times the plan's, and its expected batch size is the
// plan's over `batch_factor`.
struct StepFactors {
  Array before, after, clip, batch_factor;  // float32
};
bool is_scheduled(const TrainingPlan& plan);
StepFactors factors_of(const TrainingPlan& plan, int64_t step);

// UserError unless every leaf has an example for each that the sampler draws from.
void expect_examples(const TrainingPlan& plan, const std::vector<Array>& leaves);

// What a step's program is given besides the state and the data.
struct StepInput {
  StepBatch batch;
  StepFactors factors;
  Array program, contents;  // uint32 [8]: run_identity.h
};

// The number of steps that are done. UserError unless the plan has one left.
int64_t expect_next_step(const TrainingPlan& plan, const Array& step);

// The options with clip norms that are multiplied by the factor, an Array.
ClipOptions with_clip_factor(ClipOptions options, const Array& factor);

// UserError if the plan has subtree_norms or an adaptive clip norm, which are of gradients that are
// not transformed.
void expect_plan_for_transforms(const TrainingPlan& plan);
// UserError if an array lies on devices of a plugin, whose memory is not known here.
void expect_known_memory(const TrainerOptions& options, const std::vector<Array>& leaves);

// Writes the leaves as a safetensors file, by their paths; their number.
int64_t write_parameters(const FilePath& path, const optim::LeafList& parameters);

// Inside the step's program. The rows, [size, ...] of any dtype, with 0 in those that are padding.
Array clear_rows(const Array& rows, const Array& padding);
// [kHistoryColumns] of float32.
Array metrics(const Array& step, const Array& values, const Array& norms, const Array& padding,
              const Array& clip_norm);
Array with_row(const Array& history, const Array& row, const Array& step, int64_t stride);
Array empty_history();
StepReport report_of(const Array& row);

}  // namespace internal

// "loss 0.4312, norm 2.31 (at most 9.80; 87% above 1), 251 examples": in one line, for people.
std::string to_string(const StepReport& report);

}  // namespace tessera::privacy
