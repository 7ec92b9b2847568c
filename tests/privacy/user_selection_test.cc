#include "tessera/privacy/batch_selection/user_selection.h"

namespace tessera::privacy::batch_selection::user_selection_test {
namespace {

using testing::ElementsAre;

const CyclicPoissonSampling kEveryone{.num_examples = 3, .iterations = 5};
const std::vector<int64_t> kIds{7, 7, 7, -2, -2, 40};  // users -2, 7, 40

// An example of jax_privacy, with the rows in the order of its draw.
TEST(UserSelection, UsersGiveTheirExamplesInTurn) {
  const UserSelectionStrategy strategy{.base_strategy = kEveryone,
                                       .examples_per_user_per_batch = 2};
  UserBatches range = strategy.batches(kIds, random::key(0));
  EXPECT_THAT(range.at(0).indices, ElementsAre(3, 4, 0, 1, 5, 5));
  EXPECT_THAT(range.at(1).indices, ElementsAre(3, 4, 2, 0, 5, 5));
  EXPECT_THAT(range.at(4).indices, ElementsAre(3, 4, 2, 0, 5, 5));
  EXPECT_THAT(range.at(2).indices, ElementsAre(3, 4, 1, 2, 5, 5));
  EXPECT_EQ(range.at(0).num_users(), 3);
  EXPECT_THAT(range.at(0)[1], ElementsAre(0, 1));
}

TEST(UserSelection, AnyStepComesAtOnce) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 300; ++i) ids.push_back(i * i % 50);
  const auto users = static_cast<int64_t>(std::set<int64_t>(ids.begin(), ids.end()).size());
  const UserSelectionStrategy strategy{
      .base_strategy =
          BMinSepSampling{
              .num_examples = users, .sampling_prob = 0.4, .iterations = 30, .min_sep = 2},
      .examples_per_user_per_batch = 3,
      .shuffle_per_user = true};
  const random::Key key = random::key(1);
  int64_t step = 0;
  for (const UserBatch& batch : strategy.batches(ids, key)) {
    EXPECT_EQ(strategy.batch(ids, key, step).indices, batch.indices) << step;
    for (int64_t u = 0; u < batch.num_users(); ++u)
      for (const int64_t i : batch[u])
        EXPECT_EQ(ids[static_cast<size_t>(i)], ids[static_cast<size_t>(batch[u][0])]);
    ++step;
  }
  EXPECT_EQ(step, 30);
  EXPECT_EQ((*strategy.batches(ids, key, 20).begin()).indices,
            strategy.batch(ids, key, 20).indices);
}

TEST(UserSelection, ShufflingGivesEachExampleOnceARound) {
  const CyclicPoissonSampling one{.num_examples = 1, .iterations = 8};
  const UserSelectionStrategy strategy{.base_strategy = one, .shuffle_per_user = true};
  const std::vector<int64_t> ids(8, 0);
  std::vector<int64_t> seen;
  for (const UserBatch& batch : strategy.batches(ids, random::key(0)))
    seen.push_back(batch.indices[0]);
  EXPECT_FALSE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(UserSelection, IsDescribedByUsers) {
  EXPECT_EQ(UserSelectionStrategy{.base_strategy = kEveryone}.description(),
            kEveryone.description());
}

TEST(UserSelection, MistakesAreErrors) {
  UserSelectionStrategy strategy{.base_strategy = kEveryone};
  EXPECT_THAT(([&] {
                strategy.batches(std::vector<int64_t>{1, 2}, random::key(0));
              }),
              testing::ThrowsMessage<UserError>(testing::HasSubstr(
                  "[UserSelectionStrategy] expected a base_strategy whose num_examples is the "
                  "number of users, 2, got 3")));
  strategy.examples_per_user_per_batch = 0;
  EXPECT_THAT([&] { strategy.batches(kIds, random::key(0)); },
              testing::ThrowsMessage<UserError>(
                  testing::HasSubstr("expected examples_per_user_per_batch of at least 1, got 0")));
}

TEST(BoundContributions, NoUserOwnsMoreThanSaid) {
  std::vector<std::vector<int64_t>> owners;
  for (int64_t i = 0; i < 400; ++i) owners.push_back({i % 7, i % 11, i % 7});
  owners.push_back({});
  const std::vector<int64_t> kept = bound_contributions(owners, 5, random::key(0));
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_EQ(kept.back(), 400);
  std::map<int64_t, int64_t> used;
  const auto users_of = [&](int64_t i) {
    const auto& users = owners[static_cast<size_t>(i)];
    return std::set<int64_t>(users.begin(), users.end());
  };
  for (const int64_t i : kept)
    for (const int64_t user : users_of(i)) ++used[user];
  for (const auto& [user, count] : used) EXPECT_LE(count, 5) << user;
  // The choice is greedy: no other example would fit.
  for (int64_t i = 0; i < 400; ++i) {
    if (std::binary_search(kept.begin(), kept.end(), i)) continue;
    int64_t most = 0;
    for (const int64_t user : users_of(i)) most = std::max(most, used[user]);
    EXPECT_EQ(most, 5) << i;
  }
  EXPECT_EQ(bound_contributions(owners, 1000, random::key(0)).size(), 401u);
}

TEST(BoundContributions, NoneIsAnError) {
  EXPECT_THAT([] { bound_contributions({}, 0, random::key(0)); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr(
                  "[bound_contributions] expected examples_per_user of at least 1, got 0")));
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::user_selection_test
