// The parts of a step of privacy::Trainer (trainer.h) that do not depend on types: its batch and
// the padded size, its options, and its report.
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
  // See ClipOptions for these four: whether the loss gets an example as a batch of
  // one, the number of examples at a time, and how a mesh shards the examples.
  bool keep_batch_dim = true;
  std::optional<int64_t> microbatch_size = std::nullopt;
  SpmdAxisName spmd_axis_name = {};
  Indivisible indivisible = Indivisible::kHoist;
  // Batches are padded to multiples of this, and at least to about the mean size, because each size
  // has a program of its own. If absent, it is two standard deviations of a Poisson batch, which
  // makes three or four programs, rounded up to a multiple of microbatch_size if that is given.
  std::optional<int64_t> padding_multiple = std::nullopt;
  // Set in place of microbatch_size: the largest microbatch is chosen with which the temporaries of
  // a step (Lowered::cost().arena_bytes) take no more than this number of bytes.
  std::optional<int64_t> memory_budget_bytes = std::nullopt;
  // Set in place of both: the budget is half of the memory that is available when a size of batch
  // first occurs. So a run that continues on another machine may add up in another order. For
  // devices of a plugin set memory_budget_bytes.
  bool automatic_microbatch_size = false;
  // If set, a step does not compare the contents of the data with those that the state has begun
  // with: it is for data that are made anew at each step (random augmentations of the same
  // examples). Then a run that continues with the data of other examples is not detected.
  bool unchecked_data_contents = false;
  // Whether the loss may capture arrays as long as all the data: then they are not data, and every
  // example sees all of them. If false, such an array is an error.
  bool shared_captures = false;
};

// The losses and the norms before clipping of a step's examples, summarised. They are computed from
// the examples without noise and are not covered by the guarantee: only people who may see the data
// may see them.
struct StepReport {
  int64_t step = 0;        // the number of steps that are done, including this one
  int64_t examples = 0;    // 0: an empty batch, whose step is noise alone
  int64_t non_finite = 0;  // examples with NaN or infinities, left out below
  double loss = 0;         // the mean over the examples; NaN without examples
  double mean_norm = 0, max_norm = 0;
  double clipped = 0;    // the share of examples with a norm above the clip norm
  double clip_norm = 0;  // the clip norm of this step
};

// A padded size of batches, and how often it occurs.
struct BatchSize {
  int64_t size = 0;
  double probability = 0;  // that a step has this size, averaged over the steps
};

namespace internal {

// The number of rows of a state's history, which is the same under every plan. A row is one step
// or, in runs of more steps than rows, the last of several.
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

  // Returns the key of batches for the state of a new run: the given key or, with
  // RandomSource::kSystem, the name of a key that this object keeps (system_batches.h).
  random::Key begin(const random::Key& key);
  // Returns the step's examples, in increasing order.
  batch_selection::Batch examples(const random::Key& key, int64_t step);
  // Throws UserError if a state with this key cannot continue in this trainer.
  void expect_known(const random::Key& key) const;
  // Ends the run with this key: a kept key is dropped.
  void end(const random::Key& key);
  // Returns the size to which a batch of so many examples is padded.
  int64_t padded_size(int64_t examples) const;
  StepBatch padded(const batch_selection::Batch& examples, int64_t microbatch, int64_t size) const;

  // Returns the indices with which a source is called: the examples, then 0 for padding.
  static std::vector<int64_t> source_indices(const batch_selection::Batch& examples, int64_t size);
  // Returns the padded sizes of the plan's batches, ascending. Sizes are left out if every step of
  // the plan has them with a probability of at most 1e-6.
  std::vector<BatchSize> sizes(const Plan& plan) const;

  // Returns the size of microbatches for batches of this size (0 for the whole batch). It is chosen
  // once; `arena_bytes` returns the bytes of a step's temporaries.
  int64_t microbatch(int64_t size, const std::function<int64_t(int64_t microbatch)>& arena_bytes);

 private:
  batch_selection::BatchSelectionStrategy sampler_;
  std::optional<SystemBatches> system_;  // only with RandomSource::kSystem
  TrainerOptions options_;
  int64_t multiple_, least_;
  std::vector<uint32_t> key_;  // the key of batches_
  std::optional<batch_selection::Batches> batches_;
  std::map<int64_t, int64_t> microbatches_;
};

// The factors of a step under a plan with schedules: the sum is multiplied by `before`, then noise
// is added, then it is multiplied by `after`. The clip norm of the step is `clip` times the plan's,
// and its expected batch size is the plan's divided by `batch_factor`.
struct StepFactors {
  Array before, after, clip, batch_factor;  // float32
};
bool is_scheduled(const Plan& plan);
StepFactors factors_of(const Plan& plan, int64_t step);

// Throws UserError unless every leaf has as many examples as the sampler draws from.
void expect_examples(const Plan& plan, const std::vector<Array>& leaves);

// The inputs of a step's program besides the state and the data.
struct StepInput {
  StepBatch batch;
  StepFactors factors;
  Array program, contents;  // uint32 [8]: run_identity.h
};

// Returns the number of steps that are done. Throws UserError unless the plan has another step.
int64_t expect_next_step(const Plan& plan, const Array& step);

// Returns the options with all clip norms multiplied by the factor.
ClipOptions with_clip_factor(ClipOptions options, const Array& factor);

// Throws UserError if the plan has subtree_norms or an adaptive clip norm, which are for gradients
// that are not transformed.
void expect_plan_for_transforms(const Plan& plan);
// Throws UserError if an array is on devices of a plugin, whose memory is not known here.
void expect_known_memory(const TrainerOptions& options, const std::vector<Array>& leaves);

// Writes the leaves as a safetensors file, with their paths as names; returns their number.
int64_t write_parameters(const FilePath& path, const optim::LeafList& parameters);

// Returns the rows, [size, ...] of any dtype, with 0 in those that are padding. The step's program
// calls it.
Array clear_rows(const Array& rows, const Array& padding);
// Returns a row of the history, [kHistoryColumns] of float32.
Array metrics(const Array& step, const Array& values, const Array& norms, const Array& padding,
              const Array& clip_norm);
Array with_row(const Array& history, const Array& row, const Array& step, int64_t stride);
Array empty_history();
StepReport report_of(const Array& row);

}  // namespace internal

// Returns one line that describes the report: "loss 0.4312, norm 2.31 (at most 9.80; 87% above 1),
// 251 examples".
std::string to_string(const StepReport& report);

}  // namespace tessera::privacy
