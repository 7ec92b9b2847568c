#include "tessera/privacy/batch_selection/padding.h"

#include <numeric>

#include "../golden/golden.h"

namespace tessera::privacy::batch_selection::padding_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<int64_t> range(int64_t n) {
  std::vector<int64_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// jax_privacy's examples.
TEST(Padding, PadsToAMultiple) {
  EXPECT_THAT(pad_to_multiple_of(range(10), 4), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1));
  EXPECT_EQ(pad_to_multiple_of(range(8), 4), range(8));
  EXPECT_THAT(pad_to_multiple_of({}, 4), IsEmpty());
}

// Examples of jax_privacy, at the head of its repository.
TEST(Padding, OfMultiplesAndMicrobatchesIsJaxPrivacys) {
  const golden::Topic topic("privacy_head");
  for (const golden::Json& c : topic["padding"]) {
    std::vector<int64_t> batch = range(c["size"]);
    for (int64_t& index : batch) index += 100;
    std::optional<int64_t> microbatch;
    if (!c["microbatch"].is_null()) microbatch = c["microbatch"].get<int64_t>();
    EXPECT_EQ(pad_to_multiple_of(batch, c["multiple"], microbatch),
              c["padded"].get<std::vector<int64_t>>())
        << c.dump();
  }
}

TEST(Padding, EarlyStoppingOrderUndoesTheStrideOfMicrobatches) {
  EXPECT_THAT(compute_early_stopping_order(10, 2), ElementsAre(0, 2, 4, 6, 8, 1, 3, 5, 7, 9));
  EXPECT_EQ(compute_early_stopping_order(10, std::nullopt), range(10));
}

// All examples except the second are jax_privacy's, which counts sizes, and not how many batches
// have them.
TEST(Padding, OptimalSizesHaveTheLeastPadding) {
  using Sizes = std::vector<int64_t>;
  EXPECT_THAT(optimal_physical_batch_sizes(Sizes{1, 2, 3, 10, 11, 12, 50}, 3),
              ElementsAre(3, 12, 50));
  EXPECT_THAT(optimal_physical_batch_sizes(Sizes{8, 8, 8, 8, 8, 8, 8, 8, 9, 1}, 2),
              ElementsAre(8, 9));
  EXPECT_THAT(optimal_physical_batch_sizes(Sizes{40, 3, 4, 5, 6, 20, 21}, 2), ElementsAre(6, 40));
  EXPECT_THAT(optimal_physical_batch_sizes(Sizes{5, 7}, 1), ElementsAre(7));
  EXPECT_THAT(optimal_physical_batch_sizes(Sizes{5, 7, 5}, 9), ElementsAre(5, 7));
  EXPECT_THAT(optimal_physical_batch_sizes(Sizes{}, 1), IsEmpty());
  EXPECT_THAT([] { optimal_physical_batch_sizes(Sizes{1}, 0); },
              ThrowsMessage<UserError>(HasSubstr("num_compilations of at least 1")));
  EXPECT_THAT([] { optimal_physical_batch_sizes(Sizes{-1}, 1); },
              ThrowsMessage<UserError>(HasSubstr("not negative, got -1")));
}

TEST(Padding, SplitsIntoMinibatches) {
  EXPECT_THAT(
      split_and_pad_global_batch(range(10), 4),
      ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7), ElementsAre(8, 9, -1, -1)));
  EXPECT_THAT(
      split_and_pad_global_batch(range(10), 4, 2),
      ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7), ElementsAre(8, -1, 9, -1)));
  EXPECT_THAT(split_and_pad_global_batch(range(4), 4), ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(split_and_pad_global_batch(Batch{}, 2), ElementsAre(ElementsAre(-1, -1)));
}

TEST(Padding, SplitsRowsOfUsers) {
  const std::vector<UserBatch> parts = split_and_pad_global_batch(
      UserBatch{.indices = {0, 1, 2, 3, 4, 5}, .examples_per_user = 2}, 2);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(parts[0].indices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(parts[1].indices, ElementsAre(4, 5, -1, -1));
  EXPECT_EQ(parts[1].examples_per_user, 2);
}

TEST(Padding, GivesArraysAndAMask) {
  const auto [indices, is_padding] = padded_batch(Batch{4, 8, 9}, {.multiple = 4});
  EXPECT_EQ(indices.dtype(), int32);
  EXPECT_TRUE(array_equal(indices, array({4, 8, 9, -1}, int32)).item<bool>());
  EXPECT_EQ(is_padding.dtype(), bool_);
  EXPECT_TRUE(array_equal(is_padding, array({false, false, false, true})).item<bool>());

  const PaddedBatch strided = padded_batch(Batch{4, 8, 9}, {.multiple = 4, .microbatch_size = 2});
  EXPECT_TRUE(array_equal(strided.indices, array({4, 9, 8, -1}, int32)).item<bool>());

  const PaddedBatch empty = padded_batch(Batch{}, {.multiple = 2});
  EXPECT_TRUE(all(empty.is_padding).item<bool>());
  EXPECT_EQ(empty.indices.shape(), Shape({2}));

  const PaddedBatch users =
      padded_batch(UserBatch{.indices = {3, 4, 5, 6}, .examples_per_user = 2}, {.multiple = 3});
  EXPECT_TRUE(array_equal(users.indices, array({{3, 4}, {5, 6}, {-1, -1}}, int32)).item<bool>());
  EXPECT_TRUE(array_equal(users.is_padding, array({false, false, true})).item<bool>());
}

TEST(Padding, BadSizesAreErrors) {
  EXPECT_THAT([] { pad_to_multiple_of(range(3), 4, 3); },
              testing::ThrowsMessage<UserError>(
                  HasSubstr("expected a microbatch_size that divides the batch of 4, got 3")));
  EXPECT_THAT([] { pad_to_multiple_of({}, 0); },
              ThrowsMessage<UserError>(
                  HasSubstr("[pad_to_multiple_of] expected a multiple in [1, 2^31), got 0")));
  EXPECT_THAT(
      [] { split_and_pad_global_batch(Batch{}, -3); },
      ThrowsMessage<UserError>(HasSubstr("expected a minibatch_size in [1, 2^31), got -3")));
  EXPECT_THAT([] { padded_batch(Batch{}, {.multiple = 0}); },
              ThrowsMessage<UserError>(HasSubstr("[padded_batch] expected a multiple")));
  for (const int64_t size : {0, 3})
    EXPECT_THAT([&] { split_and_pad_global_batch(range(3), 4, size); },
                ThrowsMessage<UserError>(
                    HasSubstr("expected a microbatch_size that divides the batch of 4, got ")));
  EXPECT_THAT([] { padded_batch(Batch{int64_t{1} << 31}); },
              ThrowsMessage<UserError>(HasSubstr("expected indices of examples below 2^31")));
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::padding_test
