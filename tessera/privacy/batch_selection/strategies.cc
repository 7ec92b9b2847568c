#include "tessera/privacy/batch_selection/strategies.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/privacy/batch_selection/bernoulli.h"
#include "tessera/privacy/batch_selection/min_separation.h"
#include "tessera/privacy/batch_selection/partition.h"
#include "tessera/privacy/batch_selection/subset.h"

namespace tessera::privacy::batch_selection {
namespace {

using internal::Bernoulli;
using internal::CounterStream;
using internal::Groups;

// The largest number of steps. With it, a step plus a separation does not overflow int64_t.
constexpr int64_t kMost = int64_t{1} << 60;
// The most pairs of a step and an example that RandomAllocationSampling holds at a time: 256 MiB.
constexpr int64_t kPairsInMemory = int64_t{1} << 25;

// The things that a sampler draws. Each is drawn from a child of its own of the key's stream.
enum Purpose : uint64_t { kPartition, kSelect, kTruncate };

CounterStream of_step(const CounterStream& root, Purpose purpose, int64_t step) {
  return root.child(purpose).child(static_cast<uint64_t>(step));
}

// Returns at most `cap` examples of the batch. Every choice of them is equally likely.
Batch truncated(Batch batch, std::optional<int64_t> cap, const CounterStream& stream) {
  const auto size = static_cast<int64_t>(batch.size());
  if (!cap || size <= *cap) return batch;
  Batch out = internal::uniform_subset(size, *cap, stream);
  for (int64_t& place : out) place = batch[static_cast<size_t>(place)];
  return out;
}

class PoissonSource final : public internal::BatchSource<Batch> {
 public:
  PoissonSource(const CyclicPoissonSampling& s, const CounterStream& root)
      : sampler_(s), root_(root) {
    if (s.cycle_length > 1) groups_ = partition();
  }

  Batch at(int64_t step) override {
    return truncated(sampled(step), sampler_.truncated_batch_size, of_step(root_, kTruncate, step));
  }

 private:
  Batch sampled(int64_t step) const {
    const Bernoulli coins(of_step(root_, kSelect, step), probability_at(step));
    Batch out;
    if (!groups_) {
      coins.successes(0, sampler_.num_examples, out);
      return out;
    }
    const std::span<const int64_t> group = (*groups_)[step % sampler_.cycle_length];
    coins.successes(0, static_cast<int64_t>(group.size()), out);
    for (int64_t& place : out) place = group[static_cast<size_t>(place)];
    return out;
  }

  double probability_at(int64_t step) const {
    double out = sampler_.sampling_prob;
    for (const auto& [first, probability] : sampler_.sampling_prob_changes)
      if (first <= step) out = probability;
    return out;
  }

  Groups partition() const {
    const CounterStream stream = root_.child(kPartition);
    switch (sampler_.partition) {
      case PartitionType::kIndependent:
        return internal::independent_partition(sampler_.num_examples, sampler_.cycle_length,
                                               stream);
      case PartitionType::kEqualSplit:
        break;
    }
    return internal::equal_split_partition(sampler_.num_examples, sampler_.cycle_length, stream);
  }

  const CyclicPoissonSampling sampler_;
  const CounterStream root_;
  std::optional<Groups> groups_;  // absent if there is no cycle
};

class FixedSource final : public internal::BatchSource<Batch> {
 public:
  FixedSource(const FixedBatchSampling& s, const CounterStream& root) : sampler_(s), root_(root) {}

  Batch at(int64_t step) override {
    const auto draw = sampler_.replace ? internal::uniform_draws : internal::uniform_subset;
    return draw(sampler_.num_examples, sampler_.batch_size, of_step(root_, kSelect, step));
  }

 private:
  const FixedBatchSampling sampler_;
  const CounterStream root_;
};

class BallsInBinsSource final : public internal::BatchSource<Batch> {
 public:
  BallsInBinsSource(const BallsInBinsSampling& s, const CounterStream& root)
      : cycle_length_(s.cycle_length),
        bins_(internal::independent_partition(s.num_examples, s.cycle_length,
                                              root.child(kPartition))) {}

  Batch at(int64_t step) override {
    const std::span<const int64_t> bin = bins_[step % cycle_length_];
    return {bin.begin(), bin.end()};
  }

 private:
  const int64_t cycle_length_;
  const Groups bins_;
};

class BMinSepSource final : public internal::BatchSource<Batch> {
 public:
  BMinSepSource(const BMinSepSampling& s, const CounterStream& root)
      : cap_(s.truncated_batch_size),
        root_(root),
        process_({.num_examples = s.num_examples,
                  .sampling_prob = s.sampling_prob,
                  .min_sep = s.min_sep,
                  .warm_start = s.warm_start},
                 root.child(kPartition), root.child(kSelect)) {}

  Batch at(int64_t step) override {
    return truncated(process_.sampled(step), cap_, of_step(root_, kTruncate, step));
  }

 private:
  const std::optional<int64_t> cap_;
  const CounterStream root_;
  internal::MinSeparationProcess process_;
};

class AllocationSource final : public internal::BatchSource<Batch> {
 public:
  AllocationSource(const RandomAllocationSampling& s, const CounterStream& root)
      : what_{.examples = s.num_examples, .k = s.steps_per_example, .groups = s.iterations},
        stream_(root.child(kSelect)),
        // With so many steps, fewer than kPairsInMemory pairs are expected.
        window_(static_cast<int64_t>(
            std::clamp(static_cast<double>(kPairsInMemory) / static_cast<double>(what_.examples) /
                           static_cast<double>(what_.k) * static_cast<double>(what_.groups),
                       1.0, static_cast<double>(what_.groups)))),
        steps_(window_of(0)) {}

  Batch at(int64_t step) override {
    if (!steps_.holds(step)) steps_ = window_of(step);
    const std::span<const int64_t> examples = steps_[step];
    return {examples.begin(), examples.end()};
  }

 private:
  Groups window_of(int64_t step) const {
    const int64_t first = step - step % window_;
    return internal::allocate(what_, first, std::min(first + window_, what_.groups), stream_);
  }

  const internal::Allocation what_;
  const CounterStream stream_;
  const int64_t window_;  // the number of steps that are in memory
  Groups steps_;
};

void check_range(std::string_view op, const char* what, int64_t value, int64_t low, int64_t high,
                 const char* remedy) {
  if (value < low || value > high)
    value_error(op, "expected {} in [{}, {}], got {}; {}", what, low, high, value, remedy);
}

void check_common(std::string_view op, int64_t num_examples, int64_t iterations) {
  check_range(op, "num_examples", num_examples, 1, kMost, "it is the size of the training set");
  check_range(op, "iterations", iterations, 0, kMost, "it is the number of steps of the whole run");
}

void check_probability(std::string_view op, double p) {
  if (!(p >= 0 && p <= 1))
    value_error(op,
                "expected a sampling_prob in [0, 1], got {}; it is the expected batch size divided "
                "by the number of examples to sample from",
                p);
}

void check_truncation(std::string_view op, std::optional<int64_t> cap) {
  if (cap)
    check_range(op, "a truncated_batch_size", *cap, 1, kMost, "leave it out for no truncation");
}

void check(const CyclicPoissonSampling& s) {
  const char* op = "CyclicPoissonSampling";
  check_common(op, s.num_examples, s.iterations);
  check_probability(op, s.sampling_prob);
  check_truncation(op, s.truncated_batch_size);
  check_range(op, "cycle_length", s.cycle_length, 1, s.num_examples,
              "a group of the cycle needs an example");
  int64_t last = 0;
  for (const auto& [step, probability] : s.sampling_prob_changes) {
    check_range(op, "ascending steps of sampling_prob_changes", step, last + 1, kMost,
                "the first one is above 0");
    check_probability(op, probability);
    last = step;
  }
}

void check(const FixedBatchSampling& s) {
  const char* op = "FixedBatchSampling";
  check_common(op, s.num_examples, s.iterations);
  check_range(op, "batch_size", s.batch_size, 0, s.replace ? kMost : s.num_examples,
              "a batch without replacement has at most all examples");
}

void check(const BallsInBinsSampling& s) {
  const char* op = "BallsInBinsSampling";
  check_common(op, s.num_examples, s.iterations);
  check_range(op, "cycle_length", s.cycle_length, 1, s.num_examples,
              "more bins than examples leave bins empty");
}

void check(const BMinSepSampling& s) {
  const char* op = "BMinSepSampling";
  check_common(op, s.num_examples, s.iterations);
  check_probability(op, s.sampling_prob);
  check_truncation(op, s.truncated_batch_size);
  check_range(op, "min_sep", s.min_sep, 1, kMost, "1 is Poisson sampling");
}

void check(const RandomAllocationSampling& s) {
  const char* op = "RandomAllocationSampling";
  check_common(op, s.num_examples, s.iterations);
  check_range(op, "iterations", s.iterations, 1, kMost, "examples need steps to be allocated to");
  check_range(op, "steps_per_example", s.steps_per_example, 1, s.iterations,
              "an example is used at most once a step");
}

template <class Source, class Sampler>
Batches ranged(const char* op, const Sampler& sampler, const SamplingKey& key, int64_t first_step) {
  check(sampler);
  return {std::make_unique<Source>(sampler, internal::stream_of(op, key)), first_step,
          sampler.iterations};
}

template <class Sampler>
Batch one(const Sampler& sampler, const SamplingKey& key, int64_t step) {
  return sampler.batches(key).at(step);
}

}  // namespace

SamplingDescription CyclicPoissonSampling::description() const {
  check(*this);
  return {.method = SamplingMethod::kPoisson,
          .num_examples = num_examples,
          .iterations = iterations,
          .sampling_prob = sampling_prob,
          .cycle_length = cycle_length,
          .min_sep = cycle_length,
          .truncated_batch_size = truncated_batch_size,
          .partition = partition,
          .sampling_prob_changes = sampling_prob_changes};
}

Batches CyclicPoissonSampling::batches(const SamplingKey& key, int64_t first_step) const {
  return ranged<PoissonSource>("CyclicPoissonSampling", *this, key, first_step);
}

Batch CyclicPoissonSampling::batch(const SamplingKey& key, int64_t step) const {
  return one(*this, key, step);
}

SamplingDescription FixedBatchSampling::description() const {
  check(*this);
  return {.method = SamplingMethod::kFixedBatchSize,
          .num_examples = num_examples,
          .iterations = iterations,
          .batch_size = batch_size,
          .replace = replace};
}

Batches FixedBatchSampling::batches(const SamplingKey& key, int64_t first_step) const {
  return ranged<FixedSource>("FixedBatchSampling", *this, key, first_step);
}

Batch FixedBatchSampling::batch(const SamplingKey& key, int64_t step) const {
  return one(*this, key, step);
}

SamplingDescription BallsInBinsSampling::description() const {
  check(*this);
  return {.method = SamplingMethod::kBallsInBins,
          .num_examples = num_examples,
          .iterations = iterations,
          .cycle_length = cycle_length,
          .min_sep = cycle_length};
}

Batches BallsInBinsSampling::batches(const SamplingKey& key, int64_t first_step) const {
  return ranged<BallsInBinsSource>("BallsInBinsSampling", *this, key, first_step);
}

Batch BallsInBinsSampling::batch(const SamplingKey& key, int64_t step) const {
  return one(*this, key, step);
}

SamplingDescription BMinSepSampling::description() const {
  check(*this);
  return {.method = SamplingMethod::kBMinSep,
          .num_examples = num_examples,
          .iterations = iterations,
          .sampling_prob = sampling_prob,
          .min_sep = min_sep,
          .truncated_batch_size = truncated_batch_size,
          .warm_start = warm_start};
}

Batches BMinSepSampling::batches(const SamplingKey& key, int64_t first_step) const {
  return ranged<BMinSepSource>("BMinSepSampling", *this, key, first_step);
}

Batch BMinSepSampling::batch(const SamplingKey& key, int64_t step) const {
  return one(*this, key, step);
}

SamplingDescription RandomAllocationSampling::description() const {
  check(*this);
  return {.method = SamplingMethod::kRandomAllocation,
          .num_examples = num_examples,
          .iterations = iterations,
          .steps_per_example = steps_per_example};
}

Batches RandomAllocationSampling::batches(const SamplingKey& key, int64_t first_step) const {
  return ranged<AllocationSource>("RandomAllocationSampling", *this, key, first_step);
}

Batch RandomAllocationSampling::batch(const SamplingKey& key, int64_t step) const {
  return one(*this, key, step);
}

SamplingDescription description(const BatchSelectionStrategy& strategy) {
  return std::visit([](const auto& s) { return s.description(); }, strategy);
}

Batches batches(const BatchSelectionStrategy& strategy, const SamplingKey& key,
                int64_t first_step) {
  return std::visit([&](const auto& s) { return s.batches(key, first_step); }, strategy);
}

bool has_independent_steps(const BatchSelectionStrategy& strategy) {
  return std::visit(Overloaded{[](const CyclicPoissonSampling& s) { return s.cycle_length == 1; },
                               [](const FixedBatchSampling&) { return true; },
                               [](const BallsInBinsSampling&) { return false; },
                               // Without a separation each step is a Poisson sample.
                               [](const BMinSepSampling& s) { return s.min_sep == 1; },
                               [](const RandomAllocationSampling&) { return false; },
                               [](const MultiOwnerMinSepSampling&) { return true; }},
                    strategy);
}

}  // namespace tessera::privacy::batch_selection
