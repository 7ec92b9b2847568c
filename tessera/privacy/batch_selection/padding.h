// Turns batches of random sizes into arrays of few sizes. They are filled up with padding of index
// -1, which a mask excludes from the clipped sum.
//
//   const auto [indices, is_padding] = batch_selection::padded_batch(batch, {.multiple = 32});
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/privacy/batch_selection/user_selection.h"

namespace tessera::privacy::batch_selection {

constexpr int64_t kPaddingIndex = -1;

// Returns the batch with padding up to the next multiple (none for an empty batch). With a
// microbatch_size the result is in the order of compute_early_stopping_order(). Throws UserError
// unless `multiple` is in [1, 2^31) and the microbatch_size divides the padded batch.
std::vector<int64_t> pad_to_multiple_of(std::span<const int64_t> indices, int64_t multiple,
                                        std::optional<int64_t> microbatch_size = std::nullopt);

// Returns an order of the examples of a batch. If a batch in this order is divided into M strided
// microbatches (microbatch i holds the positions i, i + M, i + 2M, ...), these have the examples in
// their original order. So padding at the end of the batch is in the last microbatches, which may
// be skipped. Throws UserError unless microbatch_size divides batch_size. For example, 10 examples
// in microbatches of 2 have the order 0, 2, 4, 6, 8, 1, 3, 5, 7, 9.
std::vector<int64_t> compute_early_stopping_order(int64_t batch_size,
                                                  std::optional<int64_t> microbatch_size);

// Returns a large batch as minibatches of one size, at least one. The last one is padded and, with
// a microbatch_size, each is in the order above. Throws UserError unless minibatch_size is positive
// and a multiple of microbatch_size.
std::vector<std::vector<int64_t>> split_and_pad_global_batch(
    std::span<const int64_t> indices, int64_t minibatch_size,
    std::optional<int64_t> microbatch_size = std::nullopt);
// Returns the same for a batch of users: minibatches of minibatch_size rows.
std::vector<UserBatch> split_and_pad_global_batch(
    const UserBatch& batch, int64_t minibatch_size,
    std::optional<int64_t> microbatch_size = std::nullopt);

// Returns at most num_compilations sizes, ascending, to which batches of these sizes are padded
// with the least padding in total, if every batch takes the next larger size. Returns all sizes if
// there are no more than num_compilations. It takes O(num_compilations n^2) time for n different
// sizes. Throws UserError unless num_compilations is positive and sizes are not negative. For
// example, the sizes {1, 2, 3, 10, 11, 12, 50} with three compilations give 3, 12, 50.
std::vector<int64_t> optimal_physical_batch_sizes(std::span<const int64_t> batch_sizes,
                                                  int64_t num_compilations);

struct PaddedBatch {
  Array indices;     // int32 [n], or [n, examples_per_user]; -1 in padding
  Array is_padding;  // bool [n]
};

struct PaddedBatchOptions {
  int64_t multiple = 1;  // of examples or users; the result has at least one multiple
  std::optional<int64_t> microbatch_size = std::nullopt;  // has to divide the result
};

// Returns the padded batch and its mask. Padding may read any row: index -1 reads the last example,
// and the mask excludes its gradient.
PaddedBatch padded_batch(std::span<const int64_t> indices, const PaddedBatchOptions& options = {});
PaddedBatch padded_batch(const UserBatch& batch, const PaddedBatchOptions& options = {});

}  // namespace tessera::privacy::batch_selection
