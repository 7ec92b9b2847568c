// A range of the batches of a run, one for each step.
//
//   for (const auto& batch : sampler.batches(key)) ...
//
// A step's batch is a function of the key and the step only. Data that the batches of one key share
// (the groups of examples) are made once, when the range is constructed. So a range can return the
// batch of any step, and is fastest for increasing steps. It belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace tessera::privacy::batch_selection {

namespace internal {

// Makes the batches of one sampler and key.
template <class Batch>
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Batch at(int64_t step) = 0;  // 0 <= step < iterations
};

// Throws UserError unless low <= step < high.
void check_step(int64_t step, int64_t high);
void check_first_step(int64_t step, int64_t iterations);

}  // namespace internal

template <class Batch>
class BatchRange {
 public:
  BatchRange(std::unique_ptr<internal::BatchSource<Batch>> source, int64_t first_step,
             int64_t iterations)
      : source_(std::move(source)), first_(first_step), iterations_(iterations) {
    internal::check_first_step(first_step, iterations);
  }

  // Returns the batch of any step. Throws UserError outside [0, iterations()).
  Batch at(int64_t step) {
    internal::check_step(step, iterations_);
    return source_->at(step);
  }
  int64_t iterations() const { return iterations_; }

  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Batch;

    Iterator(BatchRange* range, int64_t step) : range_(range), step_(step) { read(); }
    const Batch& operator*() const { return batch_; }
    const Batch* operator->() const { return &batch_; }
    Iterator& operator++() {
      ++step_;
      read();
      return *this;
    }
    void operator++(int) { ++*this; }
    int64_t step() const { return step_; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) {
      return it.step_ >= it.range_->iterations();
    }

   private:
    void read() {
      if (step_ < range_->iterations_) batch_ = range_->at(step_);
    }
    BatchRange* range_;
    int64_t step_;
    Batch batch_;
  };
  // Loops go from the first step to the last. A range can be iterated any number of times.
  Iterator begin() { return {this, first_}; }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::unique_ptr<internal::BatchSource<Batch>> source_;
  int64_t first_, iterations_;
};

using Batch = std::vector<int64_t>;  // indices of examples, in increasing order
using Batches = BatchRange<Batch>;

}  // namespace tessera::privacy::batch_selection
