// Sampling of users, for user-level privacy: a strategy selects users, and each user contributes
// some of the examples that they own. bound_contributions() is for training sets whose examples
// have several owners.
//
//   batch_selection::UserSelectionStrategy strategy{
//       .base_strategy = batch_selection::CyclicPoissonSampling{
//           .num_examples = 1000, .sampling_prob = .1, .iterations = 500},  // of 1,000 users
//       .examples_per_user_per_batch = 4};
//   for (const auto& batch : strategy.batches(user_ids, key)) ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/privacy/batch_selection/batch_range.h"
#include "tessera/privacy/batch_selection/strategies.h"

namespace tessera::privacy::batch_selection {

// The batch of a step: a row for each user, with the indices of examples_per_user examples. A
// gradient is clipped for each row.
struct UserBatch {
  std::vector<int64_t> indices;  // row-major
  int64_t examples_per_user = 1;

  int64_t num_users() const { return static_cast<int64_t>(indices.size()) / examples_per_user; }
  std::span<const int64_t> operator[](int64_t user) const {
    return std::span(indices).subspan(static_cast<size_t>(user * examples_per_user),
                                      static_cast<size_t>(examples_per_user));
  }
};

using UserBatches = BatchRange<UserBatch>;

// Whenever a user is selected, the batch gets the next examples_per_user_per_batch of their
// examples, cyclically. For example, two at a time of [0, 5, 10] are first 0 and 5, then 10 and 0.
// The examples are in the order of the training set or, with shuffle_per_user, in a random order.
//
// A batch is a function of key and step. But how often a user was selected depends on all steps
// before, so a range that begins at a late step first selects the users of all earlier steps.
struct UserSelectionStrategy {
  BatchSelectionStrategy base_strategy;  // its num_examples is the number of users
  int64_t examples_per_user_per_batch = 1;
  bool shuffle_per_user = false;

  // Returns the batches. user_ids[i] owns example i; ids may be any numbers, and users are sorted
  // by them. Throws UserError unless the number of users is the base strategy's num_examples.
  UserBatches batches(std::span<const int64_t> user_ids, const SamplingKey& key,
                      int64_t first_step = 0) const;
  UserBatch batch(std::span<const int64_t> user_ids, const SamplingKey& key, int64_t step) const;
  SamplingDescription description() const;  // counts users
};

// Returns the indices of examples of which no user owns more than examples_per_user, chosen
// greedily in a random order (Ganesh et al., "It's my data too: private ML for datasets with
// multi-user training examples", arXiv 2503.03622). owners[i] are the users of example i; an
// example without owners is kept. The result is in increasing order. Samplers then select among
// these examples, and the plan accounts for groups of examples_per_user. Ownership must be public:
// the guarantee is for the contents of examples, not for who took part.
std::vector<int64_t> bound_contributions(std::span<const std::vector<int64_t>> owners,
                                         int64_t examples_per_user, const SamplingKey& key);

}  // namespace tessera::privacy::batch_selection
